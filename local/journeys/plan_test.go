package journeys_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// act is one thing that the planned agent does.
type act struct {
	verb  verb
	chunk agent.Chunk
	text  string
	delay time.Duration
	end   outcome // verbPause, verbAuthorize: what becomes of the pause
}

type verb string

const (
	verbReport    verb = "report"
	verbChunk     verb = "chunk"
	verbCommit    verb = "commit" // a sub-step
	verbStumble   verb = "stumble"
	verbContinue  verb = "continue"
	verbSleep     verb = "sleep"
	verbWork      verb = "work" // while others wait: the lease is held
	verbPause     verb = "pause"
	verbAuthorize verb = "authorize"
	verbComplete  verb = "complete"
	verbReject    verb = "reject"
	verbFail      verb = "fail"
)

type outcome string

const (
	ends     outcome = ""         // by what the agent does
	answered outcome = "answered" // by a reply, or a receipt
	canceled outcome = "canceled" // by the caller
	expired  outcome = "expired"  // by its deadline
)

// plan is what one task does, and what is done to it.
type plan struct {
	acts []act
	// cancelAfter is the number of updates after which the caller cancels, whatever the
	// task does; 0: it does not.
	cancelAfter int
	wait        time.Duration // before an answer
}

// pauseTime is how long a planned pause lasts at most.
const pauseTime = 2 * time.Minute

// newPlan draws a plan. All that a task can show to its caller is in some of them:
// progress, artifacts of several chunks and revisions, parts that are kept as blobs,
// failed attempts, sleeps, pauses of both kinds with each of their ends, and each of
// the four terminal states.
func newPlan(r *rand.Rand) plan {
	p := plan{wait: time.Duration(r.IntN(3)) * 20 * time.Second}
	if r.IntN(8) == 0 {
		p.cancelAfter = 1 + r.IntN(6)
	}
	w := &writer{open: map[a2a.ArtifactID]bool{}, r: r}
	for range 2 + r.IntN(9) {
		if w.pending >= 8 { // bounds of a commit
			w.add(act{verb: verbCommit})
		}
		switch r.IntN(16) {
		case 0, 1, 2:
			w.add(act{verb: verbReport, text: w.say()})
		case 3, 4, 5, 6:
			w.chunks()
		case 7, 8:
			w.add(act{verb: verbCommit})
		case 9:
			w.add(act{verb: verbStumble, text: w.say()})
		case 10:
			w.add(act{verb: verbContinue})
		case 11:
			w.add(act{verb: verbSleep, delay: time.Duration(1+r.IntN(90)) * time.Second})
		case 12:
			w.add(act{verb: verbWork, delay: time.Duration(1+r.IntN(20)) * time.Second})
		case 13, 14:
			w.add(act{verb: verbPause, text: w.say(), end: w.draw()})
		case 15:
			w.add(act{verb: verbAuthorize, text: w.say(), end: w.draw()})
		}
	}
	for _, id := range []a2a.ArtifactID{"a", "b", "c"} { // a task completes with sealed artifacts only
		if w.open[id] {
			w.add(act{verb: verbChunk, chunk: agent.Chunk{Artifact: id, Append: true, Last: true, Part: w.part()}})
		}
	}
	w.add(act{verb: []verb{verbComplete, verbComplete, verbComplete, verbReject, verbFail}[r.IntN(5)], text: w.say()})
	p.acts = w.acts
	return p
}

// writer keeps a plan within the rules of artifacts and commits.
type writer struct {
	r       *rand.Rand
	acts    []act
	open    map[a2a.ArtifactID]bool
	pending int // updates since the last commit
	words   int
}

func (w *writer) add(a act) {
	w.acts = append(w.acts, a)
	switch a.verb {
	case verbReport, verbChunk:
		w.pending++
	case verbWork:
	default:
		w.pending = 0
	}
}

// say is a text that no other act has; now and then none is said.
func (w *writer) say() string {
	w.words++
	return fmt.Sprintf("word %d ü\u0085\u2028\"\\", w.words)
}

func (w *writer) draw() outcome {
	switch w.r.IntN(8) {
	case 0:
		return canceled
	case 1:
		return expired
	}
	return answered
}

// chunks are some pieces of one artifact, which may stay open.
func (w *writer) chunks() {
	id := []a2a.ArtifactID{"a", "b", "c"}[w.r.IntN(3)]
	for range 1 + w.r.IntN(3) {
		more := w.open[id] && w.r.IntN(4) > 0 // else a new revision
		last := w.r.IntN(3) == 0
		w.add(act{verb: verbChunk, chunk: agent.Chunk{
			Artifact: id, Name: strings.Repeat("n", w.r.IntN(2)), Append: more, Last: last, Part: w.part(),
		}})
		w.open[id] = !last
	}
}

// part is a part of any kind; one of six is too large for an entry.
func (w *writer) part() *a2a.Part {
	w.words++
	text := fmt.Sprintf("piece %d;", w.words)
	if w.r.IntN(6) == 0 {
		text = strings.Repeat(text, 40_000/len(text))
	}
	switch w.r.IntN(4) {
	case 0:
		return a2a.NewRawPart([]byte(text))
	case 1:
		return a2a.NewDataPart(map[string]any{"said": text, "list": []any{1.5, nil, true}})
	}
	return a2a.NewTextPart(text)
}

// at is the planned agent's state: which act is next.
type at struct{ Act int }

// agent does what the plan says, from one checkpoint to the next.
func (p plan) agent() *agent.Agent {
	return agent.New("planned", 1, agent.Step[at]{Name: "go", Run: p.run, Retry: agent.Retry{First: time.Second, Attempts: 3}}).KeyedByMessageID()
}

func (p plan) run(ctx context.Context, t *agent.Task[at]) (agent.Next, error) {
	began := t.State.Act
	for ; ; t.State.Act++ {
		a := p.acts[t.State.Act]
		switch a.verb {
		case verbReport:
			t.Report(a.text)
		case verbChunk:
			t.Emit(a.chunk)
		case verbWork:
			select {
			case <-time.NewTimer(a.delay).C:
			case <-ctx.Done():
				return agent.Next{}, ctx.Err()
			}
		case verbStumble:
			// An attempt that fails, once; what it had said since the last commit is gone
			// and is said again.
			if t.Attempt == 1 && t.State.Act > began {
				return agent.Next{}, errors.New(a.text)
			}
		case verbCommit:
			t.State.Act++
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
			t.State.Act--
		default:
			t.State.Act++
			return p.next(a)
		}
	}
}

// next ends a visit.
func (p plan) next(a act) (agent.Next, error) {
	end := agent.For(pauseTime)
	switch a.verb {
	case verbSleep:
		return agent.Sleep(a.delay, "go"), nil
	case verbPause:
		return agent.Pause(a.text, "go", end), nil
	case verbAuthorize:
		return agent.Authorize("transfer", a.text, "go", end, agent.OrCancel(), agent.By("bank")), nil
	case verbComplete:
		return agent.Complete(a.text), nil
	case verbReject:
		return agent.Reject(a.text), nil
	case verbFail:
		return agent.Next{}, agent.Permanent(errors.New(a.text))
	}
	return agent.Continue("go"), nil
}

// pauses are those of the plan in order: what becomes of the first, the second …
func (p plan) pauses() []outcome {
	var out []outcome
	for _, a := range p.acts {
		if a.verb == verbPause || a.verb == verbAuthorize {
			out = append(out, a.end)
		}
	}
	return out
}
