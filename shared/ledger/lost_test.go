package ledger_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// twiceOrLost are the ways in which an answer can fail to arrive.
var twiceOrLost = map[string]ledgertest.Fault{
	"lost": ledgertest.FailAfter, "repeated by the transport": ledgertest.Retried, "arrived twice": ledgertest.Doubled,
}

// A commit whose answer was lost is found again by the operation on its entry.
func TestLostCommit(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.On("Commit", fault, 1), func(k *kit) {
				held := k.working()
				res, err := k.do(k.faulty, report(held, lifecycle.VerbSubStep))
				k.must(err)
				k.equal("entries answered", len(res.Entries), 2)
				k.equal("entries written", len(k.entries()), int(held.Seq)+2)
				k.equal("the sequence answered", res.Task.Seq, held.Seq+2)
				k.equal("entries read back: none are needed", k.calls("Entries"), 0)
			})
		})
	}
}

// A commit without entries is found again by the operation on the head.
func TestLostGrant(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.On("Commit", fault, 1), func(k *kit) {
				held := k.working()
				res, err := k.do(k.faulty, grant(1))
				k.must(err)
				k.equal("the fence answered", res.Task.Fence, held.Fence+1)
				k.equal("the fence", k.load().Fence, held.Fence+1)
			})
		})
	}
}

// between runs a command after the faulty process's first commit took place and
// before it learns of it.
func between(k *kit, cmd lifecycle.Command) (wait func()) {
	done := make(chan error, 1)
	seen := k.load()
	go func() {
		err := k.memory.Watch(k.ctx, k.ref, seen.Seq)
		if err == nil {
			_, err = k.do(k.sound, cmd)
		}
		done <- err
	}()
	return func() { k.must(<-done) }
}

// Somebody else's commit came after the lost one: the operation is still on the
// entry after what the caller saw (case 14).
func TestLostCommitThenAnother(t *testing.T) {
	bubble(t, ledgertest.On("Commit", ledgertest.FailAfter, 1), func(k *kit) {
		held := k.working()
		wait := between(k, report(held, lifecycle.VerbComplete))
		res, err := k.do(k.faulty, report(held, lifecycle.VerbSubStep))
		wait()
		k.must(err)
		k.equal("entries answered", len(res.Entries), 2)
		k.equal("the task as far as this command is concerned", res.Task.State, lifecycle.Working)
		k.equal("the state", k.load().State, lifecycle.Completed)
	})
}

// Two invocations of one execution: the one whose answer was lost must not take
// the other one's fence for its own (I3, case 17).
func TestLostGrantThenAnother(t *testing.T) {
	bubble(t, ledgertest.On("Commit", ledgertest.FailAfter, 1), func(k *kit) {
		_, err := k.sound.Create(k.ctx, k.ref, submission(), source("client"), nil)
		k.must(err)
		wait := between(k, grant(1))
		lost, err := k.do(k.faulty, grant(1))
		wait()
		k.must(err)
		k.equal("the fence answered", lost.Task.Fence, uint64(1))
		k.equal("the fence", k.load().Fence, uint64(2))
		_, err = k.do(k.sound, report(lost.Task, lifecycle.VerbComplete))
		k.rejected(err, lifecycle.FenceLost)
	})
}

// A grant without entry is overwritten on the head by the next one: not found
// again, it is decided again, and the fence rises once more (I3).
func TestLostRegrantThenAnother(t *testing.T) {
	bubble(t, ledgertest.On("Commit", ledgertest.FailAfter, 1), func(k *kit) {
		held := k.working()
		first := make(chan struct{})
		go func() {
			defer close(first)
			timer := time.NewTimer(time.Millisecond) // the caller pauses for ten
			<-timer.C
			if _, err := k.do(k.sound, grant(1)); err != nil {
				k.Error(err)
			}
		}()
		res, err := k.do(k.faulty, grant(1))
		<-first
		k.must(err)
		k.equal("the fence answered", res.Task.Fence, held.Fence+3)
		k.equal("the fence", k.load().Fence, held.Fence+3)
	})
}

// A creation whose answer was lost is found again, with and without a key (I5,
// case 1).
func TestLostCreation(t *testing.T) {
	for name, fault := range twiceOrLost {
		for keyed, key := range map[string]*ledger.Key{"with a key": {Tenant: "tenant", Hash: "hash"}, "without": nil} {
			t.Run(name+", "+keyed, func(t *testing.T) {
				bubble(t, ledgertest.On("Create", fault, 1), func(k *kit) {
					res, err := k.faulty.Create(k.ctx, k.ref, submission(), source("client"), key)
					k.must(err)
					k.equal("the task", res.Task.Task, k.ref.Task)
					k.equal("entries", len(k.entries()), 1)
				})
			})
		}
	}
}

