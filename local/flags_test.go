package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/local/node"
)

// What serve is started with: defaults, and what is refused with a message that
// says what to do instead.
func TestParseServe(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		port string // HOLDFAST_PORT
		want func(s settings) bool
	}{
		"nothing": {"", "", func(s settings) bool {
			return s.addr == "127.0.0.1:8080" && s.data == ".holdfast" && !s.systems && s.systemsURL == "http://127.0.0.1:8090" && s.timing == node.DefaultTiming()
		}},
		"a port":                {"", "9999", func(s settings) bool { return s.addr == "127.0.0.1:9999" }},
		"a port and an address": {"--addr 127.0.0.1:7777", "9999", func(s settings) bool { return s.addr == "127.0.0.1:7777" }},
		"localhost":             {"--addr localhost:80", "", func(s settings) bool { return s.addr == "localhost:80" }},
		"IPv6":                  {"--addr [::1]:80", "", func(s settings) bool { return s.addr == "[::1]:80" }},
		"another loopback":      {"--addr 127.1.2.3:80", "", func(s settings) bool { return s.addr == "127.1.2.3:80" }},
		"mapped":                {"--addr [::ffff:127.0.0.1]:80", "", func(s settings) bool { return true }},
		"a folder":              {"--data /tmp/x", "", func(s settings) bool { return s.data == "/tmp/x" }},
		"a short lease":         {"--lease 3s --renewal 1s", "", func(s settings) bool { return s.timing.Lease == 3*time.Second && s.timing.Renewal == time.Second }},
		"half a lease":          {"--lease 2s --renewal 1s", "", func(s settings) bool { return s.timing.Renewal == time.Second }},
		"the sweep":             {"--grace 1s --sweep 250ms", "", func(s settings) bool { return s.timing.Grace == time.Second && s.timing.Sweep == 250*time.Millisecond }},
		"a policy": {"--policies testdata/policies --outside scan=gold@3", "", func(s settings) bool {
			_, err := s.policies.Find("gold@3")
			return err == nil && s.outside[0].Policy() == "gold@3" && s.outside[0].Name() == "scan"
		}},
		"no policy": {"--outside scan", "", func(s settings) bool { return s.outside[0].Policy() == "" }},
		"the addresses beside": {"--systems-addr 127.0.0.1:1 --receiver-addr 127.0.0.1:2", "", func(s settings) bool {
			return s.systemsURL == "http://127.0.0.1:1" && s.systemsAddr == "127.0.0.1:1" && s.receiverAddr == "127.0.0.1:2"
		}},
		"the systems": {"--systems --systems-url http://x", "", func(s settings) bool { return s.systems && s.systemsURL == "http://x" }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOLDFAST_PORT", c.port)
			s, err := parseServe(strings.Fields(c.args), io.Discard)
			if err != nil || !c.want(s) {
				t.Errorf("%+v, %v", s, err)
			}
		})
	}
}

