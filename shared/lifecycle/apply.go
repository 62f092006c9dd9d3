package lifecycle

import (
	"fmt"
	"time"
)

// Apply folds one entry into a task. It checks what makes the history one
// history (I1): the numbering, the chain, the payload's digest, and that the
// entry may come here at all.
func Apply(t Task, e Entry) (Task, error) {
	next, _, err := apply(t, e)
	return next, err
}

// apply is Apply for those who need the event as well.
func apply(t Task, e Entry) (Task, Event, error) {
	if e.Task != t.Task {
		return t, Event{}, fmt.Errorf("entry %d belongs to task %s, not to %s", e.Seq, e.Task, t.Task)
	}
	if e.Seq != t.Seq+1 {
		return t, Event{}, fmt.Errorf("entry %d follows entry %d: the numbering has a gap", e.Seq, t.Seq)
	}
	if got := DigestBytes(e.Payload); got != e.PayloadDigest {
		return t, Event{}, fmt.Errorf("entry %d: the payload's digest is %s, recorded is %s", e.Seq, got, e.PayloadDigest)
	}
	if got := e.ChainAfter(t.Chain); got != e.Chain {
		return t, Event{}, fmt.Errorf("entry %d: the chain gives %s, recorded is %s", e.Seq, got, e.Chain)
	}
	if !e.AcceptedAt.Equal(Millis(e.AcceptedAt)) || !e.ObservedAt.Equal(Millis(e.ObservedAt)) {
		return t, Event{}, fmt.Errorf("entry %d: its instants have more than the milliseconds that the chain covers", e.Seq)
	}
	ev, err := e.Event()
	if err != nil {
		return t, ev, err
	}
	next, err := applyEvent(t, e, ev)
	if err == nil && ev.Ending != nil {
		err = checkManifest(next, ev.Ending)
	}
	if err != nil {
		return t, ev, err
	}
	return next, ev, nil
}

// checkManifest holds the terminal receipt against the artifacts that were
// folded.
func checkManifest(t Task, end *Ending) error {
	got, err := manifestDigest(Manifest(t.Arts))
	if err != nil {
		return err
	}
	if listed, err := manifestDigest(end.Manifest); err != nil || got != end.ManifestDigest || got != listed {
		return fmt.Errorf("entry %d: the manifest's digest is %s, recorded is %s", t.Seq, got, end.ManifestDigest)
	}
	return nil
}

// Fold is the folded part of a task, from its entries alone.
func Fold(ref Ref, entries []Entry) (Task, error) {
	t := Task{Head: Head{Tenant: ref.Tenant, Task: ref.Task}}
	for _, e := range entries {
		var err error
		if t, err = Apply(t, e); err != nil {
			return t, err
		}
	}
	return t, nil
}

// applyEvent is the one place where an event changes the folded state.
func applyEvent(t Task, e Entry, ev Event) (Task, error) {
	err := checkShape(t, ev)
	if err == nil {
		err = checkCounts(t, e, ev)
	}
	if err != nil {
		return t, fmt.Errorf("entry %d (%s): %w", e.Seq, ev.Type, err)
	}
	acceptedAt := Millis(e.AcceptedAt)
	t.Seq, t.Chain = e.Seq, e.Chain
	t.Grants, t.Untaken = 0, 0
	if e.Fence > 0 {
		t.EntryFence = e.Fence
	}
	if ev.Submission != nil {
		s := ev.Submission
		t.ContextID, t.Agent, t.AgentVersion, t.Step = s.ContextID, s.Agent, s.AgentVersion, s.Step
		t.Principal, t.Policy, t.LifeEndsAt = s.Principal, s.Policy, s.LifeEndsAt
		t.AcceptedAt, t.Visit, t.RetainSecs = acceptedAt, 1, s.RetainSeconds
		t.judgedBy(s.Terms)
	}
	if ev.State != "" && ev.State != t.State {
		t.State, t.StatusAt = ev.State, acceptedAt
	}
	switch ev.Type {
	case TypeSubmitted, TypeReply:
		t.MessageSeq = e.Seq
		t.Pause = nil
	case TypeAuthorized:
		t.Pause, t.Challenge = nil, nil
	case TypePaused:
		t.Pauses = ev.Pause.Number
		t.Pause = &Pause{Number: ev.Pause.Number, DeadlineAt: ev.Pause.DeadlineAt, Outcome: ev.Pause.Outcome, Named: ev.Pause.Named}
		if ev.Pause.Challenge != nil {
			t.Challenge = ev.Pause.Challenge
		}
	case TypeEnded:
		t.Pause, t.Challenge, t.NextAt = nil, nil, time.Time{}
		t.ExpiresAt = acceptedAt.Add(t.retention(ev.State))
	}
	if c := ev.Checkpoint; c != nil {
		if c.Visit != t.Visit {
			t.Attempt, t.NextAt = 0, time.Time{}
		}
		t.Step, t.Visit, t.CheckpointSeq = c.Step, c.Visit, e.Seq
	}
	if w := ev.Wait; w != nil {
		t.NextAt, t.Attempt = w.Until, w.Attempt
	}
	if c := ev.Chunk; c != nil {
		before, known := t.Arts[c.Artifact]
		after := before.grow(*c, e.Seq)
		if !known {
			t.Artifacts++
		}
		if known && !before.Sealed {
			t.Unsealed--
		}
		if !after.Sealed {
			t.Unsealed++
		}
		t = t.withArtifact(after)
	}
	return t, nil
}
