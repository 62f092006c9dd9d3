package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// har is where schemathesis leaves what it sent and got.
func har(dir string, a subject) string { return filepath.Join(dir, a.name+".har") }

// exchanges is what is read of it.
type exchanges struct {
	Log struct {
		Entries []struct {
			Request  struct{ Method, URL string }
			Response struct{ Status int }
		}
	}
}

// Names in an address.
var (
	taskInPath = regexp.MustCompile(`^/tasks/[^/:]+`)
	itemInPath = regexp.MustCompile(`/(artifacts|blobs|pushNotificationConfigs)/.+$`)
)

// reached prints how often each operation was answered with what, and returns the
// number of requests. An operation that was never done says nothing: its absence is an
// error.
func (a subject) reached(file string, out io.Writer) (int, error) {
	text, err := os.ReadFile(file)
	var all exchanges
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		return 0, err
	}
	counts := map[string]map[int]int{}
	for _, e := range all.Log.Entries {
		at, err := url.Parse(e.Request.URL)
		if err != nil {
			continue // it asked for what is no address
		}
		path := strings.TrimPrefix(at.EscapedPath(), a.base)
		path = itemInPath.ReplaceAllString(taskInPath.ReplaceAllString(path, "/tasks/{id}"), "/$1/{item}")
		name := e.Request.Method + " " + path
		if counts[name] == nil {
			counts[name] = map[int]int{}
		}
		counts[name][e.Response.Status]++
	}
	var idle []error
	for _, name := range a.does {
		fmt.Fprintf(out, "%-14s %-50s %s\n", a.name, name, spread(counts[name]))
		if counts[name][200] == 0 {
			idle = append(idle, fmt.Errorf("%s: %s was never answered with 200", a.name, name))
		}
	}
	return len(all.Log.Entries), errors.Join(idle...)
}

func spread(counts map[int]int) string {
	var out []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d: %d", status, counts[status]))
	}
	return strings.Join(out, ", ")
}