func TestParseServeRefuses(t *testing.T) {
	const loopback = "without authentication only a loopback address is served, such as 127.0.0.1:8080"
	for name, c := range map[string]struct {
		args  string
		wants string // one or more, separated by |
	}{
		"all interfaces":        {"--addr 0.0.0.0:8080", loopback},
		"no host":               {"--addr :8080", loopback},
		"IPv6, all":             {"--addr [::]:8080", loopback},
		"a name":                {"--addr example.com:80", loopback},
		"like localhost":        {"--addr localhost.example.com:80", loopback},
		"a private address":     {"--addr 192.168.1.4:8080", loopback},
		"no port":               {"--addr 127.0.0.1", loopback},
		"nothing":               {"--addr=", loopback},
		"the systems for all":   {"--systems-addr :80", "--systems-addr: without authentication"},
		"the receiver for all":  {"--receiver-addr 0.0.0.0:80", "--receiver-addr: without authentication"},
		"a slow renewal":        {"--lease 10s --renewal 6s", "--renewal 6s must be at most half of --lease 10s"},
		"no renewal":            {"--renewal 0s", "--renewal 0s must be at most half"},
		"a negative renewal":    {"--renewal -1s", "--renewal -1s must be at most half"},
		"no lease":              {"--lease 0s", "at most half of --lease 0s"},
		"no grace":              {"--grace 0s", "--grace and --sweep must be positive"},
		"no sweep":              {"--sweep -5s", "--grace and --sweep must be positive"},
		"no such policies":      {"--policies testdata/nowhere", `for flag -policies: `},
		"no policies":           {"--policies testdata", `there are no policies in the folder`},
		"a bad policy":          {"--policies testdata/bad", `policy bad.json: retentionSeconds.failed must be a whole number from 259200`},
		"two of one version":    {"--policies testdata/policies --policies testdata/other", `policy gold@3 is in gold.json and, with other content, in other.json`},
		"an argument":           {"now", `unexpected argument "now"`},
		"flags after arguments": {"now --data x", `unexpected argument "now"`},
		"all at once":           {"--addr :1 --renewal 1h --sweep 0s x", "loopback|at most half|positive|unexpected argument"},
		"an unknown flag":       {"--port 80", "flag provided but not defined: -port|see the usage above"},
		"no duration":           {"--lease 30", `invalid value "30" for flag -lease|see the usage above`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parseServe(strings.Fields(c.args), io.Discard)
			if err == nil {
				t.Fatal("taken")
			}
			for want := range strings.SplitSeq(c.wants, "|") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q", err, want)
				}
			}
		})
	}
}

func TestParseFollow(t *testing.T) {
	for name, c := range map[string]struct {
		args string
		port string
		want func(p pursuit) bool
	}{
		"a task": {"0198-a", "", func(p pursuit) bool {
			return p.task == "0198-a" && p.after == 0 && !p.raw && p.client.BaseURL == "http://127.0.0.1:8080" && p.client.Agent == "" && p.client.Patience == 5*time.Minute
		}},
		"a port":                {"a", "9999", func(p pursuit) bool { return p.client.BaseURL == "http://127.0.0.1:9999" }},
		"a server":              {"--server https://x.example a", "9999", func(p pursuit) bool { return p.client.BaseURL == "https://x.example" }},
		"flags behind the task": {"a --after 12 --agent access-review", "", func(p pursuit) bool { return p.task == "a" && p.after == 12 && p.client.Agent == "access-review" }},
		"flags on both sides":   {"--json a --patience 1s", "", func(p pursuit) bool { return p.task == "a" && p.raw && p.client.Patience == time.Second }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOLDFAST_PORT", c.port)
			p, err := parseFollow(strings.Fields(c.args), io.Discard)
			if err != nil || !c.want(p) {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	for args, want := range map[string]string{
		"":                       "one task is followed at a time, not 0: local watch TASK",
		"a b":                    "one task is followed at a time, not 2",
		"--server 127.0.0.1:1 a": "an address such as http://127.0.0.1:8080 is needed",
		"--server ftp://x a":     "an address such as",
		"--patience 0s a":        "--patience must be positive",
		"--after -1 a":           "see the usage above",
		"--after x a":            "see the usage above",
		"a --nonsense":           "flag provided but not defined: -nonsense",
	} {
		t.Run("refused: "+args, func(t *testing.T) {
			if _, err := parseFollow(strings.Fields(args), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// Help is no failure, and lists the flags.
func TestHelp(t *testing.T) {
	for command, want := range map[string]string{"serve": "-data", "watch": "exit code: 0 completed, 3 failed", "systems": "-file"} {
		var logs bytes.Buffer
		err := commands()[command].run(t.Context(), []string{"-h"}, io.Discard, &logs)
		if !errors.Is(err, flag.ErrHelp) || !strings.Contains(logs.String(), want) {
			t.Errorf("%s -h: %v, %s; want %q", command, err, logs.String(), want)
		}
		if err := run(t.Context(), []string{command, "-h"}, io.Discard, io.Discard); err != nil {
			t.Errorf("%s -h fails: %v", command, err)
		}
	}
}
