package ledgertest

import (
	"context"
	"fmt"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Faults is one process's view of its ports, which misbehave by plan. The zero
// value changes nothing. The ledger below stays whole: another process reaches
// it through Faults of its own. Safe for concurrent use; set the fields before
// the first call.
//
//	process := &ledgertest.Faults{Plan: ledgertest.On("Commit", ledgertest.FailAfter, 3)}
//	l := process.Ledger(ledgertest.NewMemory())
type Faults struct {
	// Plan decides what happens to each call; nil lets all through.
	Plan Plan
	// Turn, where there is one, decides in its place, before the call is numbered. It
	// may wait: who gives one call its turn after the other decides in which order they
	// are made.
	Turn func(ctx context.Context, c Call) Fault
	// Later does what the faults Late and Echoed put off, whatever becomes of the
	// process meanwhile. nil: it is never done.
	Later func(c Call, do func())
	// Delay is what the fault Delayed does; its error is the call's.
	Delay func(ctx context.Context, c Call) error
	// Crash counts the calls and lets the process die; nil for a count of its own
	// that nobody sees.
	Crash *Crash

	mu     sync.Mutex
	counts map[string]int
	last   map[string]any // last answers of the index, by question
}

// Ledger is l with faults.
func (f *Faults) Ledger(l ledger.Ledger) ledger.Ledger { return &faultyLedger{faults: f, inner: l} }

// Blobs is b with faults.
func (f *Faults) Blobs(b ledger.Blobs) ledger.Blobs { return &faultyBlobs{faults: f, inner: b} }

// begin gives a call its turn, numbers it and asks the plan.
func (f *Faults) begin(ctx context.Context, c Call) (Call, Fault, error) {
	fault := None
	if f.Turn != nil {
		fault = f.Turn(ctx, c)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.Crash == nil {
		f.Crash = &Crash{}
	}
	var err error
	if c.Total, err = f.Crash.begin(c.Method); err != nil {
		return c, None, err
	}
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	f.counts[c.Method]++
	c.Number = f.counts[c.Method]
	if f.Turn == nil && f.Plan != nil {
		fault = f.Plan(c)
	}
	return c, fault, nil
}

// action is a call with what takes its place under certain faults.
type action[T any] struct {
	call    Call
	do      func(ctx context.Context) (T, error)
	instead map[Fault]func(ctx context.Context) (T, error)
}

// later puts an action off. Its answer reaches nobody.
func later[T any](ctx context.Context, f *Faults, c Call, a action[T]) {
	if f.Later != nil {
		f.Later(c, func() { _, _ = a.do(context.WithoutCancel(ctx)) })
	}
}

// pass makes a call through the faults.
func pass[T any](ctx context.Context, f *Faults, a action[T]) (answer T, err error) {
	var none T
	call, fault, err := f.begin(ctx, a.call)
	if err != nil {
		return none, err
	}
	switch instead := a.instead[fault]; {
	case instead != nil:
		answer, err = instead(ctx)
	case fault == FailBefore:
		err = fmt.Errorf("%s %d, before: %w", call.Method, call.Number, ledger.ErrUnavailable)
	case fault == FailAfter:
		_, err = a.do(ctx)
		err = lost(call, err)
	case fault == Retried:
		if _, err = a.do(ctx); ctx.Err() == nil {
			answer, err = a.do(ctx)
		}
	case fault == Doubled:
		answer, err = a.do(ctx)
		_, _ = a.do(ctx) // nobody is there for this answer
	case fault == Late:
		later(ctx, f, call, a)
		err = lost(call, nil)
	case fault == Echoed:
		answer, err = a.do(ctx)
		later(ctx, f, call, a)
	case fault == Last:
		_, _ = a.do(ctx)
		f.Crash.Kill()
	case fault == Delayed && f.Delay != nil:
		if err = f.Delay(ctx, call); err == nil {
			answer, err = a.do(ctx)
		}
	default:
		answer, err = a.do(ctx)
	}
	if crashed := f.Crash.end(); crashed != nil {
		return none, crashed
	}
	return answer, err
}

// lost is the error of a call whose answer, good or bad, did not arrive.
func lost(call Call, answer error) error {
	if answer != nil {
		return fmt.Errorf("%s %d, after (%v): %w", call.Method, call.Number, answer, ledger.ErrUnavailable) //nolint:errorlint // the answer is lost
	}
	return fmt.Errorf("%s %d, after: %w", call.Method, call.Number, ledger.ErrUnavailable)
}

// write is pass for calls that answer with an error alone.
func write(ctx context.Context, f *Faults, c Call, do func(ctx context.Context) error, conflict func(ctx context.Context) error) error {
	a := action[struct{}]{call: c, do: func(ctx context.Context) (struct{}, error) { return struct{}{}, do(ctx) }}
	if conflict != nil {
		a.instead = map[Fault]func(context.Context) (struct{}, error){
			Conflicted: func(ctx context.Context) (struct{}, error) { return struct{}{}, conflict(ctx) },
		}
	}
	_, err := pass(ctx, f, a)
	return err
}

// read is pass for calls that only answer.
func read[T any](ctx context.Context, f *Faults, c Call, do func(ctx context.Context) (T, error)) (T, error) {
	return pass(ctx, f, action[T]{call: c, do: do})
}

// ask is read for the index, which may be stale.
func ask[T any](ctx context.Context, f *Faults, c Call, question any, do func(ctx context.Context) (T, error)) (T, error) {
	key := fmt.Sprintf("%s %+v", c.Method, question)
	remember := func(ctx context.Context) (T, error) {
		answer, err := do(ctx)
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.last == nil {
			f.last = map[string]any{}
		}
		if err == nil {
			f.last[key] = answer
		}
		return answer, err
	}
	recall := func(context.Context) (T, error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		answer, _ := f.last[key].(T)
		return answer, nil
	}
	return pass(ctx, f, action[T]{call: c, do: remember, instead: map[Fault]func(context.Context) (T, error){Stale: recall}})
}
