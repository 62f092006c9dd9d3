package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// storyKind is a story as the soak tells it, and the states in which it may end.
type storyKind struct {
	name string
	play func(s *soaking, ctx context.Context, name string, dice *rand.Rand) (door, string, error)
	ends []string
}

var storyKinds = []storyKind{
	{"produced", (*soaking).produced, []string{stateCompleted}},
	{"asked", (*soaking).asked, []string{stateCompleted}},
	{"followed", (*soaking).followed, []string{stateCompleted}},
	{"canceled", (*soaking).canceled, []string{stateCanceled, stateCompleted}},
	{"reviewed", (*soaking).reviewed, []string{stateCompleted}},
}

const helloAgent = "hello"

// insist makes a request until it is answered. Who makes it again must give it the same
// name: the product is killed all the time, before and after it has done what is asked.
func (s *soaking) insist(ctx context.Context, ask func(context.Context) (answer, error)) (answer, error) {
	until := time.Now().Add(waitTime)
	for {
		a, err := ask(ctx)
		if err == nil && a.Status < http.StatusInternalServerError {
			return a, nil
		}
		if err == nil {
			err = errors.New(a.String())
		}
		if ctx.Err() != nil || time.Now().After(until) {
			return a, fmt.Errorf("no answer for %s: %w", waitTime, err)
		}
		s.retries.Add(1)
		if err := driver.Pause(ctx, 20*time.Millisecond); err != nil {
			return a, err
		}
	}
}

func (s *soaking) submitted(ctx context.Context, at door, name, text string) (string, error) {
	a, err := s.insist(ctx, func(ctx context.Context) (answer, error) { return at.submit(ctx, name, text) })
	if err != nil {
		return "", err
	}
	t, err := driver.Sent[task](a)
	return t.ID, err
}

// reported insists on an event. A gap is one that the answer to the event before was
// lost with; there is none here, for every event waits for its answer.
func (s *soaking) reported(ctx context.Context, w *worker, e event) (taken, error) {
	var out taken
	a, err := s.insist(ctx, func(ctx context.Context) (answer, error) { return w.send(ctx, e) })
	if err == nil {
		err = a.Decode(&out)
	}
	if err != nil {
		return out, fmt.Errorf("event %s: %w", e.id, err)
	}
	return out, nil
}

func (s *soaking) worker(ctx context.Context, name string) (*worker, error) {
	at := s.door(outsideAgent)
	id, err := s.submitted(ctx, at, name, firstText)
	w := &worker{door: at, producer: firstProducer, task: id}
	if err != nil {
		return w, err
	}
	return w, s.claimed(ctx, w)
}

func (s *soaking) claimed(ctx context.Context, w *worker) error {
	got, err := s.reported(ctx, w, w.claiming())
	w.fence = max(w.fence, got.Fence)
	return err
}

// produced is written by a worker outside: chunks of a draft, and its end.
func (s *soaking) produced(ctx context.Context, name string, dice *rand.Rand) (door, string, error) {
	w, err := s.worker(ctx, name)
	if err != nil {
		return w.door, w.task, err
	}
	n := 2 + dice.IntN(6)
	for i := 1; i <= n; i++ {
		text := strings.Repeat(fmt.Sprintf("line %d of %s\n", i, name), 1+dice.IntN(20))
		e := event{fmt.Sprintf("chunk-%d", i), uint64(i), w.fence, chunked(chunkOf(draft, text, i > 1, i == n))}
		if _, err := s.reported(ctx, w, e); err != nil {
			return w.door, w.task, err
		}
	}
	_, err = s.reported(ctx, w, event{"end", uint64(n) + 1, w.fence, object{"kind": "complete", "text": "Done."}})
	return w.door, w.task, err
}

// asked asks a question, which is answered again and again until the answer is known to
// have come.
func (s *soaking) asked(ctx context.Context, name string, _ *rand.Rand) (door, string, error) {
	w, err := s.worker(ctx, name)
	if err != nil {
		return w.door, w.task, err
	}
	question := object{"kind": "pause", "text": "Go on?", "pause": object{"for": "input", "timeoutSeconds": 3600}}
	if _, err := s.reported(ctx, w, event{"question", 1, w.fence, question}); err != nil {
		return w.door, w.task, err
	}
	a, err := s.insist(ctx, func(ctx context.Context) (answer, error) { return w.reply(ctx, w.task, name+" answer", "yes", 1) })
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("the answer: %s", a)
	}
	if err == nil {
		err = s.claimed(ctx, w)
	}
	if err == nil {
		_, err = s.reported(ctx, w, event{"end", 2, w.fence, object{"kind": "complete", "text": "Done."}})
	}
	return w.door, w.task, err
}

// canceled counts for a while and is canceled, sometimes too late.
func (s *soaking) canceled(ctx context.Context, name string, dice *rand.Rand) (door, string, error) {
	at := s.door(helloAgent)
	id, err := s.submitted(ctx, at, name, fmt.Sprintf("count %d", 1+dice.IntN(3)))
	if err != nil {
		return at, id, err
	}
	if err := driver.Pause(ctx, time.Duration(dice.IntN(1500))*time.Millisecond); err != nil {
		return at, id, err
	}
	a, err := s.insist(ctx, func(ctx context.Context) (answer, error) { return at.cancel(ctx, id) })
	if err == nil && a.Status != http.StatusOK && a.Reason() != notCancelable {
		err = fmt.Errorf("the cancellation: %s", a)
	}
	return at, id, err
}

