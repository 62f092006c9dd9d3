package health_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// looks counts how often somebody looks for effects.
func (w *ward) looks() *int {
	n := 0
	w.faults.Plan = func(c ledgertest.Call) ledgertest.Fault {
		if c.Method == "EffectList" {
			n++
		}
		return ledgertest.None
	}
	return &n
}

// A worker dies over a call, whatever its policy would make of it, and nobody settles it:
// the task ends in another's hands, or is told of again and not taken. Whoever ends the
// dead worker's lease has found the call; it is left to its policy for five minutes, and
// on the light then.
func TestCallThatWasLeft(t *testing.T) {
	for name, end := range map[string]func(w *ward, ref lifecycle.Ref){
		"canceled":     func(w *ward, ref lifecycle.Ref) { w.do(ref, lifecycle.RequestCancel{}) },
		"life is over": func(w *ward, ref lifecycle.Ref) { w.pass(lifecycle.DefaultLife); w.do(ref, lifecycle.Expire{}) },
		"restarted":    func(w *ward, ref lifecycle.Ref) { w.do(ref, lifecycle.Restart{Generation: 1, Grace: time.Hour}) },
		"taken, and not called again": func(w *ward, ref lifecycle.Ref) {
			w.grant(ref)
			w.do(ref, lifecycle.Report{Verb: lifecycle.VerbComplete})
		},
	} {
		for _, policy := range []lifecycle.EffectPolicy{lifecycle.PolicyRetry, lifecycle.PolicyReconcile, lifecycle.PolicyHold} {
			t.Run(name+", "+string(policy), func(t *testing.T) {
				w := newWard(t)
				ref := w.submit(tenant, "hello")
				task := w.grant(ref)
				d := w.intended(ref, "pay", policy)
				w.pass(lifecycle.DefaultLease)
				end(w, ref)
				out := w.clock.Now().Sub(d.Next.OutUntil())
				if policy != lifecycle.PolicyHold && out < 5*time.Minute {
					if l := of(t, w.survey(), health.EffectInDoubt); l.Light != health.Green {
						t.Errorf("after %s: %+v", out, l)
					}
				}
				w.pass(6 * time.Minute)
				w.wants(health.EffectInDoubt, health.Red, 1, ref)
				w.wantStranger()
				w.ok(w.auth.SettleDoubt(w.Context(), ref, task.Visit, "pay", d.Next.Revision, lifecycle.EffectDone, []byte(`1`), "operator: asked"))
				w.green()
			})
		}
	}
}

// A lease that its holder gives back, or ends its task under, costs no look at its calls,
// nor does one that is renewed; and a lease without a call leaves nothing.
func TestNobodyLooksForCallsInVain(t *testing.T) {
	w := newWard(t)
	n := w.looks()
	ref := w.submit(tenant, "hello")
	for range 2 {
		w.grant(ref)
		task, err := w.auth.Load(w.Context(), ref)
		w.ok(err)
		w.do(ref, lifecycle.Renew{Holder: task.Holder, Fence: task.Fence, Lease: lifecycle.DefaultLease})
		w.do(ref, lifecycle.Report{Verb: lifecycle.VerbContinue, Next: "b", Keep: true})
		w.do(ref, lifecycle.Release{Holder: task.Holder, Fence: task.Fence, Grace: lifecycle.DefaultGrace})
	}
	w.end(ref)
	if *n != 0 {
		t.Errorf("a healthy task: %d looks", *n)
	}
	other := w.submit(tenant, "hello")
	w.grant(other)
	w.pass(lifecycle.DefaultLease)
	w.grant(other)
	page, err := w.auth.Ledger.Found(w.Context(), ledger.FindingQuery{Kind: string(health.EffectInDoubt), All: true})
	if err != nil || len(page.Findings) != 0 || *n != 1 {
		t.Errorf("%+v (%v), %d looks", page, err, *n)
	}
}

// Who cannot look ends the lease all the same, and says so.
func TestLeaseEndsUnlooked(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.grant(ref)
	w.pass(lifecycle.DefaultLease)
	w.faults.Plan = ledgertest.Always("EffectList", ledgertest.FailBefore)
	if task := w.grant(ref); task.Fence != 2 || !strings.Contains(w.log.String(), "nobody has looked") {
		t.Errorf("%+v, %s", task.Head, w.log)
	}
}

// An invocation that ends with a call's end unrecorded says so itself.
func TestOpenEffect(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.grant(ref)
	w.intended(ref, "pay", lifecycle.PolicyRetry)
	w.monitor.EffectOpen(w.Context(), ref, "pay")
	w.do(ref, lifecycle.Report{Verb: lifecycle.VerbComplete})
	w.pass(6 * time.Minute)
	w.wants(health.EffectInDoubt, health.Red, 1, ref)
}

// Where nobody takes a dead worker's task over, for nobody has its version, its call is
// found with the task.
func TestCallOfATaskThatNobodyTakes(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "new")
	w.grant(ref)
	d := w.intended(ref, "pay", lifecycle.PolicyRetry)
	w.pass(d.Next.OutUntil().Sub(w.clock.Now()) + 5*time.Minute - time.Second)
	for _, want := range []health.Color{health.Green, health.Red} {
		for name, r := range map[string]health.Report{"a tenant's": w.report(tenant), "everybody's": w.survey(), "a stranger's": w.report("stranger")} {
			if l := of(t, r, health.EffectInDoubt); l.Light != want && (name != "a stranger's" || l.Light != health.Green) {
				t.Errorf("%s: %+v, want %s", name, l, want)
			}
		}
		w.pass(time.Second)
	}
}
