package ledger_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The bounds of the optimistic loop, as the doc comments promise them.
const (
	rounds = 16
	tries  = 5
)

// A reply after the deadline is refused, and the refusal commits the expiry (I8).
// The reply is not remembered as accepted: repeated, it is refused again.
func TestRejectionWithEventsIsCommitted(t *testing.T) {
	bubble(t, nil, func(k *kit) {
		paused := k.paused()
		k.clock.Advance(time.Hour)
		receipt := &ledger.Receipt{Producer: "client", EventID: "m-1"}
		res, err := k.faulty.Do(k.ctx, paused, lifecycle.Reply{Message: says("yes")}, source("client"), ledger.Extra{Receipt: receipt})
		k.rejected(err, lifecycle.PauseExpired)
		k.equal("the state", k.load().State, lifecycle.Failed)
		k.equal("the pause that was closed", res.Answered, 1)
		k.equal("the entries that were written", len(res.Entries), 1)
		parked, err := k.memory.Parked(k.ctx, k.ref, 1)
		k.must(err)
		k.equal("answered", parked.Answered, true)
		if _, err := k.memory.Receipt(k.ctx, k.ref, "client", "m-1"); !errors.Is(err, ledger.ErrNotFound) {
			k.Fatalf("the refused reply has a receipt (error %v)", err)
		}
	})
}

func TestRejectionWithoutEventsWritesNothing(t *testing.T) {
	bubble(t, nil, func(k *kit) {
		k.working()
		_, err := k.do(k.faulty, lifecycle.Reply{Message: says("unasked")}) // case 5
		k.rejected(err, lifecycle.IllegalTransition)
		k.equal("calls", k.crash.Calls(), 0)
	})
}

// Overtaken by somebody else, a command is decided again on what is there now.
func TestOvertakenDecidesAgain(t *testing.T) {
	bubble(t, nil, func(k *kit) {
		seen := k.paused()
		_, err := k.do(k.sound, lifecycle.Reply{Message: says("first")})
		k.must(err)
		_, err = k.faulty.Do(k.ctx, seen, lifecycle.Reply{Message: says("second")}, source("client"), ledger.Extra{})
		k.rejected(err, lifecycle.IllegalTransition) // case 62
		k.equal("commits", k.calls("Commit"), 1)
		k.equal("reads: the conflict carries the head", k.calls("Head"), 0)
	})
}

// Decided again, chunks follow what is there now (I6).
func TestOvertakenPlacesChunksAgain(t *testing.T) {
	bubble(t, nil, func(k *kit) {
		k.working()
		chunk := func(text string, appending bool) lifecycle.Update {
			return lifecycle.Update{Append: appending, Chunk: &lifecycle.Chunk{
				Artifact: "text", Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text)),
			}}
		}
		first := report(k.load(), lifecycle.VerbSubStep)
		first.Updates = []lifecycle.Update{chunk("one", false)}
		_, err := k.do(k.sound, first)
		k.must(err)
		seen := k.load()
		next := first
		next.Updates = []lifecycle.Update{chunk("two", true)}
		_, err = k.do(k.sound, next)
		k.must(err)
		next.Updates = []lifecycle.Update{chunk("three", true)}
		res, err := k.faulty.Do(k.ctx, seen, next, source("runner"), ledger.Extra{})
		k.must(err)
		k.equal("the chunks", res.Task.Arts["text"].Chunks, 3)
		k.equal("the chunks in the ledger", k.load().Arts["text"].Chunks, 3)
	})
}

func TestConflictOnceIsOvercome(t *testing.T) {
	bubble(t, ledgertest.On("Commit", ledgertest.Conflicted, 1, 2, 3), func(k *kit) {
		held := k.working()
		res, err := k.do(k.faulty, report(held, lifecycle.VerbSubStep))
		k.must(err)
		k.equal("commits", k.calls("Commit"), 4)
		k.equal("entries", len(res.Entries), 2)
	})
}

// The loop is bounded.
func TestBusy(t *testing.T) {
	bubble(t, ledgertest.Always("Commit", ledgertest.Conflicted), func(k *kit) {
		held := k.working()
		_, err := k.do(k.faulty, report(held, lifecycle.VerbComplete))
		if !errors.Is(err, ledger.ErrBusy) {
			k.Fatalf("error %v, want ErrBusy", err)
		}
		k.equal("commits", k.calls("Commit"), rounds)
		k.equal("the state", k.load().State, lifecycle.Working)
	})
}

// A ledger that cannot be reached is tried again, with growing pauses, and given
// up after the fifth time.
func TestUnavailable(t *testing.T) {
	for name, c := range map[string]struct {
		plan   ledgertest.Plan
		want   error
		called int
	}{
		"for good":        {ledgertest.Always("Commit", ledgertest.FailBefore), ledger.ErrUnavailable, tries},
		"four times":      {ledgertest.On("Commit", ledgertest.FailBefore, 1, 2, 3, 4), nil, tries},
		"once":            {ledgertest.On("Commit", ledgertest.FailBefore, 1), nil, 2},
		"and it happened": {ledgertest.Always("Commit", ledgertest.FailAfter), ledger.ErrUnavailable, tries},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, c.plan, func(k *kit) {
				held := k.working()
				began := time.Now()
				_, err := k.do(k.faulty, report(held, lifecycle.VerbSubStep))
				if !errors.Is(err, c.want) {
					k.Fatalf("error %v, want %v", err, c.want)
				}
				k.equal("commits", k.calls("Commit"), c.called)
				k.equal("the pauses", time.Since(began), 10*time.Millisecond*(1<<(c.called-1)-1))
			})
		})
	}
}