// followed counts, and is followed on a stream that breaks with every kill. Over all
// streams together every update comes once, in order, and none is missing.
func (s *soaking) followed(ctx context.Context, name string, dice *rand.Rand) (door, string, error) {
	at := s.door(helloAgent)
	n := 2 + dice.IntN(3)
	id, err := s.submitted(ctx, at, name, fmt.Sprintf("count %d", n))
	if err != nil {
		return at, id, err
	}
	var seen view
	last, begun := uint64(0), false
	until := time.Now().Add(waitTime)
	for !slices.Contains([]string{stateCompleted, stateFailed}, seen.State) {
		if time.Now().After(until) {
			return at, id, fmt.Errorf("the stream is at %d, state %q, after %s", last, seen.State, waitTime)
		}
		var has object
		if begun {
			has = object{"after": last}
		}
		st, err := at.subscribe(ctx, id, has)
		if err != nil {
			// It has ended meanwhile, or nobody is there: the task itself tells.
			ended, err := s.endedAlready(ctx, at, id)
			if err != nil || ended {
				return at, id, err
			}
			continue
		}
		<-st.Done
		frames := st.Kept()
		if len(frames) == 0 {
			continue
		}
		if begun {
			s.cuts.Add(1)
			seen, err = seen.onward(frames)
		} else {
			begun, last = true, frames[0].own().Own.Sequence
			seen, err = fromNothing(frames)
		}
		if err != nil {
			return at, id, err
		}
		for _, f := range frames[1:] {
			if f.id <= last {
				return at, id, fmt.Errorf("update %d came after %d", f.id, last)
			}
			last = f.id
		}
	}
	t, err := s.taskOf(ctx, at, id)
	if err != nil {
		return at, id, err
	}
	return at, id, seen.same("who followed it", viewOf(t))
}

// endedAlready says whether a task that cannot be followed has ended.
func (s *soaking) endedAlready(ctx context.Context, at door, id string) (bool, error) {
	t, err := s.taskOf(ctx, at, id)
	if err != nil {
		return false, err
	}
	if slices.Contains([]string{stateCompleted, stateFailed, stateCanceled, stateRejected}, t.Status.State) {
		return true, nil
	}
	return false, driver.Pause(ctx, 20*time.Millisecond)
}

func (s *soaking) taskOf(ctx context.Context, at door, id string) (t task, err error) {
	a, err := s.insist(ctx, func(ctx context.Context) (answer, error) {
		return at.Ask(ctx, http.MethodGet, at.url+"/tasks/"+id, nil)
	})
	if err != nil {
		return t, err
	}
	return t, a.Decode(&t)
}

// reviewed is the shipped access review, with its effects on systems outside.
func (s *soaking) reviewed(ctx context.Context, name string, _ *rand.Rand) (door, string, error) {
	at := s.door(accessReviewName)
	body, err := os.ReadFile(filepath.Join(s.root, "events", "accessreview", "send.json"))
	if err != nil {
		return at, "", err
	}
	body = []byte(strings.Replace(string(body), "access-review-2026-q3", name, 1))
	a, err := s.insist(ctx, func(ctx context.Context) (answer, error) {
		return at.Ask(ctx, http.MethodPost, at.url+"/message:send", body)
	})
	if err != nil {
		return at, "", err
	}
	t, err := driver.Sent[task](a)
	if err != nil {
		return at, "", err
	}
	if t, err = s.awaited(ctx, at, t.ID, stateInput); err != nil {
		return at, t.ID, err
	}
	a, err = s.insist(ctx, func(ctx context.Context) (answer, error) {
		return at.reply(ctx, t.ID, name+" approval", "approve all", t.Metadata.Own.Pause)
	})
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("the approval: %s", a)
	}
	return at, t.ID, err
}

// awaited waits until a task is in one of some states.
func (s *soaking) awaited(ctx context.Context, at door, id string, states ...string) (task, error) {
	for until := time.Now().Add(2 * waitTime); ; {
		t, err := s.taskOf(ctx, at, id)
		if err != nil || slices.Contains(states, t.Status.State) {
			return t, err
		}
		if time.Now().After(until) {
			return t, fmt.Errorf("task %s is %s after %s, want %v", id, t.Status.State, 2*waitTime, states)
		}
		if err := driver.Pause(ctx, 50*time.Millisecond); err != nil {
			return t, err
		}
	}
}

// endOf waits for a story's end and gives the head that it has come to.
func (s *soaking) endOf(ctx context.Context, at door, id string, ends []string) (head, error) {
	if _, err := s.awaited(ctx, at, id, ends...); err != nil {
		return head{}, err
	}
	a, err := s.insist(ctx, func(ctx context.Context) (answer, error) {
		return at.Ask(ctx, http.MethodGet, at.url+"/tasks/"+id+"/ledger?limit=1", nil)
	})
	if err != nil {
		return head{}, err
	}
	var p page
	return p.Head, a.Decode(&p)
}

// exported asks the running product for a task's export.
func (d door) exported(ctx context.Context, id string) ([]byte, error) {
	a, err := d.Ask(ctx, http.MethodGet, d.url+"/tasks/"+id+"/export", nil)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("exporting task %s: %s", id, a)
	}
	return a.Body, err
}

// checkOutside holds what the systems did against what was recorded: every revocation
// of every review once.
func (s *soaking) checkOutside(ctx context.Context) error {
	c, err := s.systems.counters(ctx)
	if err != nil {
		return err
	}
	reviews := 0
	for kind, n := range s.ended {
		if strings.HasPrefix(kind, "reviewed ") {
			reviews += n
		}
	}
	if c.Totals.Applied != reviews*grantCount || c.Totals.Conflicts != 0 {
		return fmt.Errorf("%d reviews revoked %d grants each; the systems count %+v", reviews, grantCount, c.Totals)
	}
	driver.Tell(s.out, "effects: %d reviews, %d revocations applied once each, %d came again and were recognised", reviews, c.Totals.Applied, c.Totals.Repeats)
	return nil
}
