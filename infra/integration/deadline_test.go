package integration_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/stepfn"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// shortPause is the deadline of a question that nobody answers.
const shortPause = 2 * time.Second

// Case 29: the answer to a question is dropped. At the deadline the task fails, with its
// reason in an entry, whoever notices first: the state's own time limit, the sweep where
// there is no execution any more, or the late answer itself. What comes later, an answer
// or the callback, is refused and wakes nobody.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{sweep: time.Hour}) // it is called by hand
	ctx := t.Context()
	executions := stepfn.New(stepfn.NewClient(configuration(s.machine.url)), machineARN)
	told := &dispatch.Dispatcher{Authority: s.auth, Executions: executions, Grace: raceGrace}

	parked := s.asks()
	if err := told.Submitted(ctx, parked.task.Head); err != nil {
		t.Fatal(err)
	}
	swept, late := s.asks(), s.asks()
	s.expired(parked, "the state's time limit", func() {})
	name := string(parked.task.Task) + "-g1"
	until(t, "the execution has ended", func() (bool, string) { _, ok := s.machine.result(name); return ok, "open" })
	if r, _ := s.machine.result(name); r.Err == nil || s.machine.visited(name, "Await") != 1 || s.machine.visited(name, "Settle") != 1 {
		t.Errorf("execution %s ended with %v after %d visits of Await and %d of Settle", name, r.Err, s.machine.visited(name, "Await"), s.machine.visited(name, "Settle"))
	}
	s.expired(swept, "the sweep", func() {
		if _, err := s.function(fnSweep).Call(ctx, []byte("{}"), time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	})
	s.answeredLate(late, "the first")
	s.expired(late, "the late answer", func() {})
	for _, h := range []*holder{parked, swept, late} {
		s.answeredLate(h, "another")
	}

	kept, err := s.ledger.Parked(ctx, parked.task.Ref(), 1)
	if err != nil || kept.Token.Value == "" {
		t.Fatalf("the token of the pause: %+v, %v", kept, err)
	}
	if err := executions.Resume(ctx, kept.Token.Value); !errors.Is(err, dispatch.ErrClosed) {
		t.Errorf("the callback after the deadline was answered %v, want it closed", err)
	}
	for _, h := range []*holder{parked, swept, late} {
		s.expired(h, "still", func() {})
	}
	if n := s.machine.visited(name, "Run"); n != 1 {
		t.Errorf("the execution ran %d times", n)
	}
}

// asks is a task whose holder has asked a question with a short deadline.
func (s *stack) asks() *holder {
	s.Helper()
	h, err := newHolder(s.T, s.auth)
	if err == nil {
		err = h.report(s.Context(), lifecycle.Report{
			Verb: lifecycle.VerbPause, Next: "greet", Message: says("May I?"), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: shortPause},
		})
	}
	if err != nil {
		s.Fatal(err)
	}
	return h
}

// expired wants a task failed because nobody answered; nudge is done whenever that is
// not so yet and the deadline has passed.
func (s *stack) expired(h *holder, by string, nudge func()) {
	s.Helper()
	ctx := s.Context()
	until(s.T, "the deadline is noticed by "+by, func() (bool, string) {
		head, err := s.ledger.Head(ctx, h.task.Ref())
		if err == nil && !head.Terminal() && !time.Now().Before(h.task.Pause.DeadlineAt) {
			nudge()
		}
		return err == nil && head.Terminal(), fmt.Sprint(head.State, err)
	})
	after, err := verify(ctx, s.auth, h.task.Ref())
	if err != nil {
		s.Error(err)
	}
	const entries = 4 // submitted, started, paused, ended
	last, err := after.entries[len(after.entries)-1].Event()
	if err != nil || len(after.entries) != entries || last.State != lifecycle.Failed || last.Ending == nil || last.Ending.Reason != string(lifecycle.PauseExpired) {
		s.Errorf("by %s: %d entries, the last one is %+v, %v", by, len(after.entries), last, err)
	}
	if at := after.entries[len(after.entries)-1].AcceptedAt; at.Before(h.task.Pause.DeadlineAt) {
		s.Errorf("by %s: ended at %s, the deadline is %s", by, at, h.task.Pause.DeadlineAt)
	}
	got, err := getTask(ctx, s.url, h.task.Task)
	if err != nil || got.Status.State != lifecycle.Failed || got.Status.Message == nil || !strings.Contains(got.Status.Message.Parts[0].Text(), "deadline") {
		s.Errorf("by %s: the task reads %+v, %v", by, got.Status, err)
	}
}

// answeredLate sends an answer after the deadline, which must be refused.
func (s *stack) answeredLate(h *holder, messageID string) {
	s.Helper()
	pastDeadline(s.Context(), h)
	a, err := call(s.Context(), http.MethodPost, s.url+"/message:send", answering(h.task.Task, messageID+string(h.task.Task), "yes"))
	if err != nil || a.status != http.StatusBadRequest || !strings.Contains(string(a.body), "UNSUPPORTED_OPERATION") {
		s.Errorf("an answer after the deadline got %s, %v", a, err)
	}
}

// pastDeadline returns when the deadline of the task's pause has passed.
func pastDeadline(ctx context.Context, h *holder) {
	ctx, cancel := context.WithDeadline(ctx, h.task.Pause.DeadlineAt.Add(time.Millisecond))
	defer cancel()
	<-ctx.Done()
}