// The end of the context ends the pauses between tries, and the loop.
func TestContextEnds(t *testing.T) {
	bubble(t, ledgertest.Always("Commit", ledgertest.FailBefore), func(k *kit) {
		held := k.working()
		ctx, stop := context.WithTimeout(k.ctx, 15*time.Millisecond)
		defer stop()
		began := time.Now()
		_, err := k.faulty.Do(ctx, held, report(held, lifecycle.VerbSubStep), source("runner"), ledger.Extra{})
		if !errors.Is(err, context.DeadlineExceeded) {
			k.Fatalf("error %v, want the context's", err)
		}
		k.equal("until the answer", time.Since(began), 15*time.Millisecond)
		_, err = k.faulty.Do(ctx, held, report(held, lifecycle.VerbSubStep), source("runner"), ledger.Extra{})
		if !errors.Is(err, context.DeadlineExceeded) {
			k.Fatalf("error %v under an ended context", err)
		}
	})
}

// A receipt is found under the sequence of its first entry.
func TestReceiptCarriesFirstSequence(t *testing.T) {
	bubble(t, ledgertest.On("Commit", ledgertest.Conflicted, 1), func(k *kit) {
		held := k.working()
		receipt := &ledger.Receipt{Producer: "producer", EventID: "e-1", Digest: "digest"}
		res, err := k.faulty.Do(k.ctx, held, report(held, lifecycle.VerbSubStep), source("producer"), ledger.Extra{Receipt: receipt})
		k.must(err)
		k.equal("entries", len(res.Entries), 2)
		got, err := k.memory.Receipt(k.ctx, k.ref, "producer", "e-1")
		k.must(err)
		k.equal("the receipt", got, ledger.Receipt{Producer: "producer", EventID: "e-1", Digest: "digest", Seq: held.Seq + 1})
		k.equal("the caller's receipt", receipt.Seq, uint64(0))
	})
}

// A cancellation that was decided while the lease was held, and comes after the
// holder gave it back, must not wait for a holder that is gone (I8).
func TestMarkAfterLeaseWasGivenBack(t *testing.T) {
	for _, verb := range []lifecycle.Verb{lifecycle.VerbPause, lifecycle.VerbContinue, lifecycle.VerbSleep, lifecycle.VerbWait} {
		t.Run(string(verb), func(t *testing.T) {
			bubble(t, nil, func(k *kit) {
				held := k.working()
				r := report(held, verb)
				r.Until = k.clock.Now().Add(time.Minute)
				_, err := k.do(k.sound, r)
				k.must(err)
				res, err := k.faulty.Do(k.ctx, held, lifecycle.RequestCancel{}, source("client"), ledger.Extra{})
				k.must(err)
				k.equal("marked", res.Marked, false)
				k.equal("the state", k.load().State, lifecycle.Canceled)
			})
		})
	}
}

// Faults of every kind on every write, by seed: whatever happens, a task has one
// history, and a command that was answered as done is in it once.
func TestSeededFaults(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			memory, clock := ledgertest.NewMemory(), ledgertest.NewClock()
			faults := &ledgertest.Faults{Plan: ledgertest.Seeded(seed, 40, ledgertest.FailBefore, ledgertest.FailAfter, ledgertest.Conflicted, ledgertest.Retried, ledgertest.Doubled)}
			a := &ledger.Authority{Ledger: faults.Ledger(memory), Now: clock.Now, NewID: a2a.NewMessageID}
			k := &kit{T: t, ctx: t.Context(), memory: memory, clock: clock, faulty: a, sound: &ledger.Authority{Ledger: memory, Now: clock.Now, NewID: a2a.NewMessageID}}
			k.ref = lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
			if _, err := a.Create(k.ctx, k.ref, submission(), source("client"), &ledger.Key{Tenant: "tenant", Hash: "hash"}); err != nil {
				return // given up after five tries
			}
			for range 10 {
				before := k.load()
				var res ledger.Result
				var err error
				if before.Holder == "" {
					res, err = a.Do(k.ctx, before, grant(1), source("runner"), ledger.Extra{})
				} else {
					res, err = a.Do(k.ctx, before, report(before, lifecycle.VerbSubStep), source("runner"), ledger.Extra{})
				}
				after := k.load()
				if err == nil && after.Seq != before.Seq+uint64(len(res.Entries)) {
					t.Fatalf("seed %d: answered %d entries, the ledger went from %d to %d", seed, len(res.Entries), before.Seq, after.Seq)
				}
				if err == nil && after.Fence != res.Task.Fence {
					t.Fatalf("seed %d: answered fence %d, the ledger is at %d", seed, res.Task.Fence, after.Fence)
				}
				k.verify()
			}
		})
	}
}
