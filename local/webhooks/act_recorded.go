package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// plays are tests with a time of their own, which write down what they saw.
var plays = []struct{ about, folder, test string }{
	{"what takes hours and days", "./local/journeys", "^TestWebhookActs$"},
	{"what the stream of DynamoDB does", "./infra/boot", "^TestStreamActs$"},
}

// recorded runs the plays, and holds their records against the same rules as everything
// that was seen here. What an operator is shown is shown by the product, from the export
// that each record comes with.
func (t *trial) recorded() []act {
	var acts []act
	for _, one := range plays {
		acts = append(acts, act{one.about, func(ctx context.Context) ([]outcome, error) {
			dir := filepath.Join(t.dir, filepath.Base(one.folder))
			if err := os.Mkdir(dir, 0o755); err != nil {
				return nil, err
			}
			cmd := exec.CommandContext(ctx, "go", "test", "-count=1", "-run", one.test, one.folder, "-args", "-acts", dir)
			cmd.Dir = t.root
			if text, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%w: %s", err, text)
			}
			files, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err == nil && len(files) == 0 {
				err = errors.New("nothing was recorded")
			}
			slices.Sort(files) // named after tasks, whose IDs are in order of time
			var out []outcome
			for _, file := range files {
				o, failed := t.replayed(ctx, file)
				out, err = append(out, o...), errors.Join(err, failed)
			}
			return out, err
		}})
	}
	return acts
}

// record is what a play has written of one act.
type record struct {
	Name  string `json:"name"`
	Tries []struct {
		At     float64 `json:"at"` // seconds since the task was submitted
		Seq    uint64  `json:"seq"`
		ID     string  `json:"id"`
		Status int     `json:"status"`
	} `json:"tries"`
	Visible []uint64 `json:"visible"`
	Shows   string   `json:"shows"` // the state that an operator must be shown; empty: active
	Note    string   `json:"note"`
}

func (t *trial) replayed(ctx context.Context, file string) ([]outcome, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var began time.Time
	var tries []try
	for _, one := range r.Tries {
		at := began.Add(time.Duration(one.At * float64(time.Second)))
		tries = append(tries, try{at: at, seq: one.Seq, id: one.ID, answer: strconv.Itoa(one.Status), taken: one.Status/100 == 2})
	}
	o, err := inOrder(tries, r.Visible, r.Shows == "")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	shown, err := show(ctx, t.binary, "--file", strings.TrimSuffix(file, ".json")+".ndjson")
	want := r.Shows
	if want == "" {
		want = "active"
	}
	if err == nil && !strings.HasPrefix(shown, want+",") {
		err = fmt.Errorf("%s: an operator is shown %q, want %s", r.Name, shown, want)
	}
	if err != nil {
		return nil, err
	}
	t.count(o)
	parts := []string{o.String(), timeline(tries, began), r.Note, "shown: " + shown}
	return []outcome{{r.Name + " (fake time)", strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")}}, nil
}
