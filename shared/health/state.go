package health

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// doubtPatience is how long an effect in doubt is left to its own policy: another
// attempt, or a question to the other side. One that is held waits for an operator
// from the beginning.
const doubtPatience = 5 * time.Minute

// inDoubt counts the effects in doubt that nobody is about to settle: of tasks of which it
// was noted, and of those whose holder is gone and that nobody has taken over yet.
func (r *Reporter) inDoubt(ctx context.Context, s scope, left []lifecycle.Ref, now time.Time) (measure, error) {
	var m measure
	err := r.standing(ctx, s, EffectInDoubt, &m, func(f ledger.Finding) (bool, error) {
		return r.doubts(ctx, &m, f.Ref, now)
	})
	for _, ref := range left {
		if err == nil && !m.has(ref) {
			_, err = r.doubts(ctx, &m, ref, now)
			err = m.skip(ref, err)
		}
	}
	return m, err
}

// doubts counts a task's effects in doubt, and says whether one is, or may come to be.
func (r *Reporter) doubts(ctx context.Context, m *measure, ref lifecycle.Ref, now time.Time) (bool, error) {
	effects, err := r.Ledger.EffectList(ctx, ref)
	if err != nil {
		return false, err
	}
	var standing, counted bool
	var oldest time.Time
	for _, e := range effects {
		since, doubtful := e.Doubtful(now)
		// While its call may be out nobody knows, and whoever has met it does not say so again.
		standing = standing || doubtful || e.Out(now)
		if !doubtful || e.Policy != lifecycle.PolicyHold && now.Sub(since) < doubtPatience {
			continue
		}
		m.value++
		if !counted || since.Before(oldest) {
			oldest = since
		}
		counted = true
	}
	if counted {
		t, err := r.named(ctx, ref, oldest)
		if err != nil {
			return true, err
		}
		m.list(t)
	}
	return standing, nil
}

// named is a task with what its head says of it; without an instant, it is since it has
// expired.
func (r *Reporter) named(ctx context.Context, ref lifecycle.Ref, since time.Time) (Task, error) {
	h, err := r.Ledger.Head(ctx, ref)
	if errors.Is(err, ledger.ErrNotFound) {
		h, err = lifecycle.Head{Tenant: ref.Tenant, Task: ref.Task}, nil
	}
	if since.IsZero() {
		since = h.ExpiresAt
	}
	return taskOf(h, since), err
}

// undelivered measures the oldest update that an endpoint has not taken, though it
// was asked to, or that nobody has brought it though it is late.
func (r *Reporter) undelivered(ctx context.Context, s scope, now time.Time) (measure, error) {
	var m measure
	err := r.standing(ctx, s, Undelivered, &m, func(f ledger.Finding) (bool, error) {
		endpoints, err := r.Ledger.EndpointList(ctx, f.Ref)
		if err != nil {
			return false, err
		}
		lacking := slices.DeleteFunc(endpoints, func(e ledger.Endpoint) bool { return !waits(e.Delivery) })
		return r.lacks(ctx, &m, f.Ref, lacking, now)
	})
	if err != nil {
		return m, err
	}
	more, err := through(s, func(after *ledger.DeliveryCursor) ([]ledger.DueDelivery, *ledger.DeliveryCursor, error) {
		page, err := r.Ledger.DueDeliveries(ctx, now.Add(-r.Late), after, maxFound)
		return page.Due, page.Next, err
	}, func(at ledger.DueDelivery) lifecycle.Ref { return at.Ref }, func(at ledger.DueDelivery) error {
		if m.has(at.Ref) {
			return nil
		}
		e, err := r.Ledger.Endpoint(ctx, at.Ref, at.ID)
		if err == nil {
			_, err = r.lacks(ctx, &m, at.Ref, []ledger.Endpoint{e}, now)
		}
		return m.skip(at.Ref, ledger.IgnoreNotFound(err))
	})
	if m.more = m.more || more; m.more {
		// What was met longest ago is what was not looked at: it may be as old as can be.
		v, _ := Of(Undelivered)
		m.value = max(m.value, v.Red)
	}
	return m, err
}

