package health

import (
	"context"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// dues are the tasks that are due, by what is wrong with them, and those of them whose
// holder is gone and whose lease nobody has ended yet.
type dues struct {
	wrong map[ID]measure
	left  []lifecycle.Ref
}

// due sorts the tasks that are due by what is wrong with them. Where nothing is, the
// sweep will have them within the time that it is given.
func (r *Reporter) due(ctx context.Context, s scope, now time.Time) (dues, error) {
	found := dues{wrong: map[ID]measure{}}
	var after *ledger.DueCursor
	for looked, others := 0, false; ; {
		page, err := r.Ledger.Due(ctx, now, after, duePage)
		if err != nil {
			return dues{}, err
		}
		for _, u := range page.Unread {
			if s.has(u.Ref) {
				m := found.wrong[TaskPastDue]
				m.unread = append(m.unread, u)
				found.wrong[TaskPastDue] = m
			}
		}
		for _, h := range page.Heads {
			if !s.has(h.Ref()) {
				others = true
				continue
			}
			if h.Holder != "" && !h.Leased(now) && len(found.left) < maxFound {
				found.left = append(found.left, h.Ref())
			}
			if id, since := r.wrong(h, now); id != "" {
				m := found.wrong[id]
				m.add(taskOf(h, since))
				found.wrong[id] = m
			}
		}
		looked += duePage
		if after = page.Next; after == nil {
			return found, nil
		}
		if looked >= maxDue {
			if others {
				return found, nil // they may be all that there is more of (I10)
			}
			for _, id := range []ID{TaskPastDue, PausePastDue, UnknownVersion} {
				m := found.wrong[id]
				m.more = true
				found.wrong[id] = m
			}
			return found, nil
		}
	}
}

func taskOf(h lifecycle.Head, since time.Time) Task {
	return Task{ref: h.Ref(), Task: h.Task, Agent: h.Agent, AgentVersion: h.AgentVersion, State: h.State, Since: since}
}

// wrong says what is wrong with a task that is due, and since when; "" for nothing.
func (r *Reporter) wrong(h lifecycle.Head, now time.Time) (ID, time.Time) {
	late := func(since time.Time) bool { return now.Sub(since) > r.Late }
	switch {
	case h.Terminal(): // it has ended since the index was read
	case h.Pause != nil:
		if late(h.Pause.DeadlineAt) {
			return PausePastDue, h.Pause.DeadlineAt
		}
	case h.Leased(now), h.NextAt.After(now):
	case r.Known != nil && !r.Known(h.Agent, h.AgentVersion) && (r.Outside == nil || !r.Outside(h.Agent, h.AgentVersion)) && now.Before(h.LifeEndsAt):
		return UnknownVersion, h.DueAt
	case late(h.DueAt):
		return TaskPastDue, h.DueAt
	}
	return "", time.Time{}
}

// UntakenFrom is how many generations of a task in a row nobody has taken before it is
// trouble: one may be lost, and the sweep has told of it again.
const UntakenFrom = 2

// untaken adds to the tasks that are late those that were told of, again and again,
// and that nobody takes.
func (r *Reporter) untaken(ctx context.Context, s scope, m measure) (measure, error) {
	err := r.standing(ctx, s, TaskPastDue, &m, func(f ledger.Finding) (bool, error) {
		h, err := r.Ledger.Head(ctx, f.Ref)
		if err != nil || h.Terminal() || h.Untaken < UntakenFrom {
			return false, ledger.IgnoreNotFound(err)
		}
		if id, _ := r.wrong(h, r.Now()); id != UnknownVersion && !m.has(f.Ref) {
			m.add(taskOf(h, f.First))
		}
		return true, nil
	})
	return m, err
}

// unknownWait is how often a runner looks at a task whose agent version it does not
// have, and again as long.
const unknownWait = time.Minute

// unknown adds to the tasks that the sweep leaves alone those that a runner does: while
// a deploy is under way the two may know different versions.
func (r *Reporter) unknown(ctx context.Context, s scope, m measure, now time.Time) (measure, error) {
	err := r.standing(ctx, s, UnknownVersion, &m, func(f ledger.Finding) (bool, error) {
		h, err := r.Ledger.Head(ctx, f.Ref)
		if err != nil || h.Terminal() || h.Pause != nil || h.Leased(now) || now.Sub(f.Last) > unknownWait+r.Late {
			return false, ledger.IgnoreNotFound(err)
		}
		if !m.has(f.Ref) {
			m.add(taskOf(h, f.First))
		}
		return true, nil
	})
	return m, err
}

// fresh is how long a finding is not taken for over: whoever notes it does so before what
// it is about is written, and has had time for that then.
const fresh = time.Minute

// standing goes through the findings of a state, and has each looked at. A survey
// forgets what is over. One that cannot be read keeps nobody from the others.
func (r *Reporter) standing(ctx context.Context, s scope, id ID, m *measure, stands func(ledger.Finding) (bool, error)) error {
	page, err := r.Ledger.Found(ctx, ledger.FindingQuery{Kind: string(id), Tenant: s.tenant, All: s.all, Limit: maxFound})
	if err != nil {
		return err
	}
	m.more, m.unread = m.more || page.More, append(m.unread, page.Unread...)
	for _, f := range page.Findings {
		is, err := stands(f)
		switch {
		case err != nil:
			err = m.skip(f.Ref, err)
		case !is && s.all && r.Now().Sub(f.Last) >= fresh:
			err = r.Ledger.Forget(ctx, f, string(id))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
