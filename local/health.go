package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/watch"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// errUnwell is a server with a light that is red.
var errUnwell = errors.New("a light is red")

// lights asks a server what is watched, and prints what is not green with the tasks
// that break it.
func lights(ctx context.Context, args []string, out, logs io.Writer) error {
	f := flagSet("health", "[flags]\n\nShows the lights of the watched invariants, and the tasks that break them. exit code: 0; 1 when a light is red, or the server cannot be asked.", logs)
	server := f.String("server", defaultServer(), "address of the server")
	asJSON := f.Bool("json", false, "print the report as the server gives it")
	rest, err := parseAll(f, args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return fmt.Errorf("unexpected argument %q: %w", rest[0], errUsage)
	}
	raw, err := fetchLights(ctx, *server)
	if err != nil {
		return err
	}
	var report health.Report
	if err := json.Unmarshal(raw, &report); err != nil {
		return fmt.Errorf("the server at %s does not answer with lights: %w", *server, err)
	}
	if *asJSON {
		fmt.Fprintln(out, strings.TrimSpace(string(raw)))
	} else {
		printLights(out, report)
	}
	if report.Worst() == health.Red {
		return errUnwell
	}
	return nil
}

// fetchLights asks a server.
func fetchLights(ctx context.Context, server string) (raw []byte, err error) {
	const longest = 1 << 20
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(server, "/")+"/health", nil)
	if err != nil {
		return nil, err
	}
	presentKey(req)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	raw, err = io.ReadAll(io.LimitReader(resp.Body, longest))
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("the server at %s refuses: %s", server, resp.Status)
	}
	return raw, err
}

// printLights prints a line for each light, and below those that are not green what
// there is to know.
func printLights(out io.Writer, r health.Report) {
	for _, l := range r.Lights {
		fmt.Fprintf(out, "%-5s %-3s %s: %s\n", l.Light, l.Rule, printable(l.Name), amount(l))
		if l.Light == health.Green {
			continue
		}
		fmt.Fprintf(out, "          %s\n          see %s\n", printable(l.Means), printable(l.Runbook))
		for _, t := range l.Tasks {
			line := string(t.Task)
			if t.Agent != "" {
				line += fmt.Sprintf("  %s@%d", t.Agent, t.AgentVersion)
			}
			if t.State != "" {
				line += "  " + watch.StateName(t.State)
			}
			if !t.Since.IsZero() {
				line += "  for " + span(r.At.Sub(t.Since))
			}
			if t.Count > 0 {
				line += fmt.Sprintf("  %d times", t.Count)
			}
			fmt.Fprintf(out, "          %s\n", printable(line))
		}
	}
}

// amount is a light's number in words.
func amount(l health.Light) string {
	text := fmt.Sprintf("%.0f", l.Value)
	if l.Unit == metrics.Seconds {
		text = span(time.Duration(l.Value * float64(time.Second)))
	}
	if l.More {
		text = "at least " + text
	}
	if l.Count > 0 {
		text += fmt.Sprintf(", %d tasks", l.Count)
	}
	if l.Unread > 0 {
		text += fmt.Sprintf(", %d that cannot be read", l.Unread)
	}
	return text
}
