package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// A walker does what a plan says, and a plan is drawn from a number in its first
// message: so one agent, in any version and any process, does the same.

// deed is one thing that a walker does.
type deed struct {
	verb  verb
	text  string
	chunk agent.Chunk
	delay time.Duration
	named bool
	or    agent.Policy // of an effect
}

type verb int

const (
	say verb = iota
	emit
	keep // a sub-step
	stumble
	goOn
	sleep
	work
	ask
	authorize
	affect
	complete
	decline
	fail
)

// walk is the walker's state.
type walk struct {
	Plan uint64
	Mark string // whose secret it is
	Deed int
}

// planOf draws a plan. It keeps within the rules of artifacts and commits.
func planOf(n uint64) []deed {
	r := diceOf(n, "plan")
	var out []deed
	open, pending, words := map[a2a.ArtifactID]bool{}, 0, 0
	word := func() string { words++; return fmt.Sprintf("word %d", words) }
	chunk := func(id a2a.ArtifactID, last bool) {
		text := word()
		if r.IntN(24) == 0 {
			text = strings.Repeat(text, 40_000/len(text)) // a blob
		}
		out = append(out, deed{verb: emit, chunk: agent.Chunk{Artifact: id, Append: open[id] && (last || r.IntN(4) > 0), Last: last, Part: a2a.NewTextPart(text)}})
		open[id] = !last
		pending++
	}
	for range 1 + r.IntN(6) {
		if pending > 8 {
			out, pending = append(out, deed{verb: keep}), 0
		}
		d := deed{text: word()}
		switch n := r.IntN(16); n {
		case 0:
			d.verb = say
			pending++
		case 1, 2:
			id := []a2a.ArtifactID{"a", "b"}[r.IntN(2)]
			for range 1 + r.IntN(2) {
				chunk(id, r.IntN(2) == 0)
			}
			continue
		case 3:
			d.verb = keep
		case 4:
			d.verb = stumble
		case 5:
			d.verb = goOn
		case 6:
			d.verb, d.delay = sleep, time.Duration(1+r.IntN(60_000))*time.Millisecond
		case 7:
			d.verb, d.delay = work, time.Duration(1+r.IntN(25_000))*time.Millisecond
		case 8, 9, 10:
			d.verb, d.named = ask, r.IntN(2) == 0
			d.delay = []time.Duration{20 * time.Second, 3 * time.Minute, time.Hour}[r.IntN(3)]
		case 11:
			d.verb, d.delay = authorize, []time.Duration{time.Minute, time.Hour}[r.IntN(2)]
		default:
			d.verb = affect
			d.or = []agent.Policy{agent.PolicyRetry, agent.PolicyRetry, agent.PolicyReconcile, agent.PolicyReconcile, agent.PolicyHold}[r.IntN(5)]
		}
		if d.verb != say && d.verb != affect && d.verb != work {
			pending = 0
		}
		out = append(out, d)
	}
	for _, id := range []a2a.ArtifactID{"a", "b"} {
		if open[id] {
			chunk(id, true)
		}
	}
	end := []verb{complete, complete, complete, decline, fail}[r.IntN(5)]
	return append(out, deed{verb: end, text: word()})
}

// walker is the agent in a version, within a process. The step has another name in
// each version.
func walker(p *process, version int) *agent.Agent {
	step := []string{"", "go", "walk", "stride"}[version]
	w := &walking{p: p, step: step}
	return agent.New("walker", version, agent.Step[walk]{
		Name: step, Run: w.run, Timeout: 50 * time.Second, Retry: agent.Retry{First: time.Second, Attempts: 6},
	}).KeyedByMessageID()
}

type walking struct {
	p    *process
	step string
}

func (w *walking) run(ctx context.Context, t *agent.Task[walk]) (agent.Next, error) {
	w.p.w.started(t.ID, w.p)
	defer w.p.w.stopped(t.ID, w.p)
	if t.State.Mark == "" {
		if _, err := fmt.Sscanf(agent.Text(t.Message), "walk %d for %s", &t.State.Plan, &t.State.Mark); err != nil {
			return agent.Next{}, agent.Permanent(err)
		}
	}
	plan, began := planOf(t.State.Plan), t.State.Deed
	for ; ; t.State.Deed++ {
		d := plan[t.State.Deed]
		switch d.verb {
		case say:
			t.Report(d.text + " " + t.State.Mark)
		case emit:
			t.Emit(d.chunk)
		case work:
			if err := rest(ctx, d.delay); err != nil {
				return agent.Next{}, err
			}
		case stumble:
			if t.Attempt == 1 && t.State.Deed > began {
				return agent.Next{}, errors.New(d.text)
			}
		case keep:
			t.State.Deed++
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
			t.State.Deed--
		case affect:
			if err := w.affect(ctx, t, d); err != nil {
				return agent.Next{}, err
			}
		default:
			t.State.Deed++
			return w.next(d, t.State.Mark)
		}
	}
}

// rest lets time pass.
func rest(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *walking) affect(ctx context.Context, t *agent.Task[walk], d deed) error {
	name := fmt.Sprintf("deed-%d", t.State.Deed)
	request := d.text + " " + t.State.Mark
	options := []agent.EffectOption{agent.Request(request), agent.Within(20 * time.Second)}
	switch d.or {
	case agent.PolicyReconcile:
		options = append(options, agent.Reconcile(func(ctx context.Context, key string) (string, bool, error) {
			return w.p.w.outside.ask(ctx, w.p, key)
		}))
	case agent.PolicyHold:
		options = append(options, agent.Hold())
	}
	_, err := agent.Effect(ctx, t, name, func(ctx context.Context, key string) (string, error) {
		return w.p.w.outside.call(ctx, w.p, d.or, key, request)
	}, options...)
	return err
}

// next ends a visit.
func (w *walking) next(d deed, mark string) (agent.Next, error) {
	text := d.text + " " + mark
	switch d.verb {
	case sleep:
		return agent.Sleep(d.delay, w.step), nil
	case ask:
		if d.named {
			return agent.Pause(text, w.step, agent.For(d.delay), agent.ByName()), nil
		}
		return agent.Pause(text, w.step, agent.For(d.delay)), nil
	case authorize:
		return agent.Authorize("transfer", text, w.step, agent.For(d.delay), agent.OrCancel(), agent.By("bank")), nil
	case complete:
		return agent.Complete(text), nil
	case decline:
		return agent.Reject(text), nil
	case fail:
		return agent.Next{}, agent.Permanent(errors.New(d.text))
	}
	return agent.Continue(w.step), nil
}
