package integration_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestLedgerRefused is the conformance suite on a server that throttles and
// reports conflicts at every turn: nobody above the ledger sees it.
func TestLedgerRefused(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.Ledger {
		t.Helper()
		s := newShaky(0.05, 0, 1)
		return dynamo.New(s, tables(t), quick)
	})
}

// lane is one task's whole life on a bad day, as two processes bring it forward.
type lane struct {
	api, runner *ledger.Authority
	tenant      string
	key         *ledger.Key
}

// TestLostAnswers: requests are refused and answers are lost, and every act
// happens once.
func TestLostAnswers(t *testing.T) {
	names := tables(t)
	truth := dynamo.New(client, names, quick)
	clock := ledgertest.NewClock()
	authority := func(seed uint64) (*ledger.Authority, *shaky) {
		s := newShaky(0.1, 0.15, seed)
		return &ledger.Authority{Ledger: dynamo.New(s, names, quick), Now: clock.Now, NewID: a2a.NewMessageID}, s
	}
	api, first := authority(1)
	runner, second := authority(2)
	const lanes = 60
	errs := make([]error, lanes)
	var all sync.WaitGroup
	for i := range lanes {
		all.Go(func() {
			l := &lane{api: api, runner: runner, tenant: fmt.Sprintf("tenant-%d", i%7)}
			l.key = &ledger.Key{Tenant: l.tenant, Hash: lifecycle.DigestBytes(fmt.Append(nil, i))}
			if err := l.live(t.Context(), truth); err != nil {
				errs[i] = fmt.Errorf("lane %d: %w", i, err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	if refused, lost := first.refused+second.refused, first.lost+second.lost; refused < lanes || lost < lanes {
		t.Errorf("%d requests were refused and %d answers lost: too few to say anything", refused, lost)
	} else {
		t.Logf("%d requests were refused, %d answers were lost", refused, lost)
	}
}

// persevere repeats what the door and the runner repeat: a call whose outcome
// they were not told.
func persevere(do func() error) error {
	var err error
	for range 50 {
		if err = do(); !errors.Is(err, ledger.ErrUnavailable) {
			return err
		}
	}
	return err
}

func (l *lane) live(ctx context.Context, truth *dynamo.Ledger) error {
	t, err := l.submitTwice(ctx)
	if err != nil {
		return err
	}
	act := func(a *ledger.Authority, cmd lifecycle.Command, src lifecycle.Source, extra ledger.Extra) error {
		res, err := a.Do(ctx, t, cmd, src, extra)
		if err == nil {
			t = res.Task
		}
		return err
	}
	grant := func() error {
		return act(l.runner, lifecycle.Grant{Holder: "holder", Generation: 1, Lease: lease, Grace: grace}, lifecycle.Source{Producer: "runner", Holder: "holder"}, ledger.Extra{})
	}
	report := func(r lifecycle.Report) error {
		r.Holder, r.Fence, r.Grace = t.Holder, t.Fence, grace
		return act(l.runner, r, lifecycle.Source{Producer: "runner", Holder: t.Holder, Fence: t.Fence}, ledger.Extra{})
	}
	steps := []func() error{
		grant,
		func() error {
			return report(lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Message: says("one")}, {Message: says("two")}}})
		},
		func() error { return l.effect(ctx, t) },
		func() error {
			return report(lifecycle.Report{Verb: lifecycle.VerbPause, Next: "second", Message: says("May I?"), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}})
		},
		func() error { return l.rendezvous(ctx, &t) },
		grant,
		func() error { return report(lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says("Done.")}) },
	}
	for i, step := range steps {
		if err := step(); err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
	}
	return verify(ctx, truth, t)
}

