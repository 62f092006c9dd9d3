package integration_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/stepfn"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Case 32: a callback token is bound to one pause of one task. An answer wakes the
// execution that waits for it and no other; the token of a pause that is over is closed;
// and whoever holds an open token wakes an execution, but answers nothing.
func TestTokenIsOfOnePause(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{build: trial})
	ctx := t.Context()
	executions := stepfn.New(stepfn.NewClient(configuration(s.machine.url)), machineARN)
	one, other := s.parks("one", "ask 2", 1), s.parks("other", "ask 2", 1)
	first, theirs := s.token(one, 1), s.token(other, 1)
	if first.Value == theirs.Value {
		t.Error("two executions wait with one token")
	}
	if _, err := send(ctx, s.url, answering(one.Task, "one-1", "yes")); err != nil {
		t.Fatal(err)
	}
	s.parked(one, 2)
	second := s.token(one, 2)
	if h, err := s.ledger.Head(ctx, other); err != nil || h.Pause == nil || h.Pause.Number != 1 || s.machine.visited(executionOf(other), "Run") != 1 {
		t.Errorf("the other task's execution ran %d times, pause %+v, %v", s.machine.visited(executionOf(other), "Run"), h.Pause, err)
	}

	// The token of the first pause is good for nothing any more.
	if err := executions.Resume(ctx, first.Value); !errors.Is(err, dispatch.ErrClosed) {
		t.Errorf("the token of pause 1 was answered %v, want it closed", err)
	}
	// A parking of the first pause that arrives now, with an older token or a forged one,
	// takes the place of no other.
	for _, late := range []struct {
		pause int
		token ledger.Token
	}{{1, first}, {2, first}, {2, ledger.Token{Value: tokenPrefix + a2a.NewMessageID(), Generation: 0, EnteredAt: second.EnteredAt.Add(time.Hour)}}} {
		payload := fmt.Sprintf(`{"op":"await","tenant":%q,"taskId":%q,"generation":%d,"execution":%q,"pause":%d,"token":%q,"enteredAt":%q}`,
			one.Tenant, one.Task, late.token.Generation, executionOf(one), late.pause, late.token.Value, late.token.EnteredAt.Format(time.RFC3339Nano))
		if _, err := s.function(fnStep).Call(ctx, []byte(payload), time.Now().Add(time.Minute)); err != nil && !strings.Contains(err.Error(), dispatch.ErrNoExecution.Error()) {
			t.Errorf("parking late on pause %d: %v", late.pause, err)
		}
	}
	if now := s.token(one, 2); now != second {
		t.Errorf("pause 2 has the token %+v, want %+v", now, second)
	}
	if n := s.machine.visited(executionOf(one), "Await"); n != 2 {
		t.Errorf("the execution entered Await %d times, want 2", n)
	}

	// An open token, in whosever hands, is no answer.
	before, err := verify(ctx, s.auth, other)
	if err != nil {
		t.Fatal(err)
	}
	if err := executions.Resume(ctx, theirs.Value); err != nil {
		t.Fatal(err)
	}
	until(t, "the execution that was woken has parked again", func() (bool, string) {
		return s.machine.visited(executionOf(other), "Await") == 2 && s.token(other, 1).Value != theirs.Value, fmt.Sprint(s.machine.visited(executionOf(other), "Await"))
	})
	if after, err := verify(ctx, s.auth, other); err != nil || after.Seq != before.Seq || after.Fence != before.Fence {
		t.Errorf("woken without an answer the task went from entry %d under fence %d to %d under %d, %v", before.Seq, before.Fence, after.Seq, after.Fence, err)
	}

	for _, answer := range []struct {
		ref  lifecycle.Ref
		says []string
		want string
	}{{one, []string{"no"}, "You said yes, no."}, {other, []string{"up", "down"}, "You said up, down."}} {
		for i, says := range answer.says {
			s.parked(answer.ref, 2-len(answer.says)+i+1)
			if _, err := send(ctx, s.url, answering(answer.ref.Task, fmt.Sprintf("end-%d-%s", i, answer.ref.Task), says)); err != nil {
				t.Fatal(err)
			}
		}
		s.reaches(answer.ref, lifecycle.Completed)
		if got, err := getTask(ctx, s.url, answer.ref.Task); err != nil || got.Status.Message.Parts[0].Text() != answer.want {
			t.Errorf("the task reads %+v, %v; want %q", got.Status, err, answer.want)
		}
		if _, err := verify(ctx, s.auth, answer.ref); err != nil {
			t.Error(err)
		}
	}
}

