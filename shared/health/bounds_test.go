package health_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// However much is due or was met, a report reads a bounded part of it and says so.
func TestReportIsBounded(t *testing.T) {
	w := newWard(t)
	for range 1_500 {
		w.submit(tenant, "hello")
	}
	ended := w.submit(tenant, "hello")
	w.end(ended)
	for i := range 300 {
		w.monitor.Saw(w.Context(), health.PostTerminal, lifecycle.Ref{Tenant: tenant, Task: ended.Task + a2a.TaskID(strconv.Itoa(i))}, "late")
	}
	w.pass(lifecycle.DefaultGrace + late + time.Second)
	counted := &ledgertest.Crash{}
	w.faults.Crash = counted
	r := w.report(tenant)
	if calls := counted.Calls(); calls > 60 {
		t.Errorf("a report made %d calls", calls)
	}
	if l := of(t, r, health.TaskPastDue); l.Count != 1_000 || len(l.Tasks) != health.MaxTasks || !l.More {
		t.Errorf("%d tasks, %d of them named, more: %t", l.Count, len(l.Tasks), l.More)
	}
	if l := of(t, r, health.PostTerminal); l.Count != 200 || !l.More || l.Light != health.Red {
		t.Errorf("%d tasks, more: %t", l.Count, l.More)
	}
}

// Whether there is more than was looked at is said of a tenant's own tasks: another's
// backlog is nothing that it sees (I10), nor does it hide what is its own.
func TestAnothersBacklogIsNotMore(t *testing.T) {
	w := newWard(t)
	w.reporter.PurgePatience = time.Hour
	for range 250 {
		w.end(w.submit("busy", "hello"))
	}
	for range 1_100 {
		w.endpoint(w.submit("busy", "hello"), "idle", ledger.Delivery{DueAt: w.clock.Now()})
		w.clock.Advance(time.Millisecond)
	}
	w.pass(lifecycle.DefaultRetention + 2*time.Hour)
	r := w.survey()
	for _, id := range []health.ID{health.TaskPastDue, health.PausePastDue, health.UnknownVersion, health.Undelivered, health.PurgeBehind} {
		if l := of(t, r, id); !l.More {
			t.Errorf("everybody's %s: %+v", id, l)
		}
		if l := of(t, w.report(tenant), id); l.More || l.Light != health.Green {
			t.Errorf("a tenant's %s: %+v", id, l)
		}
	}
	if l := of(t, w.report("busy"), health.PurgeBehind); !l.More || l.Count != 200 {
		t.Errorf("its own: %d, more %t", l.Count, l.More)
	}
}

// One's own is found behind another's backlog, as far as a report looks.
func TestBehindAnothersBacklog(t *testing.T) {
	w := newWard(t)
	for range 300 {
		w.endpoint(w.submit("busy", "hello"), "idle", ledger.Delivery{DueAt: w.clock.Now()})
	}
	w.clock.Advance(time.Second)
	ref := w.submit(tenant, "hello")
	w.endpoint(ref, "idle", ledger.Delivery{DueAt: w.clock.Now()})
	w.pass(20 * time.Minute)
	if l := of(t, w.report(tenant), health.Undelivered); l.Count != 1 || l.More || l.Tasks[0].Task != ref.Task {
		t.Errorf("%+v", l)
	}
}

// Findings come the latest first: where there are more than a report looks at, those
// that it did not see are the oldest, and the light is red however fresh the others are.
func TestMoreUndeliveredIsOld(t *testing.T) {
	for n, want := range map[int]health.Color{200: health.Green, 201: health.Red} {
		w := newWard(t)
		for range n {
			ref := w.submit(tenant, "hello")
			next := w.clock.Now().Add(time.Hour)
			w.endpoint(ref, "bad", ledger.Delivery{Attempt: 1, NextAt: next, DueAt: next})
			w.monitor.NotDelivered(w.Context(), ledger.DueDelivery{Ref: ref, ID: "bad"})
		}
		for name, r := range map[string]health.Report{"a tenant's": w.report(tenant), "everybody's": w.survey()} {
			if l := of(t, r, health.Undelivered); l.Light != want || l.More != (want == health.Red) || (l.Value >= 900) != (want == health.Red) {
				t.Errorf("%d, %s: %s, %v s, more %t; want %s", n, name, l.Light, l.Value, l.More, want)
			}
		}
	}
}

// A ledger that cannot be read gives no report: a light that cannot be known is not
// green.
func TestReportNeedsTheLedger(t *testing.T) {
	for _, method := range []string{"Due", "Found", "DueDeliveries", "Expired"} {
		w := newWard(t)
		w.faults.Plan = ledgertest.Always(method, ledgertest.FailBefore)
		if r, err := w.reporter.Report(w.Context(), tenant); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("without %s: %+v (%v)", method, r, err)
		}
	}
}

