package ledgertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// busyEntries is about how many entries a busy task has when it ends.
const busyEntries = 60

// Busy lets a task move as fast as a ledger can, in every way that a task has: a holder
// reports chunks and effects, a second one with its name takes its lease away, reports are
// refused, a webhook is delivered to. Every other task is canceled in the end, and output
// comes late. look is called all the while, and between tasks, until it wants no more.
func Busy(ctx context.Context, l ledger.Ledger, seed uint64, look func(ref lifecycle.Ref) (more bool, err error)) error {
	d := newDesk(l)
	for n := uint64(0); ; n++ {
		t, err := d.submit(ctx)
		if err != nil {
			return err
		}
		m := &mover{desk: d, ref: t.Ref(), canceled: n%2 == 1}
		if err := l.PutEndpoint(ctx, m.ref, ledger.Endpoint{ID: "hook", URL: "https://hooks.example/", Agent: agentName, Base: "https://a.example", CreatedAt: d.clock.Now()}); err != nil {
			return err
		}
		more, err := m.watched(ctx, rand.New(rand.NewPCG(seed, n)), look)
		if err != nil || !more {
			return err
		}
	}
}

// mover moves one task.
type mover struct {
	*desk

	ref      lifecycle.Ref
	canceled bool
}

func (m *mover) watched(ctx context.Context, dice *rand.Rand, look func(lifecycle.Ref) (bool, error)) (bool, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan struct{})
	var errs [2]error
	var all sync.WaitGroup
	holder, rival := rand.New(rand.NewPCG(dice.Uint64(), 0)), rand.New(rand.NewPCG(dice.Uint64(), 1))
	all.Go(func() {
		defer close(ended)
		errs[0] = m.work(ctx, holder)
	})
	all.Go(func() { errs[1] = m.disturb(ctx, ended, rival) })
	for {
		more, err := look(m.ref)
		over := !more || err != nil
		select {
		case <-ended:
			over = true
		default:
		}
		if !over {
			continue
		}
		if !more || err != nil {
			stop() // in the middle of whatever it does
		}
		all.Wait()
		if more && err == nil {
			more, err = look(m.ref) // at rest
		}
		for _, e := range errs {
			if e != nil && !errors.Is(e, context.Canceled) {
				err = errors.Join(err, e)
			}
		}
		return more, err
	}
}

// refusedOnly is nil for what happens to a holder who is disturbed.
func refusedOnly(err error) error {
	if _, is := errors.AsType[*lifecycle.Rejection](err); is || errors.Is(err, ledger.ErrBusy) || errors.Is(err, ledger.ErrEffectChanged) {
		return nil
	}
	if _, is := errors.AsType[*ledger.Conflict](err); is {
		return nil
	}
	return err
}

// work brings the task to its end.
func (m *mover) work(ctx context.Context, dice *rand.Rand) error {
	for n := 0; ; n++ {
		t, err := m.auth.Load(ctx, m.ref)
		if err != nil || t.Terminal() {
			return err
		}
		switch {
		case t.Holder == "" || dice.IntN(12) == 0:
			_, err = m.grant(ctx, t, "holder")
		case t.Seq >= busyEntries && m.canceled:
			if _, err = m.cancel(ctx, t); err == nil {
				_, err = m.report(ctx, t, progress()) // which the request ends
			}
		case t.Seq >= busyEntries:
			_, err = m.report(ctx, t, m.finish(t))
		case dice.IntN(3) == 0:
			err = m.call(ctx, t, fmt.Sprint("call-", dice.IntN(3)))
		default:
			_, err = m.report(ctx, t, m.more(t, dice))
		}
		if err := refusedOnly(err); err != nil {
			return err
		}
	}
}

