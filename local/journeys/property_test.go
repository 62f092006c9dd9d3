package journeys_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/openapi/contract"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// One random task more costs a few hundredths of a second.
var seeds = flag.Int("seeds", 200, "how many random tasks TestRandomTasks follows; a quarter of them in short tests")

// Cases 33 and 43, for random tasks: a stream from the start, a replay from 0 and the
// task as GetTask gives it are the same, status and artifacts, over both bindings and
// when a stream is cut at every update. A client folds with the SDK's nouns alone: a
// status update replaces the status, an artifact update adds to the artifact or
// replaces it. A failure names its seed: -run 'TestRandomTasks/seed_17$'.
// All answers over HTTP+JSON are held against events/openapi.json on their way.
func TestRandomTasks(t *testing.T) {
	description, err := os.ReadFile("../../events/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	described, err := contract.New(description)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	count := *seeds
	if testing.Short() {
		count /= 4
	}
	for seed := range count {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &followed{described: described, plan: newPlan(rand.New(rand.NewPCG(uint64(seed), 43))), first: bindings()[seed%2], second: bindings()[1-seed%2]}
				f.follow(t)
				if t.Failed() {
					t.Logf("the plan: %+v", f.plan)
				}
				for _, what := range f.shown() {
					seen[what]++
				}
			})
		})
	}
	t.Log(seen)
	if count < 200 {
		return // too few for each thing to have happened
	}
	for _, what := range []string{
		"progress", "appended", "replaced", "blob", "attempt failed", "sleep", "reply", "authorized", "checkpoint",
		"status TASK_STATE_INPUT_REQUIRED", "status TASK_STATE_AUTH_REQUIRED",
		"end TASK_STATE_COMPLETED", "end TASK_STATE_FAILED", "end TASK_STATE_CANCELED", "end TASK_STATE_REJECTED",
	} {
		if seen[what] < count/20 {
			t.Errorf("%d of %d tasks showed %q: the plans have become too tame", seen[what], count, what)
		}
	}
}

// followed is a random task with its clients.
type followed struct {
	*world

	described     *contract.Contract
	plan          plan
	first, second binding // the first creates the task
	ref           lifecycle.Ref

	uncut []frame // the stream from the start

	mu  sync.Mutex
	got map[uint64]map[string]bool // at a sequence: the task as GetTask and snapshots gave it
}

func (f *followed) follow(t *testing.T) {
	f.world, f.got = newWorld(t, f.plan.agent()), map[uint64]map[string]bool{}
	n := f.process()
	defer f.stop(n)
	f.client.Transport = f.described.Transport(f.client.Transport, func(err error) { t.Error(err) })
	s, err := f.first.submit(f.world, "go", nil)
	if err != nil {
		t.Fatal(err)
	}
	created := f.world.first(s)
	f.ref = lifecycle.Ref{Tenant: node.Tenant, Task: taskOf(created)}
	var others sync.WaitGroup
	results := make([][]frame, 5)
	others.Go(func() { results[0] = f.caught(f.second, true) })
	others.Go(func() { results[1] = f.caught(f.first, false) })
	others.Go(func() { results[2] = f.caught(f.second, false) })
	others.Go(func() { results[3] = f.plain(f.first) })
	others.Go(func() { results[4] = f.plain(f.second) })
	f.uncut = f.attend(s, created)
	others.Wait()
	if t.Failed() {
		return
	}
	want := f.visible(f.ref)
	f.same("uncut", f.uncut, f.uncut, want)
	for i, name := range []string{"joined late", "cut", "cut, the other binding"} {
		f.same(name, results[i][1:], f.uncut[1:], want[1:]) // under the first id they have an update, not the task
	}
	f.checkFolds()
	f.checkReplays(want)
	f.verify(f.ref.Task)
}

// keep notes a whole task under the sequence that it says it has.
func (f *followed) keep(s frame) {
	task, is := s.event.(*a2a.Task)
	if !is {
		f.t.Errorf("a stream begins with %s", s.content())
		return
	}
	sequence, _ := s.own()["sequence"].(float64)
	f.keepAt(uint64(sequence), task.Status, task.Artifacts)
}

func (f *followed) keepAt(seq uint64, status a2a.TaskStatus, artifacts []*a2a.Artifact) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.got[seq] == nil {
		f.got[seq] = map[string]bool{}
	}
	f.got[seq][visibleOf(status, artifacts)] = true
}