// through goes through a list of everybody's, and has those looked at that a report is
// about: maxFound of them at most, among maxDue of all. It says whether there are more
// of them; of other tenants it says nothing (I10).
func through[T, C any](s scope, list func(after *C) ([]T, *C, error), ref func(T) lifecycle.Ref, each func(T) error) (more bool, err error) {
	var after *C
	for looked, own := 0, 0; looked < maxDue; looked += maxFound {
		page, next, err := list(after)
		if err != nil {
			return false, err
		}
		for _, v := range page {
			if !s.has(ref(v)) {
				continue
			}
			if own++; own > maxFound {
				return true, nil
			}
			if err := each(v); err != nil {
				return false, err
			}
		}
		if after = next; after == nil {
			return false, nil
		}
		if s.all && own == maxFound {
			return true, nil
		}
	}
	return s.all, nil
}

// waits says whether an update was to be delivered and was not: the endpoint did not take
// it, or somebody was told to come and something of ours is in the way. One that nobody
// looks at any more has everything, or its task has expired.
func waits(d ledger.Delivery) bool {
	return !d.DueAt.IsZero() && (d.Attempt > 0 || !d.NextAt.IsZero())
}

// lacks measures what active endpoints of a task lack, and says whether they lack
// anything.
func (r *Reporter) lacks(ctx context.Context, m *measure, ref lifecycle.Ref, endpoints []ledger.Endpoint, now time.Time) (bool, error) {
	var oldest time.Time
	for _, e := range endpoints {
		if e.Delivery.State != ledger.DeliveryActive {
			continue
		}
		entries, err := r.Ledger.Entries(ctx, ref, e.Delivery.Cursor, 1)
		if err != nil {
			return false, err
		}
		for _, first := range entries {
			if oldest.IsZero() || first.AcceptedAt.Before(oldest) {
				oldest = first.AcceptedAt
			}
		}
	}
	if oldest.IsZero() {
		return false, nil
	}
	t, err := r.named(ctx, ref, oldest)
	m.list(t)
	m.value = max(m.value, now.Sub(oldest).Round(time.Millisecond).Seconds())
	return true, err
}

// givenUp counts the endpoints that are not called any more.
func (r *Reporter) givenUp(ctx context.Context, s scope) (measure, error) {
	var m measure
	err := r.standing(ctx, s, DeliveryGivenUp, &m, func(f ledger.Finding) (bool, error) {
		endpoints, err := r.Ledger.EndpointList(ctx, f.Ref)
		if err != nil {
			return false, err
		}
		before := m.value
		for _, e := range endpoints {
			if e.Delivery.State == ledger.DeliveryGivenUp {
				m.value++
			}
		}
		if m.value == before {
			return false, nil
		}
		t, err := r.named(ctx, f.Ref, f.Last)
		m.list(t)
		return true, err
	})
	return m, err
}

// unpurged counts the tasks that have expired and are still there, those whose purge has
// begun among them.
func (r *Reporter) unpurged(ctx context.Context, s scope, now time.Time) (measure, error) {
	var m measure
	var err error
	m.more, err = through(s, func(after *ledger.ExpiredCursor) ([]lifecycle.Ref, *ledger.ExpiredCursor, error) {
		page, err := r.Ledger.Expired(ctx, now.Add(-r.PurgePatience-r.Late), after, maxFound)
		return page.Refs, page.Next, err
	}, func(ref lifecycle.Ref) lifecycle.Ref { return ref }, func(ref lifecycle.Ref) error {
		t, err := r.named(ctx, ref, time.Time{})
		if err == nil {
			m.add(t)
		}
		return m.skip(ref, err)
	})
	return m, err
}

// swept measures whether a sweep has come to its end lately.
func (r *Reporter) swept(ctx context.Context, now time.Time) (measure, error) {
	var last time.Time
	if r.LastSweep != nil {
		last = r.LastSweep()
	} else {
		page, err := r.Ledger.Found(ctx, ledger.FindingQuery{Kind: string(SweepSilent), Limit: 1})
		if err != nil {
			return measure{}, err
		}
		if len(page.Findings) > 0 {
			last = page.Findings[0].Last
		}
	}
	if now.Sub(last) <= r.Late {
		return measure{value: 1}, nil
	}
	return measure{oldest: last}, nil
}