// submitTwice lets a client repeat its submission: one task comes of it.
func (l *lane) submitTwice(ctx context.Context) (lifecycle.Task, error) {
	ref := lifecycle.Ref{Tenant: l.tenant, Task: a2a.NewTaskID()}
	cmd := lifecycle.Submit{ContextID: "conversation", Agent: "agent", AgentVersion: 1, Step: "first", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("do it")), Policy: lifecycle.DefaultPolicy()}
	res, err := l.api.Create(ctx, ref, cmd, lifecycle.Source{Producer: "client"}, l.key)
	if err != nil {
		return res.Task, err
	}
	again := lifecycle.Ref{Tenant: l.tenant, Task: a2a.NewTaskID()}
	_, err = l.api.Create(ctx, again, cmd, lifecycle.Source{Producer: "client"}, l.key)
	if taken, is := errors.AsType[*ledger.KeyTaken](err); !is || taken.Note.Task != ref.Task {
		return res.Task, fmt.Errorf("the second submission: %w", err)
	}
	return res.Task, nil
}

// effect is intended once and done once, whatever its caller was told.
func (l *lane) effect(ctx context.Context, t lifecycle.Task) error {
	req := lifecycle.EffectRequest{Visit: t.Visit, Name: "pay", Policy: lifecycle.PolicyHold, Holder: t.Holder, Fence: t.Fence, CallUntil: l.runner.Now().Add(lease)}
	d, err := l.runner.BeginEffect(ctx, t.Ref(), req)
	if err != nil || d.Act != lifecycle.ActCall {
		return fmt.Errorf("the effect is to %s: %w", d.Act, err)
	}
	if err := l.runner.SettleCall(ctx, t.Ref(), t.Visit, "pay", d.Next.Revision, lifecycle.EffectDone, []byte(`"paid"`), "its own call"); err != nil {
		return err
	}
	return persevere(func() error {
		e, err := l.runner.Ledger.Effect(ctx, t.Ref(), t.Visit, "pay")
		if err == nil && (e.Calls != 1 || e.Revision != 2 || e.State != lifecycle.EffectDone) {
			return fmt.Errorf("the effect's record is %+v", e)
		}
		return err
	})
}

// rendezvous parks while the answer comes; somebody must see both.
func (l *lane) rendezvous(ctx context.Context, t *lifecycle.Task) error {
	var parked, met ledger.Parked
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() {
		errs[0] = persevere(func() (err error) {
			parked, err = l.runner.Ledger.Park(ctx, t.Ref(), 1, ledger.Token{Value: "token", Generation: 1, EnteredAt: l.runner.Now()})
			return err
		})
	})
	var res ledger.Result
	both.Go(func() {
		receipt := &ledger.Receipt{Producer: "client", EventID: "m-1"}
		res, errs[1] = l.api.Do(ctx, *t, lifecycle.Reply{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("yes")), Grace: grace}, lifecycle.Source{Producer: "client"}, ledger.Extra{Receipt: receipt})
		if errs[1] == nil {
			errs[1] = persevere(func() (err error) {
				met, err = l.api.Ledger.Parked(ctx, t.Ref(), 1)
				return err
			})
		}
	})
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if !parked.Answered && met.Token.Value == "" || !met.Answered || parked.Token.Value == "" {
		return fmt.Errorf("nobody saw both: parking %+v, answering %+v", parked, met)
	}
	*t = res.Task
	return nil
}

// verify holds what is there against what was done.
func verify(ctx context.Context, truth *dynamo.Ledger, t lifecycle.Task) error {
	entries, err := truth.Entries(ctx, t.Ref(), 0, 0)
	if err != nil {
		return err
	}
	folded, err := lifecycle.Fold(t.Ref(), entries)
	if err != nil {
		return err
	}
	h, err := truth.Head(ctx, t.Ref())
	if err != nil {
		return err
	}
	const acts = 7 // submitted, started, two messages, paused, reply, ended
	if len(entries) != acts || h.Seq != acts || h.Chain != folded.Chain || h.State != lifecycle.Completed || h.Fence != 2 {
		return fmt.Errorf("%d entries; the head is in %s at entry %d, fence %d", len(entries), h.State, h.Seq, h.Fence)
	}
	return nil
}
