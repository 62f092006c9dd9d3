package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// handler answers for the desk's task; its steps always say out.
func (d *desk) handler(out lifecycle.Outcome, err error) *dispatch.Handler {
	return &dispatch.Handler{Dispatcher: d.dispatcher, Steps: func(context.Context, dispatch.Input, string, time.Time) (lifecycle.Outcome, error) {
		return out, err
	}}
}

// invoke is one invocation of a minute.
func (d *desk) invoke(h *dispatch.Handler, op, more string) (string, error) {
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	payload := fmt.Sprintf(`{"op":%q,"tenant":%q,"taskId":%q,"generation":1,"execution":"e1"%s}`, op, d.ref.Tenant, d.ref.Task, more)
	out, err := h.Handle(ctx, json.RawMessage(payload))
	return string(out), err
}

// The operations as the state machine sends them, and the outcomes as it reads
// them.
func TestOperations(t *testing.T) {
	t.Run("run", func(t *testing.T) {
		d := newDesk(t)
		var in dispatch.Input
		var name string
		var deadlineAt time.Time
		h := d.handler(lifecycle.Outcome{}, nil)
		h.Steps = func(_ context.Context, i dispatch.Input, e string, at time.Time) (lifecycle.Outcome, error) {
			in, name, deadlineAt = i, e, at
			return lifecycle.Outcome{Word: lifecycle.WordAwait, Pause: 2, Seconds: 60}, nil
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		got, err := h.Handle(ctx, json.RawMessage(fmt.Sprintf(`{"op":"run","tenant":"t","taskId":%q,"generation":3,"execution":"x"}`, d.ref.Task)))
		if want := `{"word":"await","seconds":60,"pause":2}`; err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		end, _ := ctx.Deadline()
		if in != (dispatch.Input{Tenant: "t", Task: d.ref.Task, Generation: 3}) || name != "x" || !deadlineAt.Equal(end) {
			t.Errorf("the steps got %+v, %q, %s; the deadline is %s", in, name, deadlineAt, end)
		}
	})
	t.Run("await", func(t *testing.T) {
		d := paused(t)
		got, err := d.invoke(d.handler(lifecycle.Outcome{}, nil), "await", `,"pause":1,"token":"a","enteredAt":"2026-03-01T10:00:05.000Z","attempt":2`)
		if err != nil || !json.Valid([]byte(got)) {
			t.Fatalf("%s, %v", got, err)
		}
		kept, err := d.memory.Parked(t.Context(), d.ref, 1)
		want := ledger.Token{Value: "a", Generation: 1, EnteredAt: time.Date(2026, 3, 1, 10, 0, 5, 0, time.UTC), Attempt: 2}
		if err != nil || kept.Token != want {
			t.Errorf("kept %+v, %v; want %+v", kept.Token, err, want)
		}
	})
	t.Run("settle", func(t *testing.T) {
		d := paused(t)
		got, err := d.invoke(d.handler(lifecycle.Outcome{}, nil), "settle", `,"error":{"Error":"States.Timeout","Cause":"60 s"}`)
		if want := `{"word":"await","seconds":3600,"pause":1}`; err != nil || got != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	})
}

func TestOperationsThatFail(t *testing.T) {
	for name, c := range map[string]struct {
		payload string
		want    string
	}{
		"no JSON":         {`{"op":`, "cannot be read"},
		"another type":    {`{"op":1}`, "cannot be read"},
		"a bad instant":   {`{"op":"await","enteredAt":"yesterday"}`, "cannot be read"},
		"a bad number":    {`{"op":"run","generation":-1}`, "cannot be read"},
		"nothing":         {``, "cannot be read"},
		"no operation":    {`{}`, `unknown operation ""`},
		"another's":       {`{"op":"purge"}`, `unknown operation "purge"`},
		"the steps fail":  {`{"op":"run"}`, "oops"},
		"no task to wait": {`{"op":"await","taskId":"none","pause":1,"token":"a"}`, "not found"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			out, err := d.handler(lifecycle.Outcome{}, errOops).Handle(ctx, json.RawMessage(c.payload))
			if err == nil || !strings.Contains(err.Error(), c.want) || out != nil {
				t.Errorf("%s, %v; want an error with %q", out, err, c.want)
			}
			d.wantTold(nil)
		})
	}
	t.Run("no deadline", func(t *testing.T) {
		d := newDesk(t)
		_, err := d.handler(lifecycle.Outcome{}, nil).Handle(context.Background(), json.RawMessage(`{"op":"settle"}`))
		if err == nil || !strings.Contains(err.Error(), "without a deadline") {
			t.Errorf("error %v, want one about the deadline", err)
		}
	})
}

