package accessreview

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// world is a fake of the systems' API that counts what it did. It honours keys.
type world struct {
	systems []System
	grants  map[string][]Grant
	fetches map[string]int
	revokes int // requests
	byKey   map[string]string
	applied map[Revocation]int
	// fetching and revoking may fail a request; for revoking, after says that it was
	// carried out all the same.
	fetching func(system string) error
	revoking func(n int) (err error, after bool)
}

func newWorld(t *testing.T, content []byte) *world {
	t.Helper()
	f, err := parseFile(content)
	if err != nil {
		t.Fatal(err)
	}
	return &world{systems: f.systems, grants: f.grants, fetches: map[string]int{}, byKey: map[string]string{}, applied: map[Revocation]int{}}
}

func (w *world) List(context.Context) ([]System, error) { return w.systems, nil }

func (w *world) Grants(_ context.Context, system string) ([]Grant, error) {
	w.fetches[system]++
	if w.fetching != nil {
		if err := w.fetching(system); err != nil {
			return nil, err
		}
	}
	return w.grants[system], nil
}

func (w *world) Revoke(_ context.Context, key string, g Revocation) (string, error) {
	w.revokes++
	var fault error
	if w.revoking != nil {
		err, after := w.revoking(w.revokes)
		if err != nil && !after {
			return "", err
		}
		fault = err
	}
	if w.byKey[key] == "" {
		w.applied[g]++
		digest := sha256.Sum256([]byte(g.System + "/" + g.Account + "/" + g.Role))
		w.byKey[key] = fmt.Sprintf("rev-%x-%d", digest[:6], w.applied[g])
	}
	return w.byKey[key], fault
}

// wantOnce wants n revocations, each applied once.
func (w *world) wantOnce(t *testing.T, n int) {
	t.Helper()
	if len(w.applied) != n {
		t.Errorf("%d grants revoked, want %d", len(w.applied), n)
	}
	for g, times := range w.applied {
		if times != 1 {
			t.Errorf("%v revoked %d times, want once", g, times)
		}
	}
}

// wantFetches wants each system fetched once, but for extra more in all.
func (w *world) wantFetches(t *testing.T, extra int) {
	t.Helper()
	total := 0
	for system, n := range w.fetches {
		total += n
		if n > 2 {
			t.Errorf("%s fetched %d times", system, n)
		}
	}
	if len(w.fetches) != len(w.systems) || total > len(w.systems)+extra {
		t.Errorf("%d fetches of %d systems, want at most %d more", total, len(w.systems), extra)
	}
}

var errBroken = errors.New("the network broke")

// submission is a first message with a file.
func submission(content []byte) *a2a.Message {
	part := a2a.NewRawPart(content)
	part.MediaType, part.Filename = mediaCSV, "grants.csv"
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Review access for Q3 2026"), part)
}

// start begins a review of the shipped file.
func start(t *testing.T, a *agent.Agent) *agenttest.Run {
	t.Helper()
	return agenttest.StartWith(t, a, submission(events.AccessReviewCSV))
}

// onlyWithFindings is the shipped file without the systems that have no findings.
func onlyWithFindings(t *testing.T) []byte {
	t.Helper()
	f, err := parseFile(events.AccessReviewCSV)
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for line := range bytes.Lines(events.AccessReviewCSV) {
		system, _, _ := bytes.Cut(line, []byte(","))
		if len(out) == 0 || slices.ContainsFunc(f.grants[string(system)], func(g Grant) bool { _, _, found := g.judge(f.asOf); return found }) {
			out = append(out, line...)
		}
	}
	return out
}

// reported reads the report's first chunk.
func reported(t *testing.T, r *agenttest.Run) summary {
	t.Helper()
	a := r.Artifact(artifactID)
	if !a.Sealed || len(a.Parts) != 2 || a.Parts[0].MediaType != mediaJSON || a.Parts[1].MediaType != mediaMarkdown {
		t.Fatalf("report %+v, want a sealed artifact of JSON and Markdown", a)
	}
	var s summary
	if err := json.Unmarshal([]byte(a.Parts[0].Text()), &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// data is a reply with a data part.
func data(v any) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(v)) }