// Case 32: a checkpoint that does not fit the agent, because its step has another name
// or its state another shape, ends the task with an error that says so. Nothing runs on
// it.
func TestCheckpointOfAnotherAgent(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{})
	ctx := t.Context()
	executions := stepfn.New(stepfn.NewClient(configuration(s.machine.url)), machineARN)
	told := &dispatch.Dispatcher{Authority: s.auth, Executions: executions, Grace: raceGrace}
	for _, c := range []struct{ step, state, want string }{
		{"collect", `{"at":1,"to":3}`, `agent hello version 1 has no step "collect"`},
		{"count", `{"at":"one","to":3}`, "the checkpoint does not fit the state"},
	} {
		h, err := newHolder(t, s.auth)
		if err == nil {
			err = h.report(ctx, lifecycle.Report{Verb: lifecycle.VerbContinue, Next: c.step, State: []byte(c.state)})
		}
		if err == nil {
			err = told.Submitted(ctx, h.task.Head)
		}
		if err != nil {
			t.Fatal(err)
		}
		s.reaches(h.task.Ref(), lifecycle.Failed)
		after, err := verify(ctx, s.auth, h.task.Ref())
		if err != nil {
			t.Error(err)
		}
		const entries = 4 // submitted, started, the checkpoint, ended
		last, err := after.entries[len(after.entries)-1].Event()
		if err != nil || len(after.entries) != entries || last.Ending == nil || !strings.Contains(last.Ending.Reason, c.want) {
			t.Errorf("step %s, state %s: %d entries, the last one is %+v, %v; want %q", c.step, c.state, len(after.entries), last.Ending, err, c.want)
		}
		got, err := getTask(ctx, s.url, h.task.Task)
		if err != nil || got.Status.Message == nil || !strings.Contains(got.Status.Message.Parts[0].Text(), c.want) {
			t.Errorf("step %s, state %s: the caller reads %+v, %v; want %q", c.step, c.state, got.Status, err, c.want)
		}
		name := executionOf(h.task.Ref())
		until(t, "the execution has ended", func() (bool, string) { _, ok := s.machine.result(name); return ok, "open" })
		if r, _ := s.machine.result(name); r.Err == nil || s.machine.visited(name, "Run") != 1 {
			t.Errorf("step %s: the execution ended with %v after %d runs, want it failed after one", c.step, r.Err, s.machine.visited(name, "Run"))
		}
	}
}

func executionOf(ref lifecycle.Ref) string { return string(ref.Task) + "-g1" }

// parks submits a task and waits until its execution is parked on a pause.
func (s *stack) parks(messageID, says string, pause int) lifecycle.Ref {
	s.Helper()
	task, err := send(s.Context(), s.url, text(messageID, says, true))
	if err != nil {
		s.Fatal(err)
	}
	s.parked(refTo(task.ID), pause)
	return refTo(task.ID)
}

// parked waits until a task is in a pause and its execution has stored its token.
func (s *stack) parked(ref lifecycle.Ref, pause int) {
	s.Helper()
	until(s.T, fmt.Sprintf("the execution of %s is parked on pause %d", ref, pause), func() (bool, string) {
		p, err := s.ledger.Parked(s.Context(), ref, pause)
		return err == nil && p.Token.Value != "" && !p.Answered, fmt.Sprintf("%+v, %v", p, err)
	})
}

func (s *stack) token(ref lifecycle.Ref, pause int) ledger.Token {
	s.Helper()
	p, err := s.ledger.Parked(s.Context(), ref, pause)
	if err != nil {
		s.Fatal(err)
	}
	return p.Token
}
