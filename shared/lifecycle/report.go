package lifecycle

import (
	"cmp"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func decideReport(t Task, c Report, now time.Time) (Decision, error) {
	if r := holds(t, c.Holder, c.Fence); r != nil {
		return Decision{}, r
	}
	repeats, r := c.again()
	if r != nil {
		return Decision{}, r
	}
	if repeats != nil {
		return Decision{After: t.Head, Repeats: repeats}, nil
	}
	if r := c.Place.follows(); r != nil {
		return Decision{}, r
	}
	if d, err := overdue(t, now); err != nil {
		return d, err
	}
	switch {
	case t.Cancel != nil && !c.ends() && c.Place != nil && c.Verb != VerbCancel:
		// A worker of somebody else's is asked: it may have got there.
		return Decision{}, reject(CancelPending, "a cancellation was requested: report cancel, or how the work has ended")
	case t.Cancel != nil && !c.ends():
		return canceled(t, *t.Cancel)
	case c.Verb == VerbCancel:
		return Decision{}, reject(IllegalTransition, "no cancellation was requested")
	}
	room := MaxEntries - reservedEntries
	if c.ends() {
		room = MaxEntries
	}
	if int(t.Seq)+len(c.Updates)+2 > room {
		return end(t, Failed, "entry limit", agentText("The task reached its limit of entries."))
	}
	if t.Cancel != nil {
		return endAnyway(t, c, now)
	}
	return report(t, c, now)
}

func (c Report) ends() bool {
	return c.Verb == VerbComplete || c.Verb == VerbReject || c.Verb == VerbFail
}

// endAnyway is the end of a holder that had got there when it met a requested
// cancellation: its own end, with the request in the history.
func endAnyway(t Task, c Report, now time.Time) (Decision, error) {
	mark := *t.Cancel
	t.Cancel = nil
	d, err := report(t, c, now)
	if err != nil {
		return d, err
	}
	d.Events = append([]Event{{Type: TypeCancelRequested, Cancel: &mark}}, d.Events...)
	return d, nil
}

// report builds the events of a report: one for each update, and the checkpoint
// rides on the last.
func report(t Task, c Report, now time.Time) (Decision, error) {
	events, arts, err := updates(t, c)
	if err != nil {
		return Decision{}, err
	}
	t.Arts = arts
	after := t.Head
	switch c.Verb {
	case VerbSubStep:
		return Decision{After: after, Events: ride(events, &Checkpoint{Step: t.Step, Visit: t.Visit, State: c.State})}, nil
	case VerbProgress:
		if len(events) == 0 && len(c.State) == 0 && len(c.Updates) > 0 { // all of it is there, and only the count moves on
			return Decision{After: after, Repeats: c.Updates[0].There}, nil
		}
		return progress(t, c, events)
	case VerbContinue:
		if !c.Keep {
			after.free()
			after.DueAt = now.Add(c.Grace)
		}
		return Decision{After: after, Events: ride(events, &Checkpoint{Step: c.Next, Visit: t.Visit + 1, State: c.State})}, nil
	case VerbSleep, VerbRetry, VerbWait:
		// A wait beyond the task's life is one to its end.
		w := Event{Type: TypeWaiting, Message: c.Message, Wait: &Wait{Until: earlier(Millis(c.Until), t.LifeEndsAt), Reason: clip(c.Reason)}}
		switch c.Verb {
		case VerbSleep:
			w.Checkpoint = &Checkpoint{Step: c.Next, Visit: t.Visit + 1, State: c.State}
		case VerbRetry:
			w.Wait.Attempt = t.Attempt + 1
		default:
			w.Wait.Attempt = t.Attempt
		}
		after.free()
		after.DueAt = earlier(later(w.Wait.Until, now).Add(c.Grace), t.LifeEndsAt)
		return Decision{After: after, Events: append(events, w)}, nil
	case VerbPause:
		return pause(t, c, events, now)
	case VerbComplete:
		for _, item := range Manifest(t.Arts) { // by ID: the same task is always answered alike
			if !item.Sealed {
				return Decision{}, reject(OpenArtifact, "artifact %q is open: seal it with a last chunk before completing", item.ID)
			}
		}
		return ending(t, c, Completed, events)
	case VerbReject:
		return ending(t, c, Rejected, events)
	case VerbFail:
		return ending(t, c, Failed, events)
	default:
		return Decision{}, reject(IllegalTransition, "unknown verb %q", c.Verb)
	}
}

func ending(t Task, c Report, state a2a.TaskState, events []Event) (Decision, error) {
	d, err := end(t, state, c.Reason, c.Message)
	if err != nil {
		return d, err
	}
	d.Events = append(events, d.Events...)
	return d, nil
}

func pause(t Task, c Report, events []Event, now time.Time) (Decision, error) {
	terms := c.Pause
	if terms == nil || !Interrupted(terms.State) {
		return Decision{}, reject(IllegalTransition, "a pause is for input or for authorization")
	}
	if r := mayMove(t.State, terms.State, false); r != nil {
		return Decision{}, r
	}
	timeout := cmp.Or(terms.Timeout, DefaultPause)
	if timeout < 0 || timeout > MaxPause {
		return Decision{}, reject(LimitReached, "a pause lasts at most %s", MaxPause)
	}
	// What the agent may know is refused; what the task's policy says, it cannot know.
	timeout = min(timeout, t.LongestPause())
	outcome := cmp.Or(terms.Outcome, Failed)
	if outcome != Failed && outcome != Canceled {
		return Decision{}, reject(IllegalTransition, "a pause that nobody answers ends as failed or canceled, not as %s", outcome)
	}
	p := &Pause{Number: t.Pauses + 1, DeadlineAt: Millis(now.Add(timeout)), Outcome: outcome, Named: terms.Named}
	if terms.State == AuthRequired {
		if terms.Challenge == nil || terms.Challenge.Action == "" {
			return Decision{}, reject(IllegalTransition, "a pause for authorization names the action to be authorized")
		}
		if r := checkNames(MaxIDBytes, "an action", terms.Challenge.Action, "an audience", terms.Challenge.Audience); r != nil {
			return Decision{}, r
		}
		challenge := *terms.Challenge
		challenge.Number, challenge.ExpiresAt = p.Number, p.DeadlineAt
		p.Challenge = &challenge
	}
	after := t.Head
	after.free()
	after.DueAt = earlier(p.DeadlineAt, t.LifeEndsAt)
	ev := Event{Type: TypePaused, State: terms.State, Message: c.Message, Pause: p}
	if c.Place == nil || len(c.State) > 0 { // a worker from outside may keep its state itself
		ev.Checkpoint = &Checkpoint{Step: c.Next, Visit: t.Visit + 1, State: c.State}
	}
	return Decision{After: after, Events: append(events, ev)}, nil
}

// updates gives chunks their coordinates and bounds the commit.
func updates(t Task, c Report) ([]Event, map[a2a.ArtifactID]Artifact, error) {
	if len(c.State) > MaxCheckpointBytes {
		return nil, nil, reject(LimitReached, "the state has %d bytes, the limit is %d", len(c.State), MaxCheckpointBytes)
	}
	if len(c.State) > 0 && (!json.Valid(c.State) || !utf8.Valid(c.State)) {
		return nil, nil, reject(InvalidContent, "the state is no JSON")
	}
	if r := checkName("a step's name", c.Next, MaxNameBytes); r != nil {
		return nil, nil, r
	}
	if r := checkMessage(c.Message); r != nil {
		return nil, nil, r
	}
	if len(c.Updates) > MaxEntriesPerCommit-2 {
		return nil, nil, reject(LimitReached, "%d updates in one commit, the limit is %d", len(c.Updates), MaxEntriesPerCommit-2)
	}
	events := make([]Event, 0, len(c.Updates)+2)
	here := map[coordinate]There{} // what this report itself has placed
	touched := map[a2a.ArtifactID]bool{}
	chunks := 0
	for _, u := range c.Updates {
		if u.Chunk == nil && u.Message == nil {
			return nil, nil, reject(InvalidContent, "an update is a message or a chunk")
		}
		if u.Chunk == nil {
			if r := checkMessage(u.Message); r != nil {
				return nil, nil, r
			}
			events = append(events, Event{Type: TypeProgress, Message: u.Message})
			continue
		}
		if r := checkChunk(u.Chunk); r != nil {
			return nil, nil, r
		}
		there, known := here[u.Chunk.coordinate()]
		if u.There != nil {
			there, known = *u.There, true
		}
		if u.Named && known {
			if r := there.holds(*u.Chunk); r != nil {
				return nil, nil, r
			}
			continue
		}
		placed, err := t.placeChunk(u)
		if err != nil {
			return nil, nil, err
		}
		here[placed.coordinate()] = There{Checksum: placed.Checksum, Last: placed.Last}
		chunks++
		touched[placed.Artifact] = true
		if chunks > MaxChunksPerCommit || len(touched) > MaxArtifactsPerCommit {
			return nil, nil, reject(LimitReached, "a commit takes %d chunks of %d artifacts: commit sub-steps", MaxChunksPerCommit, MaxArtifactsPerCommit)
		}
		events = append(events, Event{Type: TypeChunk, Chunk: &placed})
		t = t.withArtifact(t.Arts[placed.Artifact].grow(placed, 0))
	}
	return events, t.Arts, nil
}

// ride puts the checkpoint on the last event, or on an entry of its own.
func ride(events []Event, c *Checkpoint) []Event {
	if len(events) == 0 {
		return []Event{{Type: TypeCheckpoint, Checkpoint: c}}
	}
	events[len(events)-1].Checkpoint = c
	return events
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
