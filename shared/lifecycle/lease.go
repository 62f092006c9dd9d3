package lifecycle

import "time"

func decideGrant(t Task, c Grant, now time.Time) (Decision, error) {
	switch {
	case c.Holder == "":
		return Decision{}, reject(LimitReached, "a holder has a name")
	case c.Generation != t.Generation:
		return Decision{}, reject(Superseded, "the execution is of generation %d, the task is at %d", c.Generation, t.Generation)
	case t.Leased(now) && t.Holder != c.Holder:
		return Decision{}, reject(LeaseHeld, "%s holds the lease until %s", t.Holder, t.LeaseUntil.Format(time.RFC3339Nano))
	}
	if r := checkName("a holder's name", c.Holder, MaxIDBytes); r != nil {
		return Decision{}, r
	}
	if d, err := overdue(t, now); err != nil {
		return d, err
	}
	switch {
	case t.Cancel != nil:
		// Whoever held the lease when the cancellation came is gone: its successor
		// decides in its place.
		return canceled(t, *t.Cancel)
	case Interrupted(t.State):
		return Decision{}, reject(IllegalTransition, "the task is in %s; nothing runs while it waits", t.State)
	case t.NextAt.After(now):
		return Decision{}, reject(NotDue, "the task runs again at %s", t.NextAt.Format(time.RFC3339Nano))
	case t.Grants >= MaxGrants:
		return end(t, Failed, "no progress", agentText("The task made no progress over its last attempts."))
	}
	after := t.Head
	after.Holder, after.Fence = c.Holder, t.Fence+1
	after.LeaseUntil = now.Add(c.Lease)
	after.Grants++
	after.Turns++
	after.Untaken = 0
	after.DueAt = after.LeaseUntil.Add(c.Grace)
	d := Decision{After: after}
	if t.State == Submitted {
		d.Events = []Event{{Type: TypeStarted, State: Working}}
	}
	return d, nil
}

func decideRenew(t Task, c Renew, now time.Time) (Decision, error) {
	if r := holds(t, c.Holder, c.Fence); r != nil {
		return Decision{}, r
	}
	if t.Cancel != nil {
		return Decision{}, reject(CancelPending, "a cancellation was requested")
	}
	after := t.Head
	after.LeaseUntil = now.Add(c.Lease)
	if c.Grace > 0 {
		after.DueAt = earlier(after.DueAt, after.LeaseUntil.Add(c.Grace))
	}
	return Decision{After: after}, nil
}

func decideRelease(t Task, c Release, now time.Time) (Decision, error) {
	if r := holds(t, c.Holder, c.Fence); r != nil {
		return Decision{}, r
	}
	if t.Cancel != nil {
		return canceled(t, *t.Cancel)
	}
	after := t.Head
	after.free()
	after.DueAt = now.Add(c.Grace)
	return Decision{After: after}, nil
}

// holds checks the fence (I3). A lease that has run out is still its holder's
// until somebody else was granted one: the fence decides, not the clock.
func holds(t Task, holder string, fence uint64) *Rejection {
	if holder == "" || fence == 0 || fence != t.Fence || holder != t.Holder {
		return reject(FenceLost, "the lease with fence %d is over; the task is at fence %d", fence, t.Fence)
	}
	return nil
}
