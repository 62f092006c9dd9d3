package health_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Everything that is watched has a light, in the order in which it is declared, and
// where nothing has happened each is green.
func TestEveryInvariantHasALight(t *testing.T) {
	w := newWard(t)
	w.end(w.submit(tenant, "hello"))
	w.submit(tenant, "hello")
	w.green()
	r := w.report(tenant)
	if len(r.Lights) != len(health.Invariants()) {
		t.Fatalf("%d lights", len(r.Lights))
	}
	for i, v := range health.Invariants() {
		l := r.Lights[i]
		if l.Invariant != v.ID || l.Name != v.Name || l.Means == "" || l.Metric != string(v.Metric) || l.Unit == "" || l.Runbook != "infra/RUNBOOK.md#"+string(v.ID) || l.Count != 0 || !l.Oldest.IsZero() {
			t.Errorf("%+v is shown as %+v", v, l)
		}
	}
	raw, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(raw), `"light":"green"`) || strings.Contains(string(raw), tenant) {
		t.Errorf("%s (%v)", raw, err)
	}
}

// The operator of CASES 73 asks which tasks are stuck, with their state, their age and
// their agent. A task that should be worked on, and is not, is one as soon as it is
// later than the sweep may be; before, the sweep will have it.
func TestTaskPastDue(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	held := w.submit(tenant, "hello")
	w.pass(lifecycle.DefaultGrace + late)
	w.grant(held)
	w.green()
	w.pass(time.Second)
	l := w.wants(health.TaskPastDue, health.Red, 1, ref)
	if got := l.Tasks[0]; got.Agent != "hello" || got.AgentVersion != 1 || got.State != lifecycle.Submitted || !got.Since.Equal(l.Oldest) || w.clock.Now().Sub(got.Since) <= late {
		t.Errorf("%+v", got)
	}
	w.wantStranger()
	w.grant(ref)
	w.green()
}

// A task that was told of again and again, and that nobody takes, is stuck though it is
// never late.
func TestTaskThatNobodyTakes(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	for n := range health.UntakenFrom {
		w.green()
		h := w.do(ref, lifecycle.Restart{Generation: uint64(n + 1), Grace: lifecycle.DefaultGrace})
		if h.Untaken >= health.UntakenFrom {
			w.monitor.Saw(w.Context(), health.TaskPastDue, ref, "nobody takes a task")
		}
	}
	w.wants(health.TaskPastDue, health.Red, 1, ref)
	w.wantStranger()
	w.pass(lifecycle.DefaultGrace + late + time.Hour) // late as well, and still one task
	w.wants(health.TaskPastDue, health.Red, 1, ref)
	w.grant(ref)
	w.green()
}

func TestPausePastDue(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.grant(ref)
	w.do(ref, lifecycle.Report{Verb: lifecycle.VerbPause, Next: "b", Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}})
	w.pass(time.Hour + late)
	w.green()
	w.pass(time.Second)
	w.wants(health.PausePastDue, health.Red, 1, ref)
	w.wantStranger()
	w.do(ref, lifecycle.Expire{})
	w.green()
}

// A deploy may be under way: a task whose version is not here is amber first, and red
// when nobody comes.
func TestUnknownVersion(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "new")
	w.pass(lifecycle.DefaultGrace)
	l := w.wants(health.UnknownVersion, health.Amber, 1, ref)
	w.wantStranger()
	w.pass(15*time.Minute - time.Second)
	w.wants(health.UnknownVersion, health.Amber, 1, ref)
	w.pass(time.Second)
	w.wants(health.UnknownVersion, health.Red, 1, ref)
	if !l.Oldest.Equal(l.Tasks[0].Since) {
		t.Errorf("%+v", l)
	}
	w.reporter.Known = func(string, int) bool { return true }
	w.grant(ref)
	w.green()
}

// The step function may be behind the sweep: then its runner says which version it does
// not know.
func TestUnknownToTheRunner(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.monitor.Saw(w.Context(), health.UnknownVersion, ref, "agent version is not in the catalog")
	w.wants(health.UnknownVersion, health.Amber, 1, ref)
	w.wantStranger()
	w.grant(ref)
	w.green()
}

// A task of an agent that is worked on outside has no version that must be here.
func TestOutsideIsKnown(t *testing.T) {
	w := newWard(t)
	w.reporter.Outside = func(agent string, _ int) bool { return agent == "new" }
	w.submit(tenant, "new")
	w.pass(lifecycle.DefaultGrace)
	w.green()
}

// intended begins an effect as a holder that then dies.
func (w *ward) intended(ref lifecycle.Ref, name string, policy lifecycle.EffectPolicy) lifecycle.EffectDecision {
	w.Helper()
	t, err := w.auth.Load(w.Context(), ref)
	w.ok(err)
	d, err := w.auth.BeginEffect(w.Context(), ref, lifecycle.EffectRequest{
		Visit: t.Visit, Name: name, Policy: policy, RequestDigest: "d", Holder: t.Holder, Fence: t.Fence, CallUntil: w.clock.Now().Add(10 * time.Second),
	})
	w.ok(err)
	return d
}