// After MaxTurns the next generation takes over: the old execution ends, and the
// new one goes on. Words that end or park an execution stay what they are, and one
// whose restart is refused goes on by itself.
func TestHandOver(t *testing.T) {
	const many = lifecycle.MaxTurns
	for name, c := range map[string]struct {
		bring   []lifecycle.Command
		turns   int
		word    lifecycle.Word
		want    string
		started []uint64
	}{
		"continue, a turn early": {nil, many - 1, lifecycle.WordContinue, "continue", nil},
		"continue":               {nil, many, lifecycle.WordContinue, "done", []uint64{2}},
		"wait":                   {[]lifecycle.Command{grant(execution), sleep()}, many, lifecycle.WordWait, "done", []uint64{2}},
		"leased":                 {[]lifecycle.Command{grant("e0")}, many, lifecycle.WordWait, "wait", nil},
		"await":                  {[]lifecycle.Command{grant(execution), pause(lifecycle.InputRequired)}, many, lifecycle.WordAwait, "await", nil},
		"paused meanwhile":       {[]lifecycle.Command{grant(execution), pause(lifecycle.InputRequired)}, many, lifecycle.WordContinue, "continue", nil},
		"done":                   {[]lifecycle.Command{lifecycle.RequestCancel{}}, many, lifecycle.WordDone, "done", nil},
		"failed":                 {[]lifecycle.Command{grant(execution), end(lifecycle.VerbFail)}, many, lifecycle.WordFailed, "failed", nil},
		"ended meanwhile":        {[]lifecycle.Command{lifecycle.RequestCancel{}}, many, lifecycle.WordContinue, "continue", nil},
		"superseded":             {[]lifecycle.Command{lifecycle.Restart{}}, many, lifecycle.WordContinue, "continue", nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.must(c.bring...)
			d.write(func(h *lifecycle.Head) { h.Turns = c.turns })
			got, err := d.invoke(d.handler(lifecycle.Outcome{Word: c.word}, nil), "run", "")
			if want := fmt.Sprintf(`{"word":%q}`, c.want); err != nil || got != want {
				t.Errorf("%s, %v; want %s", got, err, want)
			}
			d.wantTold(c.started)
		})
	}
	t.Run("canceled", func(t *testing.T) {
		d := newDesk(t)
		d.must(grant("dead"), lifecycle.RequestCancel{})
		d.clock.Advance(lease)
		d.write(func(h *lifecycle.Head) { h.Turns = many })
		got, err := d.invoke(d.handler(lifecycle.Outcome{Word: lifecycle.WordContinue}, nil), "run", "")
		if err != nil || got != `{"word":"continue"}` || !d.head().Terminal() {
			t.Errorf("%s, %v; want to go on, and to find that the task has ended", got, err)
		}
		d.wantTold(nil)
	})
	t.Run("nobody can be told", func(t *testing.T) {
		d := newDesk(t)
		d.write(func(h *lifecycle.Head) { h.Turns = many })
		d.executions.broken = errOops
		if _, err := d.invoke(d.handler(lifecycle.Outcome{Word: lifecycle.WordContinue}, nil), "run", ""); !errors.Is(err, errOops) {
			t.Errorf("error %v, want that of the executions", err)
		}
		if out, err := d.settle(1); err != nil || word(out) != "done" {
			t.Errorf("%+v, %v; want done: the sweep starts the next generation", out, err)
		}
	})
}
