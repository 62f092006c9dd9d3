package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// act is something that a function does to the ledger.
type act struct{ Function, Name string }

// spent is how often an act was done, and the units of all of them.
type spent struct {
	Times         int
	Writes, Reads float64
}

// work is what a function did.
type work struct {
	Invocations int
	Dynamo      int // requests
	Puts, Gets  int // of S3
	Calls       int // of Step Functions
}

// tally is everything that one task cost, in counts.
type tally struct {
	Acts   map[act]spent
	States map[string]int // how often each state was entered, or tried again
	Work   map[string]work
	// Operations are those of durable functions: of the model alone.
	Operations int
}

func newTally() *tally {
	return &tally{Acts: map[act]spent{}, States: map[string]int{}, Work: map[string]work{}}
}

func (t *tally) add(function, name string, u dynamo.Units) {
	a := act{function, name}
	s := t.Acts[a]
	t.Acts[a] = spent{s.Times + 1, s.Writes + u.Writes, s.Reads + u.Reads}
}

func (t *tally) did(function string, more work) {
	w := t.Work[function]
	t.Work[function] = work{w.Invocations + more.Invocations, w.Dynamo + more.Dynamo, w.Puts + more.Puts, w.Gets + more.Gets, w.Calls + more.Calls}
}

// figures are the sums of a tally: what has ceilings.
type figures struct {
	writes, reads, transitions float64
	api, step, settle, stream  float64 // invocations
	deliver                    float64
	puts, gets                 float64
}

func (t *tally) figures() (f figures) {
	for _, s := range t.Acts {
		f.writes += s.Writes
		f.reads += s.Reads
	}
	for _, n := range t.States {
		f.transitions += float64(n)
	}
	f.api, f.step = float64(t.Work[fnAPI].Invocations), float64(t.Work[fnStep].Invocations)
	f.settle, f.stream = float64(t.Work[fnSettle].Invocations), float64(t.Work[fnStream].Invocations)
	f.deliver = float64(t.Work[fnDeliver].Invocations)
	for _, w := range t.Work {
		f.puts += float64(w.Puts)
		f.gets += float64(w.Gets)
	}
	return f
}

// figure is one of them, with its name.
type figure struct {
	name  string
	count float64
}

func (f figures) list() []figure {
	return []figure{
		{"write units", f.writes}, {"read units", f.reads}, {"transitions", f.transitions},
		{"invocations of api", f.api}, {"invocations of step", f.step}, {"invocations of settle", f.settle}, {"invocations of stream", f.stream},
		{"invocations of deliver", f.deliver},
		{"S3 puts", f.puts}, {"S3 gets", f.gets},
	}
}

// against compares counts with their ceilings.
func (f figures) against(ceiling figures) (above, below []string) {
	most := ceiling.list()
	for i, n := range f.list() {
		said := fmt.Sprintf("%g %s, the ceiling is %g", n.count, n.name, most[i].count)
		switch {
		case n.count > most[i].count:
			above = append(above, said)
		case n.count < most[i].count:
			below = append(below, said)
		}
	}
	return above, below
}

// differences are what two runs of the same scenario did not have in common.
func differences(a, b *tally) (out []string) {
	out = slices.Concat(
		differ(a.Acts, b.Acts, func(a act) string { return a.Function + " " + a.Name }),
		differ(a.States, b.States, func(s string) string { return "state " + s }),
		differ(a.Work, b.Work, func(s string) string { return "function " + s }),
	)
	slices.Sort(out)
	return out
}

func differ[K comparable, V comparable](a, b map[K]V, name func(K) string) (out []string) {
	both := maps.Clone(a)
	maps.Copy(both, b)
	for k := range both {
		if a[k] != b[k] {
			out = append(out, fmt.Sprintf("%s: %+v, then %+v", name(k), a[k], b[k]))
		}
	}
	return out
}

// Acts that more than one place names.
const (
	getTask = "get task"
	reading = "reads" // what the step function reads between its acts
)

// story is the order in which acts are printed: that of a task's life.
var story = []act{
	{fnAPI, "submit"}, {fnAPI, getTask}, {fnAPI, "reply"},
	{fnStep, "first lease"}, {fnStep, "lease"}, {fnStep, "step"}, {fnStep, "sub-step"},
	{fnStep, "effect's intent"}, {fnStep, "effect's result"},
	{fnStep, "pause"}, {fnStep, "park"}, {fnStep, "end"}, {fnStep, reading},
}

// inStory are the acts of all tallies in the order of the story; what it does not know comes last.
func inStory(tallies ...*tally) []act {
	seen := map[act]bool{}
	for _, t := range tallies {
		for a := range t.Acts {
			seen[a] = true
		}
	}
	place := func(a act) int {
		if i := slices.Index(story, a); i >= 0 {
			return i
		}
		return len(story)
	}
	return slices.SortedFunc(maps.Keys(seen), func(a, b act) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a.Function, b.Function), cmp.Compare(a.Name, b.Name))
	})
}
