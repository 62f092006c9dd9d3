package simulation_test

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// judge holds what is left against what must be true whatever happened.
func (w *world) judge() {
	ctx := context.Background()
	by := map[a2a.TaskID]*errand{}
	for _, e := range w.errands {
		if e.ref.Task != "" && !w.forgotten[e.ref] {
			by[e.ref.Task] = e
		}
	}
	submitted := map[string]a2a.TaskID{}
	for _, ref := range w.witness.tasks() {
		if w.forgotten[ref] {
			continue
		}
		entries, err := w.witness.Entries(ctx, ref, 0, 0)
		if err != nil || len(entries) == 0 {
			w.broken("I1", "task %s has no entries: %v", ref, err)
			continue
		}
		name := ref.Tenant + " " + entries[0].Producer + " " + entries[0].EventID
		if other, known := submitted[name]; known {
			w.broken("I5", "submission %s made task %s and task %s", name, other, ref.Task)
		}
		submitted[name] = ref.Task
		effects := w.judgeTask(ctx, ref, entries)
		if state := w.history(ref).state(); w.outsiders[ref.Task] {
			w.checkPages(ref, entries, state)
		} else {
			w.checkWalk(ref, entries, state, effects)
		}
		if e := by[ref.Task]; e != nil {
			e.check(entries, w.history(ref).state())
		}
	}
	for _, k := range w.workers {
		k.check()
	}
	for _, f := range w.followers {
		f.check(w.visible(f.errand.ref))
	}
	w.workers, w.followers = nil, nil // they have left
	w.judgeLights()
}

func (w *world) judgeTask(ctx context.Context, ref lifecycle.Ref, entries []lifecycle.Entry) []lifecycle.Effect {
	folded, err := lifecycle.Fold(ref, entries)
	if err != nil {
		w.broken("I1", "task %s cannot be folded: %v", ref, err)
		return nil
	}
	t, err := (&ledger.Authority{Ledger: w.witness}).Load(ctx, ref)
	if err != nil {
		w.broken("I1", "task %s cannot be read: %v", ref, err)
		return nil
	}
	if got, want := fmt.Sprintf("%+v", t.Folded()), fmt.Sprintf("%+v", folded.Folded()); got != want {
		w.broken("I1", "task %s: the head is\n%s\nfolding gives\n%s", ref, got, want)
	}
	w.checkTerms(t.Head)
	w.checkActs(ref)
	for _, b := range lifecycle.Check(t) {
		w.broken(b.Invariant, "task %s: %s", ref, b.Detail)
	}
	var out bytes.Buffer
	if _, err := export.Write(ctx, &out, w.witness, ref, export.Options{Scope: export.Operator, At: time.Now()}); err != nil {
		w.broken("export", "task %s: %v", ref, err)
		return nil
	}
	w.kept(out.Bytes(), "the export of task "+ref.String())
	report, err := export.Verify(&out)
	if err != nil || !report.OK() {
		w.broken("verify", "task %s: %v %v", ref, err, report.Violations)
	}
	effects, err := w.witness.EffectList(ctx, ref)
	if err != nil {
		w.broken("I7", "task %s: %v", ref, err)
	}
	w.outside.check(ref, effects)
	endpoints, err := w.witness.EndpointList(ctx, ref)
	if err != nil {
		w.broken("I11", "task %s: %v", ref, err)
	}
	for _, e := range endpoints {
		w.hooks.check(ref, e, w.visible(ref))
	}
	w.large[ref] = largeIn(entries)
	return effects
}

// eventAt reads one entry.
func (w *world) eventAt(ref lifecycle.Ref, seq uint64) lifecycle.Entry {
	entries, err := w.witness.Entries(context.Background(), ref, seq-1, 1)
	if err != nil || len(entries) == 0 {
		return lifecycle.Entry{}
	}
	return entries[0]
}
