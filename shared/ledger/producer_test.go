package ledger_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const worker = "worker"

// take brings an event of the worker through a process.
func (k *kit) take(a *ledger.Authority, cmd lifecycle.Command, event string, seq uint64) (ledger.Taken, error) {
	payload := json.RawMessage(`"` + event + `"`)
	src := lifecycle.Source{Producer: worker, EventID: event, Seq: seq, Holder: worker}
	return a.Take(k.ctx, k.ref, cmd, src, ledger.Sent{Payload: payload, Digest: lifecycle.DigestBytes(payload)})
}

func claim() lifecycle.Grant {
	return lifecycle.Grant{Holder: worker, Generation: 1, Lease: lease, Grace: grace}
}

func told(fence uint64, verb lifecycle.Verb) lifecycle.Report {
	r := lifecycle.Report{Holder: worker, Fence: fence, Verb: verb}
	if verb == lifecycle.VerbProgress {
		r.Updates = []lifecycle.Update{{Message: says("on it")}}
	}
	return r
}

// claimed is the kit's task, claimed by the worker without faults.
func (k *kit) claimed() {
	k.Helper()
	_, err := k.sound.Create(k.ctx, k.ref, submission(), source("client"), nil)
	k.must(err)
	_, err = k.take(k.sound, claim(), "claim", 0)
	k.must(err)
}

func (k *kit) counted(want ledger.Counts) {
	k.Helper()
	got, err := k.memory.Counts(k.ctx, k.ref)
	k.must(err)
	k.equal("the counts", got, want)
}

// A report or a claim whose answer was lost is one's own success, not a repeated
// event.
func TestLostTake(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.On("Commit", fault, 1, 2, 3), func(k *kit) {
				k.claimed()
				taken, err := k.take(k.faulty, claim(), "claim 2", 0) // writes no entry
				k.must(err)
				k.equal("the fence", taken.Receipt.Fence, uint64(2))
				taken, err = k.take(k.faulty, told(2, lifecycle.VerbProgress), "one", 1)
				k.must(err)
				k.equal("repeated", taken.Repeated, false)
				k.equal("its sequence", taken.Receipt.Seq, uint64(3))
				k.equal("the entries", len(k.entries()), 3)
				k.counted(ledger.Counts{})
			})
		})
	}
}

// A claim whose answer was lost and that somebody else came after is found by its
// receipt, with its own fence (I3).
func TestLostClaimThenAnother(t *testing.T) {
	bubble(t, ledgertest.On("Commit", ledgertest.FailAfter, 1), func(k *kit) {
		_, err := k.sound.Create(k.ctx, k.ref, submission(), source("client"), nil)
		k.must(err)
		done := make(chan error, 1)
		go func() {
			err := k.memory.Watch(k.ctx, k.ref, 1)
			if err == nil {
				_, err = k.take(k.sound, claim(), "another", 0)
			}
			done <- err
		}()
		taken, err := k.take(k.faulty, claim(), "claim", 0)
		k.must(<-done)
		k.must(err)
		k.equal("the fence answered", taken.Receipt.Fence, uint64(1))
		k.equal("the fence", k.load().Fence, uint64(2))
		k.counted(ledger.Counts{})
	})
}

// So it is when neither wrote an entry.
func TestLostReclaimThenAnother(t *testing.T) {
	bubble(t, ledgertest.On("Commit", ledgertest.FailAfter, 1), func(k *kit) {
		k.claimed()
		first := make(chan error, 1)
		go func() {
			timer := time.NewTimer(time.Millisecond) // the caller pauses for ten
			<-timer.C
			_, err := k.take(k.sound, claim(), "another", 0)
			first <- err
		}()
		taken, err := k.take(k.faulty, claim(), "claim 2", 0)
		k.must(<-first)
		k.must(err)
		k.equal("the fence answered", taken.Receipt.Fence, uint64(2))
		k.equal("repeated", taken.Repeated, false)
		k.equal("the fence", k.load().Fence, uint64(3))
		k.counted(ledger.Counts{})
	})
}

// A refusal whose answer was lost is counted, remembered and quarantined once.
func TestLostRefusal(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.On("Refuse", fault, 1), func(k *kit) {
				k.claimed()
				_, err := k.do(k.sound, lifecycle.RequestCancel{Principal: "principal"})
				k.must(err)
				_, err = k.take(k.sound, told(1, lifecycle.VerbCancel), "canceled", 1)
				k.must(err)
				_, err = k.take(k.faulty, told(1, lifecycle.VerbProgress), "late", 2)
				k.rejected(err, lifecycle.PostTerminal)
				k.counted(ledger.Counts{Rejections: 1, Quarantined: 1})
				_, err = k.take(k.faulty, told(1, lifecycle.VerbProgress), "late", 2)
				k.rejected(err, lifecycle.PostTerminal)
				k.counted(ledger.Counts{Rejections: 1, Quarantined: 1, Hits: 1})
			})
		})
	}
}

