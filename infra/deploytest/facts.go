package main

import (
	"context"
	"fmt"
	"strings"
)

// seen is what the run has shown.
type seen struct {
	resources int
	entries   int
	review    string
	revoked   int
	expired   bool
	streamed  int
}

func (s seen) summary() string {
	return fmt.Sprintf("%d resources of the root stack, a ledger of %d entries, %d revocations each applied once, a deadline kept: %v, %d batches of the stream",
		s.resources, s.entries, s.revoked, s.expired, s.streamed)
}

// stream looks in the log of the stream function: it counts what it is given.
func (t *test) stream(ctx context.Context) error {
	return t.until(ctx, "the stream function has logged a batch", waitTime, func(ctx context.Context) (bool, error) {
		var out struct {
			Events []struct {
				Message string `json:"message"`
			} `json:"events"`
		}
		if err := t.aws(ctx, &out, "logs", "filter-log-events", "--log-group-name", "/holdfast/"+stackName+"/stream"); err != nil {
			return false, err
		}
		t.seen.streamed = 0
		for _, e := range out.Events {
			if strings.Contains(e.Message, `"entries"`) {
				t.seen.streamed++
			}
		}
		return t.seen.streamed > 0, fmt.Errorf("%d lines, none of a batch", len(out.Events))
	})
}