// CASES 19, the operator's way out: a worker died between an effect's intent and its
// record. The effect that is held for an operator is shown with its task, stays until
// it is settled, and is gone then; another one is left to its policy for a while.
func TestEffectInDoubt(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	task := w.grant(ref)
	w.intended(ref, "pay", lifecycle.PolicyHold)
	w.green()
	w.clock.Advance(10 * time.Second)
	w.grant(ref)
	d := w.intended(ref, "pay", lifecycle.PolicyHold)
	if d.Act != lifecycle.ActHold {
		t.Fatalf("%+v", d)
	}
	w.monitor.Saw(w.Context(), health.EffectInDoubt, ref, "an effect is held")
	w.survey() // its caller may be calling, by somebody's clock: that is not over
	w.clock.Advance(lifecycle.ClockMargin)
	l := w.wants(health.EffectInDoubt, health.Red, 1, ref)
	if l.Tasks[0].State != lifecycle.Working || w.clock.Now().Sub(l.Oldest) != 0 {
		t.Errorf("%+v", l)
	}
	w.wantStranger()
	w.ok(w.auth.SettleDoubt(w.Context(), ref, task.Visit, "pay", d.Next.Revision, lifecycle.EffectDone, []byte(`"paid"`), "operator: asked the bank"))
	w.green()
}

func TestEffectLeftToItsPolicy(t *testing.T) {
	for policy, color := range map[lifecycle.EffectPolicy]health.Color{lifecycle.PolicyRetry: health.Green, lifecycle.PolicyReconcile: health.Green, lifecycle.PolicyHold: health.Red} {
		w := newWard(t)
		ref := w.submit(tenant, "hello")
		task := w.grant(ref)
		d := w.intended(ref, "pay", policy)
		w.ok(w.auth.SettleCall(w.Context(), ref, task.Visit, "pay", d.Next.Revision, lifecycle.EffectInDoubt, nil, "timeout"))
		if l := of(t, w.report(tenant), health.EffectInDoubt); l.Light != color {
			t.Errorf("%s: %s at once", policy, l.Light)
		}
		w.survey() // must not forget what still stands
		w.pass(5*time.Minute + time.Second)
		if l := of(t, w.report(tenant), health.EffectInDoubt); l.Light != health.Red || l.Count != 1 {
			t.Errorf("%s: %s after its patience", policy, l.Light)
		}
	}
}

func (w *ward) endpoint(ref lifecycle.Ref, id string, d ledger.Delivery) {
	w.Helper()
	_, err := w.auth.Ledger.Endpoint(w.Context(), ref, id)
	if errors.Is(err, ledger.ErrNotFound) {
		w.ok(w.auth.Ledger.PutEndpoint(w.Context(), ref, ledger.Endpoint{ID: id, URL: "https://example.com/hook"}))
	}
	e, err := w.auth.Ledger.Endpoint(w.Context(), ref, id)
	w.ok(err)
	d.Revision = e.Delivery.Revision + 1
	w.ok(w.auth.Ledger.Deliver(w.Context(), ref, id, d))
}

func TestUndelivered(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.do(ref, lifecycle.RequestCancel{})
	next := w.clock.Now().Add(24 * time.Hour)
	w.endpoint(ref, "good", ledger.Delivery{Cursor: 3})
	w.endpoint(ref, "bad", ledger.Delivery{Attempt: 1, Failures: 1, NextAt: next, DueAt: next})
	w.monitor.Saw(w.Context(), health.Undelivered, ref, "an update was not delivered")
	w.wants(health.Undelivered, health.Green, 0, ref)
	w.pass(time.Minute)
	if l := of(t, w.report(tenant), health.Undelivered); l.Light != health.Amber || l.Unit != "Seconds" {
		t.Errorf("%+v", l)
	}
	w.wantStranger()
	w.pass(14 * time.Minute)
	if l := of(t, w.report(tenant), health.Undelivered); l.Light != health.Red || l.Count != 1 || l.Value < 900 || l.Value > 901 {
		t.Errorf("%+v", l)
	}
	w.endpoint(ref, "bad", ledger.Delivery{Cursor: 3, Delivered: 3})
	w.green()
}