// more are chunks of some artifacts, in the same visit or in the next.
func (m *mover) more(t lifecycle.Task, dice *rand.Rand) lifecycle.Report {
	r := lifecycle.Report{Verb: lifecycle.VerbSubStep, State: json.RawMessage(`{"n":1}`), Next: "next", Keep: true}
	if dice.IntN(4) == 0 {
		r.Verb = lifecycle.VerbContinue
	}
	for i := range 1 + dice.IntN(3) {
		id := a2a.ArtifactID(fmt.Sprint("artifact-", i))
		art, is := t.Arts[id]
		r.Updates = append(r.Updates, lifecycle.Update{Chunk: piece(id, fmt.Sprint(t.Seq, dice.Uint64()), false), Append: is && !art.Sealed && dice.IntN(5) > 0})
	}
	return r
}

// finish seals what is open and completes.
func (m *mover) finish(t lifecycle.Task) lifecycle.Report {
	r := ending(lifecycle.VerbComplete)
	for id, art := range t.Arts {
		if !art.Sealed {
			r.Updates = append(r.Updates, lifecycle.Update{Chunk: piece(id, "end", true), Append: true})
		}
	}
	return r
}

func (m *mover) call(ctx context.Context, t lifecycle.Task, name string) error {
	d, err := m.auth.BeginEffect(ctx, m.ref, lifecycle.EffectRequest{
		Visit: t.Visit, Name: name, Policy: lifecycle.PolicyRetry, RequestDigest: lifecycle.DigestBytes([]byte(name)), Holder: t.Holder, Fence: t.Fence, CallUntil: m.clock.Now().Add(time.Minute),
	})
	if err != nil || d.Act != lifecycle.ActCall {
		return err
	}
	return m.auth.SettleCall(ctx, m.ref, t.Visit, name, d.Next.Revision, lifecycle.EffectDone, json.RawMessage(`{"n":1}`), "own call")
}

// disturb takes the lease away, has things refused, and delivers; when the task has
// been canceled, it brings what is late.
func (m *mover) disturb(ctx context.Context, ended <-chan struct{}, dice *rand.Rand) error {
	for n := 0; ; n++ {
		over := false
		select {
		case <-ended:
			over = true
		default:
		}
		t, err := m.auth.Load(ctx, m.ref)
		if err != nil {
			return err
		}
		switch {
		case t.Terminal() || dice.IntN(3) == 0:
			err = m.refused(ctx, t, n)
		case dice.IntN(3) == 0:
			_, err = m.grant(ctx, t, "holder")
		default:
			err = m.deliver(ctx, t)
		}
		if err := refusedOnly(err); err != nil || over {
			return err
		}
	}
}

func (m *mover) refused(ctx context.Context, t lifecycle.Task, n int) error {
	event := fmt.Sprint("late-", n)
	r := ledger.Refusal{
		Rejected: ledger.Rejected{At: m.clock.Now(), Producer: "rival", EventID: event, Reason: lifecycle.FenceLost, Detail: "no", Fence: 1},
		Receipt:  ledger.Receipt{Producer: "rival", EventID: event, Digest: lifecycle.DigestBytes([]byte(event)), Reason: lifecycle.FenceLost, Op: event},
	}
	if t.State == lifecycle.Canceled {
		r.Rejected.Reason, r.Receipt.Reason = lifecycle.PostTerminal, lifecycle.PostTerminal
		r.Late = &ledger.Quarantined{At: m.clock.Now(), Producer: "rival", EventID: event, Digest: lifecycle.DigestBytes([]byte(event)), Bytes: 2, Payload: json.RawMessage(`{}`)}
	}
	return m.ledger.Refuse(ctx, m.ref, r)
}

// deliver moves the webhook's cursor to what there is.
func (m *mover) deliver(ctx context.Context, t lifecycle.Task) error {
	if err := m.ledger.Want(ctx, m.ref, "hook", t.Seq, m.clock.Now()); err != nil {
		return err
	}
	e, err := m.ledger.Endpoint(ctx, m.ref, "hook")
	if err != nil {
		return err
	}
	next := e.Delivery
	next.Cursor, next.Revision, next.DueAt = max(next.Cursor, t.Seq), next.Revision+1, m.clock.Now()
	if err := m.ledger.Deliver(ctx, m.ref, "hook", next); !errors.Is(err, ledger.ErrDeliveryChanged) {
		return err
	}
	return nil
}