// A chunk that stands there comes again and its answer is lost: the count moves on once,
// and it is one hit.
func TestLostRepeat(t *testing.T) {
	for name, fault := range twiceOrLost {
		t.Run(name, func(t *testing.T) {
			bubble(t, ledgertest.On("Commit", fault, 1, 2, 3), func(k *kit) {
				k.claimed()
				first, err := k.take(k.sound, named("text"), "one", 1)
				k.must(err)
				again, err := k.take(k.faulty, named("text"), "again", 2)
				k.must(err)
				k.equal("its sequence", again.Receipt.Seq, first.Receipt.Seq)
				mark, err := k.memory.Producer(k.ctx, k.ref, worker)
				k.must(err)
				k.equal("the mark", mark, ledger.ProducerMark{Producer: worker, Seq: 2, EventID: "again"})
				k.equal("the entries", len(k.entries()), 3)
				k.counted(ledger.Counts{Hits: 1})
				if _, err = k.take(k.faulty, named("other"), "other", 3); !lifecycle.RejectedFor(err, lifecycle.ConflictingContent) {
					t.Errorf("other bytes: %v", err)
				}
			})
		})
	}
}

// named is a report of the first chunk of an artifact, which says so.
func named(text string) lifecycle.Report {
	r := told(1, lifecycle.VerbProgress)
	r.Updates = []lifecycle.Update{{Named: true, Chunk: &lifecycle.Chunk{
		Artifact: "draft", Revision: 1, Number: 1, Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text)),
	}}}
	return r
}

// What stands at a coordinate cannot be read: nothing is decided on a guess.
func TestThereUnavailable(t *testing.T) {
	for _, method := range []string{"Chunk", "Entries", "Artifacts"} {
		t.Run(method, func(t *testing.T) {
			bubble(t, ledgertest.Always(method, ledgertest.FailBefore), func(k *kit) {
				k.claimed()
				_, err := k.take(k.sound, named("text"), "one", 1)
				k.must(err)
				for _, text := range []string{"text", "other"} {
					if _, err := k.take(k.faulty, named(text), "again", 2); err == nil || lifecycle.RejectedFor(err, lifecycle.ConflictingContent) {
						t.Errorf("%s was answered: %v", text, err)
					}
				}
				k.counted(ledger.Counts{})
			})
		})
	}
}

// A ledger that is not there leaves an event open: it is sent again.
func TestTakeUnavailable(t *testing.T) {
	for _, method := range []string{"Receipt", "Head", "Producer", "Commit"} {
		t.Run(method, func(t *testing.T) {
			bubble(t, ledgertest.Always(method, ledgertest.FailBefore), func(k *kit) {
				k.claimed()
				if _, err := k.take(k.faulty, told(1, lifecycle.VerbProgress), "one", 1); err == nil {
					t.Fatal("it was taken by a ledger that is not there")
				}
				taken, err := k.take(k.sound, told(1, lifecycle.VerbProgress), "one", 1)
				k.must(err)
				k.equal("repeated", taken.Repeated, false)
			})
		})
	}
}

// What time has ended is committed with the refusal, by the authority and not in
// the producer's place.
func TestTakeOverdue(t *testing.T) {
	bubble(t, nil, func(k *kit) {
		k.claimed()
		k.clock.Advance(lifecycle.DefaultLife)
		for range 2 {
			_, err := k.take(k.sound, told(1, lifecycle.VerbProgress), "one", 1)
			k.rejected(err, lifecycle.PostTerminal)
		}
		k.equal("the state", k.load().State, lifecycle.Failed)
		mark, err := k.memory.Producer(k.ctx, k.ref, worker)
		k.must(err)
		k.equal("the mark", mark.Seq, uint64(0))
		k.counted(ledger.Counts{Rejections: 1, Hits: 1})
	})
}

// torn is a ledger on which something happens just before a producer's mark is read.
type torn struct {
	ledger.Ledger

	before func()
}

// Producer implements ledger.Tasks.
func (l *torn) Producer(ctx context.Context, ref lifecycle.Ref, producer string) (ledger.ProducerMark, error) {
	if before := l.before; before != nil {
		l.before = nil
		before()
	}
	return l.Ledger.Producer(ctx, ref, producer)
}

// A report whose predecessor is accepted while it is on its way is judged by the task as
// it is then, not as it was: the count and the task are one picture.
func TestReportBehindAnother(t *testing.T) {
	bubble(t, nil, func(k *kit) {
		k.claimed()
		piece := func(last, more bool) lifecycle.Report {
			r := told(1, lifecycle.VerbProgress)
			content := []byte("text")
			r.Updates = []lifecycle.Update{{Append: more, Chunk: &lifecycle.Chunk{
				Artifact: "draft", Last: last, Part: a2a.NewTextPart(string(content)), Bytes: int64(len(content)), Checksum: lifecycle.DigestBytes(content),
			}}}
			return r
		}
		_, err := k.take(k.sound, piece(false, false), "one", 1)
		k.must(err)
		behind := *k.sound
		behind.Ledger = &torn{k.memory, func() {
			_, err := k.take(k.sound, piece(true, true), "two", 2)
			k.must(err)
		}}
		taken, err := k.take(&behind, told(1, lifecycle.VerbComplete), "three", 3)
		k.must(err)
		k.equal("the state", taken.Task.State, lifecycle.Completed)
		k.counted(ledger.Counts{})
	})
}