// visibleOf is what must be the same wherever it comes from.
func visibleOf(status a2a.TaskStatus, artifacts []*a2a.Artifact) string {
	text, err := json.Marshal(struct {
		Status    a2a.TaskStatus
		Artifacts []*a2a.Artifact `json:",omitempty"`
	}{status, artifacts})
	return fmt.Sprintf("%s %v", text, err)
}

// at is the fold of the stream from the start up to a sequence.
func (f *followed) at(seq uint64) string {
	c := &folded{}
	for _, u := range f.uncut {
		if u.id <= seq {
			c.add(u)
		}
	}
	return visibleOf(c.status, c.artifacts)
}

// checkFolds holds every task that any client got, at whatever moment, against the
// stream from the start folded up to that moment.
func (f *followed) checkFolds() {
	f.t.Helper()
	for _, b := range bindings() {
		f.look(b) // the end, by GetTask
	}
	for seq, all := range f.got {
		for got := range all {
			if want := f.at(seq); got != want {
				f.t.Errorf("at %d a client has\n%.3000s\nthe stream from the start gives\n%.3000s", seq, got, want)
			}
		}
	}
	a, errA := bindings()[0].get(f.world, f.ref.Task)
	b, errB := bindings()[1].get(f.world, f.ref.Task)
	if errA != nil || errB != nil || string(a) != string(b) {
		f.t.Errorf("GetTask differs: %.2000s (%v) and %.2000s (%v)", a, errA, b, errB)
	}
	if difference := fold(f.uncut).equals(f.task("", f.ref.Task)); difference != "" {
		f.t.Error(difference)
	}
}

// checkReplays replays the finished task behind 0 and behind every id that there was,
// over both bindings: exactly what is missing, as it was sent the first time.
func (f *followed) checkReplays(want []uint64) {
	f.t.Helper()
	for _, b := range bindings() {
		for i, cursor := range append([]uint64{0}, want...) {
			s, err := b.submit(f.world, "go", &cursor)
			if err != nil {
				f.t.Fatalf("%s behind %d: %v", b.name, cursor, err)
			}
			frames := f.all(s)
			f.keep(frames[0])
			missing := frames[1:]
			for _, u := range missing {
				if u.own()["replay"] != true {
					f.t.Errorf("%s behind %d: %d is not marked as replay", b.name, cursor, u.id)
				}
			}
			if !slices.Equal(ids(missing), want[i:]) {
				f.t.Errorf("%s behind %d come %v, want %v", b.name, cursor, ids(missing), want[i:])
				continue
			}
			skip := max(1-i, 0) // under the first id the stream from the start has the task
			f.same(fmt.Sprintf("%s behind %d", b.name, cursor), missing[skip:], f.uncut[i+skip:], want[i+skip:])
			c := fold(append(slices.Clone(f.uncut[:i]), missing...))
			if got := visibleOf(c.status, c.artifacts); i > 0 && got != f.at(want[len(want)-1]) {
				f.t.Errorf("%s: what was there up to %d and what comes behind it give\n%.3000s", b.name, cursor, got)
			}
		}
	}
}

// shown says what there was to see of the task.
func (f *followed) shown() []string {
	var out []string
	chunks := map[a2a.ArtifactID]int{}
	var before a2a.TaskState
	for _, u := range f.uncut {
		switch ev := u.event.(type) {
		case *a2a.TaskStatusUpdateEvent:
			if ev.Status.State == before {
				out = append(out, "progress")
			}
			out = append(out, "status "+string(ev.Status.State))
			before = ev.Status.State
		case *a2a.TaskArtifactUpdateEvent:
			id := ev.Artifact.ID
			switch {
			case ev.Append:
				out = append(out, "appended")
			case chunks[id] > 0:
				out = append(out, "replaced")
			}
			chunks[id]++
			if ev.Artifact.Parts[0].URL() != "" {
				out = append(out, "blob")
			}
		}
	}
	out = append(out, "end "+string(before))
	entries, err := f.ledger.Entries(context.Background(), f.ref, 0, 0)
	if err != nil {
		f.t.Error(err)
	}
	for _, e := range entries { // what callers do not see, or not as what it is
		ev, err := e.Event()
		if err != nil {
			f.t.Error(err)
		}
		switch {
		case e.Type == lifecycle.TypeWaiting && ev.Wait.Attempt > 0:
			out = append(out, "attempt failed")
		case e.Type == lifecycle.TypeWaiting:
			out = append(out, "sleep")
		case e.Type == lifecycle.TypeReply, e.Type == lifecycle.TypeAuthorized, e.Type == lifecycle.TypeCheckpoint:
			out = append(out, string(e.Type))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
