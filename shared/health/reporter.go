package health

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

const (
	// maxDue is how many tasks that are due a report looks at, duePage how many of them
	// it reads at a time.
	maxDue, duePage = 1_000, 100
	// maxFound is how many findings of a kind a report looks at.
	maxFound = 200
	// surveyTime bounds a survey: what it would show is worth less than the sweep that
	// comes behind it in the same invocation.
	surveyTime = time.Minute
	// DefaultLate is how late the sweep, and what it should have done, may be: it runs
	// every minute on AWS.
	DefaultLate = 3 * time.Minute
)

// Source is what a report reads of a ledger.
type Source interface {
	Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error)
	Found(ctx context.Context, q ledger.FindingQuery) (ledger.FindingPage, error)
	Forget(ctx context.Context, f ledger.Finding, kind string) error
	Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error)
	Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error)
	EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error)
	EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error)
	Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (ledger.Endpoint, error)
	Expired(ctx context.Context, before time.Time, after *ledger.ExpiredCursor, limit int) (ledger.ExpiredPage, error)
	DueDeliveries(ctx context.Context, before time.Time, after *ledger.DeliveryCursor, limit int) (ledger.DeliveryPage, error)
}

// Reporter makes reports. What it reads is bounded, however many tasks there are: those
// that are due, which the sweep keeps few, and those that have met trouble, which were
// noted when they did.
type Reporter struct {
	Ledger Source
	// Known and Outside are a sweep's: which agent versions run here, and which of them
	// are worked on outside. nil: every one, none.
	Known, Outside func(agent string, version int) bool
	Now            func() time.Time
	// Late is how late what should happen by itself may be before it is trouble.
	Late time.Duration
	// PurgePatience is how long a task may be there after it has expired: as long as it is
	// left to whoever else removes it.
	PurgePatience time.Duration
	// Window is how long a light shows an event that is over.
	Window time.Duration
	// LastSweep is when a sweep last came to its end. nil: as it was noted.
	LastSweep func() time.Time
}

// scope is whose tasks a report is about.
type scope struct {
	tenant string
	all    bool
}

func (s scope) has(ref lifecycle.Ref) bool { return s.all || ref.Tenant == s.tenant }

// Report is a tenant's: of other tenants' tasks it says nothing (I10).
func (r *Reporter) Report(ctx context.Context, tenant string) (Report, error) {
	return r.report(ctx, scope{tenant: tenant})
}

// Survey is of everybody's tasks, and of the invariants that are states: who meets an
// event has counted it already. What it finds to be over it forgets, so that the next
// one has less to look at.
func (r *Reporter) Survey(ctx context.Context) (Report, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyTime)
	defer cancel()
	return r.report(ctx, scope{all: true})
}

// measure is what was found of one invariant.
type measure struct {
	value  float64
	tasks  []Task
	oldest time.Time
	more   bool
	unread []ledger.Unread
}

// skip passes over what cannot be read, for the sake of the others: it is told apart. An
// error that goes by ends the report.
func (m *measure) skip(ref lifecycle.Ref, err error) error {
	for _, passes := range []error{ledger.ErrUnavailable, ledger.ErrBusy, context.Canceled, context.DeadlineExceeded} {
		if err == nil || errors.Is(err, passes) {
			return err
		}
	}
	m.unread = append(m.unread, ledger.Unread{Ref: ref, Err: err})
	return nil
}

// add counts a task.
func (m *measure) add(t Task) {
	m.value++
	m.list(t)
}

func (m *measure) has(ref lifecycle.Ref) bool {
	return slices.ContainsFunc(m.tasks, func(t Task) bool { return t.ref == ref })
}

// list names a task, and counts nothing.
func (m *measure) list(t Task) {
	m.tasks = append(m.tasks, t)
	m.since(t.Since)
}

func (m *measure) since(at time.Time) {
	if !at.IsZero() && (m.oldest.IsZero() || at.Before(m.oldest)) {
		m.oldest = at
	}
}

func (r *Reporter) report(ctx context.Context, s scope) (Report, error) {
	now := r.Now()
	due, err := r.due(ctx, s, now)
	if err != nil {
		return Report{}, err
	}
	asked := slices.DeleteFunc(Invariants(), func(v Invariant) bool { return s.all && v.Event })
	measures := make([]measure, len(asked))
	errs := make([]error, len(asked))
	var all sync.WaitGroup
	for i, v := range asked {
		all.Go(func() { measures[i], errs[i] = r.measure(ctx, v, s, due, now) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return Report{}, err
	}
	report := Report{At: lifecycle.Millis(now), Lights: make([]Light, len(asked))}
	for i, v := range asked {
		report.Lights[i] = light(v, measures[i], now)
		report.unread = append(report.unread, measures[i].unread...)
	}
	return report, nil
}

func (r *Reporter) measure(ctx context.Context, v Invariant, s scope, due dues, now time.Time) (measure, error) {
	switch v.ID {
	case TaskPastDue:
		return r.untaken(ctx, s, due.wrong[v.ID])
	case EffectInDoubt:
		return r.inDoubt(ctx, s, due.left, now)
	case Undelivered:
		return r.undelivered(ctx, s, now)
	case DeliveryGivenUp:
		return r.givenUp(ctx, s)
	case SweepSilent:
		return r.swept(ctx, now)
	case StreamBehind:
		return r.streamBehind(ctx, now)
	case UnknownVersion:
		return r.unknown(ctx, s, due.wrong[v.ID], now)
	case PausePastDue:
		return due.wrong[v.ID], nil
	case PurgeBehind:
		return r.unpurged(ctx, s, now)
	default:
		return r.events(ctx, v, s, now)
	}
}

// light is what an invariant's measure shows.
func light(v Invariant, m measure, now time.Time) Light {
	metric, _ := metrics.Of(v.Metric)
	l := Light{
		Invariant: v.ID, Rule: v.Rule, Name: v.Name, Means: v.Means, Metric: string(v.Metric), Unit: metric.Unit, Runbook: Runbook + "#" + string(v.ID),
		Light: v.color(m.value, m.oldest, now), Value: m.value, Oldest: m.oldest, More: m.more || len(m.unread) > 0, Unread: len(m.unread),
	}
	if l.Light == Green && l.Unread > 0 {
		l.Light = Amber // nobody knows whether it is
	}
	m.tasks = slices.DeleteFunc(m.tasks, func(t Task) bool { return t.Task == "" })
	l.Count = len(m.tasks)
	slices.SortStableFunc(m.tasks, func(a, b Task) int { return a.Since.Compare(b.Since) })
	l.Tasks = m.tasks[:min(len(m.tasks), MaxTasks)]
	return l
}
