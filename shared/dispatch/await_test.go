package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A later attempt overwrites the token, an earlier one never does: generation
// first, then the entry into the waiting state, then the attempt. Whose token is
// not kept resumes itself and looks at the task again.
func TestTokensAreOrdered(t *testing.T) {
	at := func(second int) time.Time { return time.Date(2026, 3, 1, 12, 0, second, 0, time.UTC) }
	order := []ledger.Token{
		{Value: "first", Generation: 1, EnteredAt: at(5), Attempt: 0},
		{Value: "retry", Generation: 1, EnteredAt: at(5), Attempt: 1},
		{Value: "entered again", Generation: 1, EnteredAt: at(6), Attempt: 0},
		{Value: "next generation", Generation: 2, EnteredAt: at(1), Attempt: 0},
	}
	for i, early := range order {
		for _, late := range order[i+1:] {
			t.Run(fmt.Sprintf("%s, %s", early.Value, late.Value), func(t *testing.T) {
				for name, c := range map[string]struct {
					tokens  []ledger.Token
					resumed []string
				}{
					"in order":     {[]ledger.Token{early, late}, nil},
					"out of order": {[]ledger.Token{late, early}, []string{early.Value}},
					"again":        {[]ledger.Token{late, late}, nil},
				} {
					d := paused(t)
					for _, tok := range c.tokens {
						d.executions.waits(tok.Value)
						d.await(tok)
					}
					kept, err := d.memory.Parked(t.Context(), d.ref, 1)
					if err != nil || kept.Token.Value != late.Value {
						t.Errorf("%s: kept is %q, %v; want %q", name, kept.Token.Value, err, late.Value)
					}
					d.wantTold(nil, c.resumed...)
				}
			})
		}
	}
}

func TestAwaitWithTrouble(t *testing.T) {
	d := paused(t)
	d.faults.Plan = ledgertest.Always("Park", ledgertest.FailBefore)
	if err := d.dispatcher.Await(t.Context(), d.ref, 1, token("a")); !errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("error %v, want that of the ledger: the state tries again", err)
	}
	d.faults.Plan = nil
	if err := d.answer(reply()); err != nil {
		t.Fatal(err)
	}
	d.executions.broken = errOops
	if err := d.dispatcher.Await(t.Context(), d.ref, 1, token("a")); !errors.Is(err, errOops) {
		t.Errorf("error %v, want that of the executions: the state tries again", err)
	}
	// A state that has timed out meanwhile goes on by itself.
	d.executions.broken = nil
	d.executions.tokens["b"] = false
	if err := d.dispatcher.Await(t.Context(), d.ref, 1, ledger.Token{Value: "b", Generation: 1, Attempt: 1}); err != nil {
		t.Errorf("error %v, want none: the state timed out", err)
	}
}

// The orders in which an answer and a token can meet.
const (
	answerFirst = "answer, token"
	between     = "answer committed, token stored, execution told"
	tokenFirst  = "token, answer"
)

// meeting is one round: it observes what each side saw of the other.
type meeting struct {
	ledger.Ledger
	marked    atomic.Bool // Park saw the answer's mark
	tokenSeen atomic.Bool // the answer's read saw the token
}

// Park implements ledger.Tokens.
func (m *meeting) Park(ctx context.Context, ref lifecycle.Ref, pause int, t ledger.Token) (ledger.Parked, error) {
	p, err := m.Ledger.Park(ctx, ref, pause, t)
	m.marked.Store(p.Answered)
	return p, err
}

// Parked implements ledger.Tokens.
func (m *meeting) Parked(ctx context.Context, ref lifecycle.Ref, pause int) (ledger.Parked, error) {
	p, err := m.Ledger.Parked(ctx, ref, pause)
	m.tokenSeen.Store(p.Token.Value != "")
	return p, err
}

func (m *meeting) order() string {
	switch {
	case m.marked.Load() && m.tokenSeen.Load():
		return between
	case m.marked.Load():
		return answerFirst
	}
	return tokenFirst
}

// Case 30: the answer cannot be lost. Whether it comes before the token is stored,
// after, or while it is: the execution is resumed, once. Some rounds give one side
// the lead, for scheduling alone may favour one order for ever; the others race.
func TestAnswerMeetsToken(t *testing.T) {
	const rounds = 400
	seen, raced := map[string]int{}, map[string]int{}
	for round := range rounds {
		d := paused(t)
		m := &meeting{Ledger: d.memory}
		d.dispatcher.Authority.Ledger = m
		d.executions.waits("a")
		var answered ledger.Result
		commit := func() (err error) {
			answered, err = d.do(reply())
			return err
		}
		tell := func() error {
			return d.dispatcher.Answered(context.Background(), answered.Task.Head, answered.Answered)
		}
		await := func() error { return d.dispatcher.Await(context.Background(), d.ref, 1, token("a")) }
		race := round%8 >= 3
		var errs []error
		switch round % 8 {
		case 0:
			errs = append(errs, commit(), tell(), await())
		case 1:
			errs = append(errs, commit(), await(), tell())
		case 2:
			errs = append(errs, await(), commit(), tell())
		default:
			errs = together(func() error { return errors.Join(commit(), tell()) }, await, round%2 == 0)
		}
		if err := errors.Join(errs...); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		seen[m.order()]++
		if race {
			raced[m.order()]++
		}
		d.wantTold(nil, "a")
		if h := d.head(); h.State != lifecycle.Working || h.Pause != nil {
			t.Fatalf("round %d: the task is in %s", round, h.State)
		}
		if t.Failed() {
			t.Fatalf("round %d: %s", round, m.order())
		}
	}
	t.Logf("%d rounds: %v; of them raced: %v", rounds, seen, raced)
	for _, order := range []string{answerFirst, between, tokenFirst} {
		if seen[order]*10 < rounds {
			t.Errorf("%q was seen in %d of %d rounds, want at least 10 %%", order, seen[order], rounds)
		}
	}
}

// together runs two at once and returns what they returned.
func together(a, b func() error, swapped bool) []error {
	errs := make([]error, 2)
	runs := []func() error{a, b}
	var ready, done sync.WaitGroup
	ready.Add(2)
	for i := range runs {
		if swapped {
			i = 1 - i
		}
		done.Go(func() {
			ready.Done()
			ready.Wait()
			errs[i] = runs[i]()
		})
	}
	done.Wait()
	return errs
}
