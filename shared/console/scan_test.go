package console_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// thin is an index that gives one task at a time, however many are asked for, and counts
// what it is asked.
type thin struct {
	ledger.Ledger

	whole          bool // it is not that thin
	lists, effects *int
}

// List implements ledger.Index.
func (l thin) List(ctx context.Context, q ledger.ListQuery) (ledger.Page, error) {
	if *l.lists++; !l.whole {
		q.Limit = 1
	}
	return l.Ledger.List(ctx, q)
}

// EffectList implements ledger.Tasks.
func (l thin) EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error) {
	*l.effects++
	return l.Ledger.EffectList(ctx, ref)
}

// TestListThin: an index that brings little at a time is asked a few times for an answer,
// which then says where the next one goes on.
func TestListThin(t *testing.T) {
	w := newWorld(t)
	w.crowd()
	queries := map[string]int{"": 1, "state=working": 1, "state=live": 4, "agent=field": 1, "stuck=1": 4, "due=24h": 2, "state=live&context=context-3": 4}
	want := map[string][]row{}
	for q := range queries {
		want[q], _ = w.list(q)
	}
	var lists, effects int
	w.config.Authority = &ledger.Authority{Ledger: thin{w.memory, false, &lists, &effects}, Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.open()
	const most = 2 // answers of the index to a question
	for q, questions := range queries {
		lists = 0
		var l listing
		if w.read("tasks?"+q, &l); lists > most*questions || !l.Short || l.Next == "" {
			t.Errorf("%q: the index was asked %d times in %d questions; short %v, next %q", q, lists, questions, l.Short, l.Next)
		}
		got, pages := w.list(q)
		if !slices.EqualFunc(got, want[q], func(a, b row) bool { return a.Task == b.Task }) || pages < 2 {
			t.Errorf("%q: %d tasks in %d pages, want %d", q, len(got), pages, len(want[q]))
		}
	}
	lists = 0
	var all struct {
		Partial bool
		Rates   struct{ Since time.Time }
	}
	if w.read("overview", &all); lists > most*5 || !all.Partial || all.Rates.Since.IsZero() {
		t.Errorf("the index was asked %d times for an overview: %+v", lists, all)
	}
}

// lessCounting is an index that counts no further than to three.
type lessCounting struct{ ledger.Ledger }

// Count implements ledger.Index.
func (l lessCounting) Count(ctx context.Context, q ledger.ListQuery) (ledger.Counted, error) {
	n, err := l.Ledger.Count(ctx, q)
	return ledger.Counted{Tasks: min(n.Tasks, 3), More: n.Tasks > 3}, err
}

// TestCountBounded: a number behind which the ledger stopped counting is said to be one.
func TestCountBounded(t *testing.T) {
	w := newWorld(t)
	w.do(w.submit(), granted(1), asks("Which?"))
	for range 5 {
		w.submit()
	}
	w.config.Authority = &ledger.Authority{Ledger: lessCounting{w.memory}, Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.open()
	type counted struct {
		Total int
		More  bool
	}
	for query, want := range map[string]counted{"": {3, true}, "state=input-required": {1, false}, "state=input-required,submitted": {4, true}, "state=live": {4, true}} {
		var got counted
		if w.read("count?"+query, &got); got != want {
			t.Errorf("%q: %+v, want %+v", query, got, want)
		}
	}
}

// TestStuckLooks: a page reads the effects of so many tasks and no more, and the next one
// goes on there: what is held behind them is found.
func TestStuckLooks(t *testing.T) {
	w := newWorld(t)
	held, _ := w.held()
	w.clock.Advance(time.Second)
	const most, waiting = 200, 250
	for range waiting {
		w.do(w.submit(), granted(1), waits(w.clock.Now().Add(24*time.Hour)))
	}
	var lists, effects int
	w.config.Authority = &ledger.Authority{Ledger: thin{w.memory, true, &lists, &effects}, Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.open()
	var l listing
	if w.read("tasks?stuck=1", &l); len(l.Rows) != 0 || l.Looked != most || !l.Short || l.Next == "" || effects != most {
		t.Errorf("%d rows, looked at %d tasks and the effects of %d; short %v, next %q", len(l.Rows), l.Looked, effects, l.Short, l.Next)
	}
	if rows, pages := w.list("stuck=1"); len(rows) != 1 || rows[0].Task != held.Task || rows[0].Stuck[0].Reason != "effect-held" || pages != 2 {
		t.Errorf("%+v in %d pages", rows, pages)
	}
}
