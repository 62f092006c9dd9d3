package console

import (
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Trouble is why a task may never advance by itself.
type Trouble struct {
	Reason string    `json:"reason"`
	Since  time.Time `json:"since,omitzero"`
	Says   string    `json:"says"` // in a sentence
}

const (
	// weary is how many leases without an entry, or generations without a lease, say that
	// a task does not get on.
	weary = 3
	// unclaimed is how long a task may wait for a worker from outside.
	unclaimed = 5 * time.Minute
)

// trouble looks at a head alone, so that a list of thousands can be asked for what is
// stuck. What a head does not show is an effect that is held (see heldOf).
func (c *Console) trouble(h lifecycle.Head, now time.Time) (out []Trouble) {
	if h.Terminal() {
		return nil
	}
	add := func(reason string, since time.Time, format string, args ...any) {
		out = append(out, Trouble{reason, since, fmt.Sprintf(format, args...)})
	}
	agent, known := c.known(h.Agent, h.AgentVersion)
	// When somebody must look does not move with renewals: a lease that counts is enough.
	overdue := !h.Leased(now) && !h.DueAt.IsZero() && now.After(h.DueAt.Add(c.Grace))
	switch {
	case !now.Before(h.LifeEndsAt):
		add("life-over", h.LifeEndsAt, "Its longest life is over, and it was not ended: the sweep does not run.")
	case h.Pause != nil && !now.Before(h.Pause.DeadlineAt):
		add("pause-past-due", h.Pause.DeadlineAt, "The deadline of its question has passed, and the outcome was not committed: the sweep does not run.")
	case h.Pause != nil: // it waits for somebody, and has a deadline
	case !known:
		add("unknown-version", h.StatusAt, "Nothing here can run %s@%d: deploy it, or cancel the task.", h.Agent, h.AgentVersion)
	case agent.Outside:
		since := h.StatusAt
		if h.LeaseUntil.After(since) {
			since = h.LeaseUntil
		}
		if !h.Leased(now) && now.Sub(since) >= unclaimed {
			add("unclaimed", since, "No worker from outside has claimed it.")
		}
	case overdue && h.Cancel != nil:
		add("cancel-unmet", h.Cancel.At, "Its cancellation was requested, and nobody is there to meet it.")
	case overdue:
		add("past-due", h.DueAt, "Somebody should work on it, and nobody does: it holds no lease that counts.")
	}
	if h.Grants >= weary {
		add("no-progress", time.Time{}, "It was granted %d leases without an entry: its step may kill its process. At %d it fails.", h.Grants, lifecycle.MaxGrants)
	}
	if h.Untaken >= weary && known {
		add("untaken", time.Time{}, "%d executions in a row took no lease.", h.Untaken)
	}
	return out
}

// heldOf are the effects for which a task waits until an operator has settled them.
func heldOf(effects []lifecycle.Effect, h lifecycle.Head, now time.Time) (out []Trouble) {
	for _, e := range effects {
		if since, doubt := e.Doubtful(now); doubt && e.Policy == lifecycle.PolicyHold && !h.Terminal() {
			out = append(out, Trouble{"effect-held", since, fmt.Sprintf("Effect %s is in doubt and held: ask the other side, and settle it under Effects.", e.Name)})
		}
	}
	return out
}

// waits says whether a task waits for another attempt, or for an effect that is held. A
// sleep moves on and waits in one entry.
func waits(h lifecycle.Head, now time.Time) bool {
	return h.NextAt.After(now) && h.CheckpointSeq != h.Seq
}