// A survey has a time of its own, whatever its caller has: the sweep that comes behind
// it is worth more.
func TestSurveyHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWard(t)
		w.faults.Plan = ledgertest.Always("Due", ledgertest.Delayed)
		w.faults.Delay = func(ctx context.Context, _ ledgertest.Call) error { <-ctx.Done(); return ctx.Err() }
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := w.reporter.Survey(ctx); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			t.Errorf("%v, and its caller: %v", err, ctx.Err())
		}
	})
}

// One task whose record cannot be read keeps nobody from the others: its light is amber
// at least, and a survey tells of it as of a fault, with its name. What goes by is no such
// thing: it ends the report.
func TestOneUnreadable(t *testing.T) {
	for name, c := range map[string]struct {
		id     health.ID
		unread func(w *ward, on lifecycle.Ref) health.Source
	}{
		"effects": {health.EffectInDoubt, func(w *ward, on lifecycle.Ref) health.Source { return illegible{Ledger: w.auth.Ledger, task: on} }},
		"finding": {health.EffectInDoubt, func(w *ward, on lifecycle.Ref) health.Source { return illegible{Ledger: w.auth.Ledger, finding: on} }},
		"endpoint": {health.Undelivered, func(w *ward, on lifecycle.Ref) health.Source {
			w.endpoint(on, "idle", ledger.Delivery{DueAt: w.clock.Now()})
			w.pass(time.Hour)
			return illegible{Ledger: w.auth.Ledger, task: on}
		}},
	} {
		w := newWard(t)
		bad, held := w.submit(tenant, "hello"), w.submit(tenant, "hello")
		for _, ref := range []lifecycle.Ref{bad, held} {
			task := w.grant(ref)
			d := w.intended(ref, "pay", lifecycle.PolicyHold)
			w.ok(w.auth.SettleCall(w.Context(), ref, task.Visit, "pay", d.Next.Revision, lifecycle.EffectInDoubt, nil, "timeout"))
		}
		w.reporter.Ledger = c.unread(w, bad)
		want := health.Red
		if c.id == health.Undelivered {
			want = health.Amber
		}
		r := w.survey()
		for _, r := range []health.Report{r, w.report(tenant)} {
			if l := of(t, r, c.id); l.Light != want || l.Unread != 1 || !l.More || l.Count != map[health.Color]int{health.Red: 1}[want] {
				t.Errorf("%s: %+v", name, l)
			}
		}
		w.lines()
		w.monitor.Measured(w.Context(), r)
		told := 0
		for _, l := range w.lines() {
			if slices.Contains(metricsOf(l), "Faults") && l["task"] == string(bad.Task) {
				told++
			}
		}
		if l := of(t, w.report(tenant), health.Faulty); told == 0 || l.Light == health.Green || l.Tasks[0].Task != bad.Task {
			t.Errorf("%s: told %d times, %+v", name, told, l)
		}
		w.wantStranger()
		w.reporter.Ledger = w.auth.Ledger
		w.faults.Plan = ledgertest.Always("EffectList", ledgertest.FailBefore)
		if _, err := w.reporter.Survey(w.Context()); !errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("%s: without the ledger: %v", name, err)
		}
	}
}

var errIllegible = errors.New("illegible")

// illegible is a ledger in which a task's effects and endpoints, or its findings, cannot
// be read.
type illegible struct {
	ledger.Ledger

	task, finding lifecycle.Ref
}

// Found implements ledger.Findings.
func (l illegible) Found(ctx context.Context, q ledger.FindingQuery) (ledger.FindingPage, error) {
	page, err := l.Ledger.Found(ctx, q)
	page.Findings = slices.DeleteFunc(page.Findings, func(f ledger.Finding) bool {
		is := f.Ref == l.finding
		if is && q.Kind == string(health.EffectInDoubt) {
			page.Unread = append(page.Unread, ledger.Unread{Ref: f.Ref, Err: errIllegible})
		}
		return is && q.Kind == string(health.EffectInDoubt)
	})
	return page, err
}

// EffectList implements ledger.Effects.
func (l illegible) EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error) {
	if ref == l.task {
		return nil, errIllegible
	}
	return l.Ledger.EffectList(ctx, ref)
}

// Endpoint implements ledger.Endpoints.
func (l illegible) Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (ledger.Endpoint, error) {
	if ref == l.task {
		return ledger.Endpoint{}, errIllegible
	}
	return l.Ledger.Endpoint(ctx, ref, id)
}

// A task that is due and cannot be read is in the light, and another one beside it.
func TestUnreadableTaskPastDue(t *testing.T) {
	w := newWard(t)
	bad, late1 := w.submit(tenant, "hello"), w.submit(tenant, "hello")
	w.pass(lifecycle.DefaultGrace + late + time.Second)
	w.reporter.Ledger = ledgertest.Torn{Ledger: w.auth.Ledger, Task: bad}
	for _, r := range []health.Report{w.survey(), w.report(tenant)} {
		if l := of(t, r, health.TaskPastDue); l.Light != health.Red || l.Count != 1 || l.Tasks[0].Task != late1.Task || l.Unread != 1 || !l.More {
			t.Errorf("%+v", l)
		}
	}
	w.wantStranger()
}
