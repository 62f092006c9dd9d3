package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// redelivery is what is to be delivered again.
type redelivery struct {
	origin

	endpoint string
	since    int64 // negative: from where it stopped
}

func parseRedeliver(args []string, logs io.Writer) (redelivery, error) {
	r := redelivery{origin: origin{chosen: map[string]bool{}}, since: -1}
	f := flagSet("redeliver", "[flags] TASK\n\nHas a running server deliver to a task's webhooks again: what they have not taken, also where deliveries were given up, or what comes after a sequence. exit code: 0; 1 when nothing is delivered again.", logs)
	f.StringVar(&r.server, "server", defaultServer(), "address of the server")
	f.StringVar(&r.agent, "agent", "", "the task's agent; without it the server's default agent, or the one that the console shows")
	f.StringVar(&r.endpoint, "endpoint", "", "ID of one webhook (local show lists them); without it all of the task")
	f.Int64Var(&r.since, "since", r.since, "sequence after which everything is delivered again, 0 for all; without it deliveries go on where they stopped")
	tasks, err := parseAll(f, args)
	if err != nil {
		return r, err
	}
	var problems []error
	if len(tasks) == 1 {
		r.task = a2a.TaskID(tasks[0])
	} else {
		problems = append(problems, fmt.Errorf("one task at a time, not %d: local redeliver TASK", len(tasks)))
	}
	f.Visit(func(f *flag.Flag) { r.chosen[f.Name] = true })
	if r.chosen["since"] && r.since < 0 {
		problems = append(problems, errors.New("--since must be a sequence, or 0 for everything"))
	}
	return r, errors.Join(append(problems, checkServer(r.server))...)
}

// redeliver has webhooks delivered again by the server that delivers.
func redeliver(ctx context.Context, args []string, out, logs io.Writer) (err error) {
	r, err := parseRedeliver(args, logs)
	if err != nil {
		return err
	}
	below := "/pushNotificationConfigs:replay"
	if r.endpoint != "" {
		below = "/pushNotificationConfigs/" + url.PathEscape(r.endpoint) + "/replay"
	}
	body := []byte("{}")
	if r.since >= 0 {
		body = fmt.Appendf(nil, `{"since":%d}`, r.since)
	}
	resp, err := r.remote().send(ctx, http.MethodPost, below, body)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	var answer struct {
		Deliveries []struct {
			ID       string
			Replayed bool
			Since    uint64
			Was      string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("the server's answer: %w", err)
	}
	if len(answer.Deliveries) == 0 {
		return errors.New("the task has no webhooks")
	}
	for _, d := range answer.Deliveries {
		if d.Replayed {
			fmt.Fprintf(out, "webhook %s, which was %s, gets what comes after entry %d\n", printable(d.ID), printable(cmp.Or(d.Was, "active")), d.Since)
		} else {
			fmt.Fprintf(out, "webhook %s: a delivery is under way, ask again\n", printable(d.ID))
		}
	}
	return nil
}