// The key belongs to somebody else's task, also when the answer was lost.
func TestLostCreationOfTakenKey(t *testing.T) {
	bubble(t, ledgertest.On("Create", ledgertest.FailAfter, 1), func(k *kit) {
		key := &ledger.Key{Tenant: "tenant", Hash: "hash"}
		_, err := k.sound.Create(k.ctx, k.ref, submission(), source("client"), key)
		k.must(err)
		_, err = k.faulty.Create(k.ctx, lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}, submission(), source("client"), key)
		taken, is := errors.AsType[*ledger.KeyTaken](err)
		if !is || taken.Note.Task != k.ref.Task {
			k.Fatalf("error %v, want KeyTaken by %s", err, k.ref.Task)
		}
	})
}

func TestLostMark(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.On("MarkCancel", fault, 1), func(k *kit) {
				held := k.working()
				res, err := k.do(k.faulty, lifecycle.RequestCancel{Principal: "principal"})
				k.must(err)
				k.equal("marked", res.Marked, true)
				_, err = k.do(k.sound, report(held, lifecycle.VerbSubStep))
				k.must(err)
				k.equal("the state", k.load().State, lifecycle.Canceled)
			})
		})
	}
}

// What an operator says of an effect survives a lost answer as well, and is said of the record that was seen.
func TestLostDoubt(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.Plans(ledgertest.On("Settle", fault, 1)), func(k *kit) {
				held := k.working()
				until := k.clock.Now().Add(lease)
				_, err := k.faulty.BeginEffect(k.ctx, k.ref, lifecycle.EffectRequest{
					Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, RequestDigest: "digest", Holder: held.Holder, Fence: held.Fence, CallUntil: until,
				})
				k.must(err)
				settle := func(seen uint64, state lifecycle.EffectState, why string) error {
					return k.faulty.SettleDoubt(k.ctx, k.ref, 1, "pay", seen, state, nil, why)
				}
				if err := settle(1, lifecycle.EffectFailed, "asked"); !lifecycle.RejectedFor(err, lifecycle.NotDue) {
					t.Fatalf("while it may be called: %v", err)
				}
				k.clock.Advance(lease + lifecycle.ClockMargin)
				k.must(settle(1, lifecycle.EffectFailed, "asked"))
				e, err := k.memory.Effect(k.ctx, k.ref, 1, "pay")
				k.must(err)
				k.equal("the state", e.State, lifecycle.EffectFailed)
				k.equal("the revision", e.Revision, uint64(2))
				k.equal("the evidence", e.Evidence, "asked")
				if err := settle(1, lifecycle.EffectFailed, "asked by another"); !errors.Is(err, ledger.ErrEffectChanged) {
					t.Fatalf("of a record that has changed: %v", err)
				}
				if err := settle(2, lifecycle.EffectDone, "asked"); !lifecycle.RejectedFor(err, lifecycle.IllegalTransition) {
					t.Fatalf("of an effect that is not in doubt: %v", err)
				}
			})
		})
	}
}

// An effect's intent and result survive lost answers: one intent, one call, one
// result (I7, cases 21 and 22).
func TestLostEffect(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			plan := ledgertest.Plans(ledgertest.On("Intend", fault, 1), ledgertest.On("Settle", fault, 1))
			bubble(t, plan, func(k *kit) {
				held := k.working()
				req := lifecycle.EffectRequest{
					Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, RequestDigest: "digest",
					Holder: held.Holder, Fence: held.Fence, CallUntil: k.clock.Now().Add(lease),
				}
				d, err := k.faulty.BeginEffect(k.ctx, k.ref, req)
				k.must(err)
				k.equal("what to do", d.Act, lifecycle.ActCall)
				k.must(k.faulty.SettleCall(k.ctx, k.ref, 1, "pay", 1, lifecycle.EffectDone, json.RawMessage(`"ok"`), "its own call"))
				e, err := k.memory.Effect(k.ctx, k.ref, 1, "pay")
				k.must(err)
				k.equal("the state", e.State, lifecycle.EffectDone)
				k.equal("the calls", e.Calls, 1)
				again, err := k.faulty.BeginEffect(k.ctx, k.ref, req)
				k.must(err)
				k.equal("what to do again", again.Act, lifecycle.ActReturn)
			})
		})
	}
}
