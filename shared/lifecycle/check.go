package lifecycle

import "fmt"

// Broken is a violated invariant.
type Broken struct {
	Invariant string // "I1" … "I12"
	Detail    string
}

// Error implements error.
func (b Broken) Error() string { return b.Invariant + " is broken: " + b.Detail }

// Check tests the invariants that can be seen on one task. In tests it runs after
// every commit.
func Check(t Task) []Broken {
	var out []Broken
	want := func(ok bool, invariant, format string, args ...any) {
		if !ok {
			out = append(out, Broken{invariant, fmt.Sprintf(format, args...)})
		}
	}
	want(t.Seq > 0 && t.Chain != "", "I1", "a task without entries")
	want(Known(t.State), "I1", "unknown state %q", t.State)
	want(t.CheckpointSeq <= t.Seq && t.MessageSeq <= t.Seq && t.MessageSeq > 0, "I1", "the head points beyond its entries")
	want(t.EntryFence <= t.Fence, "I3", "an entry was written under fence %d, the head is at %d", t.EntryFence, t.Fence)
	want(t.Holder == "" || t.Fence > 0, "I3", "a lease without a fence")
	want(t.Unsealed >= 0 && t.Unsealed <= t.Artifacts, "I6", "%d open artifacts of %d", t.Unsealed, t.Artifacts)
	if t.Arts != nil {
		open := 0
		for _, a := range t.Arts {
			if !a.Sealed {
				open++
			}
		}
		want(len(t.Arts) == t.Artifacts && open == t.Unsealed, "I6", "the head counts %d artifacts, %d open; there are %d, %d open", t.Artifacts, t.Unsealed, len(t.Arts), open)
	}
	want(t.Grants <= MaxGrants, "I8", "%d leases without a new entry", t.Grants)
	if t.Terminal() {
		want(t.Holder == "" && t.Pause == nil && t.Challenge == nil && t.Cancel == nil && t.NextAt.IsZero(), "I2", "an ended task with a lease, a pause or a wait")
		want(!t.ExpiresAt.IsZero(), "I8", "an ended task without an expiry")
		want(t.checkAcknowledged() == "", "I8", "%s", t.checkAcknowledged())
		want(t.DueAt.IsZero(), "I8", "an ended task that is due")
		want(t.State != Completed || t.Unsealed == 0, "I6", "completed with %d open artifacts", t.Unsealed)
		return out
	}
	want(t.AckedAt.IsZero(), "I2", "a live task whose end was acknowledged")
	want(!t.LifeEndsAt.IsZero(), "I8", "a task without a longest life")
	want(!t.DueAt.IsZero(), "I8", "a live task that nobody will look at")
	want(Interrupted(t.State) == (t.Pause != nil), "I8", "state %s and pause %v", t.State, t.Pause)
	if t.Pause != nil {
		want(!t.Pause.DeadlineAt.IsZero() && t.Pause.Outcome.Terminal(), "I8", "a pause without a deadline or an outcome")
		want(t.Holder == "", "I8", "a paused task holds a lease")
	}
	want((t.State == AuthRequired) == (t.Challenge != nil), "I12", "state %s and challenge %v", t.State, t.Challenge)
	return out
}