// While something of ours is in the way no attempt is made, and the sweep tells somebody
// again and again: the endpoint waits, and is never late itself. What has expired waits
// for nothing.
func TestUndeliveredForOurTrouble(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.do(ref, lifecycle.RequestCancel{})
	told := func() {
		now := w.clock.Now()
		w.endpoint(ref, "fine", ledger.Delivery{NextAt: now, DueAt: now.Add(30 * time.Second)})
	}
	told()
	w.monitor.NotDelivered(w.Context(), ledger.DueDelivery{Ref: ref, ID: "fine"})
	for range 15 {
		w.pass(time.Minute)
		w.survey() // it is not over
		told()
	}
	if l := of(t, w.report(tenant), health.Undelivered); l.Light != health.Red || l.Count != 1 {
		t.Errorf("%+v", l)
	}
	w.wantStranger()
	w.endpoint(ref, "fine", ledger.Delivery{NextAt: w.clock.Now()})
	w.green()
}

// An endpoint that nobody brings its updates is behind too, though no attempt failed.
func TestUndeliveredByNobody(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.do(ref, lifecycle.RequestCancel{})
	w.endpoint(ref, "idle", ledger.Delivery{DueAt: w.clock.Now()})
	w.pass(late - time.Second)
	if l := of(t, w.report(tenant), health.Undelivered); l.Light != health.Green || l.Value != 0 {
		t.Errorf("before it is late: %+v", l)
	}
	w.pass(15 * time.Minute)
	if l := of(t, w.report(tenant), health.Undelivered); l.Light != health.Red || l.Count != 1 {
		t.Errorf("%+v", l)
	}
	w.wantStranger()
	w.endpoint(ref, "idle", ledger.Delivery{Cursor: 3})
	w.green()
}

func TestDeliveryGivenUp(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.endpoint(ref, "bad", ledger.Delivery{State: ledger.DeliveryGivenUp, Attempt: 10})
	w.monitor.Saw(w.Context(), health.DeliveryGivenUp, ref, "a delivery is given up")
	w.grant(ref)
	w.wants(health.DeliveryGivenUp, health.Red, 1, ref)
	w.wantStranger()
	w.endpoint(ref, "bad", ledger.Delivery{Cursor: 2})
	w.green()
}

// What has expired, and was not forgotten in time, is a promise that is broken.
func TestPurgeBehind(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.end(ref)
	w.reporter.PurgePatience = time.Hour
	w.pass(lifecycle.DefaultRetention + time.Hour + late - time.Second)
	w.green()
	w.pass(2 * time.Second)
	l := w.wants(health.PurgeBehind, health.Red, 1, ref)
	if since := w.clock.Now().Sub(l.Oldest); since < time.Hour+late || since > 2*time.Hour {
		t.Errorf("since %s: %+v", since, l)
	}
	w.wantStranger()
	purge, err := w.auth.Ledger.BeginPurge(w.Context(), ref, w.clock.Now())
	w.ok(err)
	w.wants(health.PurgeBehind, health.Red, 1, ref)
	_, _, err = w.auth.Ledger.PurgePiece(w.Context(), ref)
	w.ok(err)
	w.ok(w.auth.Ledger.EndPurge(w.Context(), purge, w.clock.Now()))
	w.green()
}

// Without a sweep nothing else would be found: its silence is a light of its own.
func TestSweepSilent(t *testing.T) {
	w := newWard(t)
	w.clock.Advance(late)
	w.green()
	w.clock.Advance(time.Second)
	w.wants(health.SweepSilent, health.Red, 0)
	w.monitor.Swept(w.Context())
	w.wants(health.SweepSilent, health.Green, 1)
	last := w.clock.Now()
	w.reporter.LastSweep = func() time.Time { return last }
	w.clock.Advance(late + time.Second)
	w.wants(health.SweepSilent, health.Red, 0)
}

func TestStreamBehind(t *testing.T) {
	w := newWard(t)
	for _, c := range []struct {
		age   time.Duration
		color health.Color
		value float64
	}{{time.Second, health.Green, 0}, {time.Minute, health.Amber, 60}, {time.Hour, health.Red, 300}} {
		w.monitor.StreamAge(w.Context(), c.age)
		w.wants(health.StreamBehind, c.color, c.value)
	}
	w.pass(window + time.Second)
	w.green()
}

// What is of the deployment as a whole every tenant sees, and it names no task.
func TestOfTheDeployment(t *testing.T) {
	for _, id := range []health.ID{health.Throttled, health.Faulty, health.UnreadableRecord} {
		w := newWard(t)
		v, _ := health.Of(id)
		for range int(max(v.Red, 1)) {
			w.monitor.Saw(w.Context(), id, lifecycle.Ref{}, "trouble")
		}
		w.wants(id, health.Red, v.Red)
		if l := of(t, w.report("another"), id); l.Light != health.Red || len(l.Tasks) != 0 {
			t.Errorf("%+v", l)
		}
		w.pass(window + time.Second)
		w.green()
	}
}

// A fault that a tenant's request met is that tenant's.
func TestFaultOfATenant(t *testing.T) {
	w := newWard(t)
	w.monitor.Saw(w.Context(), health.Faulty, lifecycle.Ref{Tenant: tenant}, "request failed")
	w.wants(health.Faulty, health.Amber, 1)
	w.wantStranger()
}
