package lifecycle_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The inputs of this file once broke something: each was accepted, and left a task that could not be read, did not
// fold to its head, or had lost something silently.

// TestUnreadableContentIsRefused: an entry that cannot be decoded again would make its task unreadable for ever.
func TestUnreadableContentIsRefused(t *testing.T) {
	var none map[string]any
	for what, part := range map[string]*a2a.Part{
		"null": nil, "no content": {}, "data null": a2a.NewDataPart(nil), "data of a nil map": a2a.NewDataPart(none), "data that is raw null": a2a.NewDataPart(json.RawMessage("null")),
		"nil bytes": a2a.NewRawPart(nil), "no address": a2a.NewFileURLPart("", "text/plain"), "data that is no number": a2a.NewDataPart(math.NaN()),
	} {
		m := say("text")
		m.Parts = append(m.Parts, part)
		b := started(t)
		for name, r := range map[string]lifecycle.Report{
			"progress": {Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Message: m}}},
			"chunk":    {Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Chunk: &lifecycle.Chunk{Artifact: "a", Part: part}}}},
			"end":      {Verb: lifecycle.VerbComplete, Message: m},
		} {
			r.Holder, r.Fence = "a", b.task.Fence
			if _, rejection, broken := b.do(r, lifecycle.Source{}, start); broken != nil || rejection == nil || rejection.Reason != lifecycle.InvalidContent {
				t.Errorf("%s in %s: %v, %v", what, name, rejection, broken)
			}
		}
		first := submit()
		first.Message = m
		newBook("t-2").refused(t, first, start, lifecycle.InvalidContent)
		r := b.report(lifecycle.VerbPause)
		r.Pause = &lifecycle.PauseTerms{State: lifecycle.InputRequired}
		b.must(t, r, start)
		b.refused(t, lifecycle.Reply{Message: m}, start, lifecycle.InvalidContent)
	}
	b := started(t)
	r := b.report(lifecycle.VerbSubStep)
	r.Updates = []lifecycle.Update{{}}
	b.refused(t, r, start, lifecycle.InvalidContent)
	r = b.report(lifecycle.VerbContinue)
	r.State = json.RawMessage(`{"n":`)
	b.refused(t, r, start, lifecycle.InvalidContent)
	first := submit()
	first.Message = nil
	newBook("t-2").refused(t, first, start, lifecycle.InvalidContent)
}

// TestEmptyContentIsContent: an empty text and an empty file are something.
func TestEmptyContentIsContent(t *testing.T) {
	b := started(t)
	r := b.report(lifecycle.VerbComplete)
	r.Message = say("")
	for _, p := range []*a2a.Part{a2a.NewTextPart(""), a2a.NewRawPart([]byte{}), a2a.NewDataPart(map[string]any{}), a2a.NewDataPart(false)} {
		r.Updates = append(r.Updates, lifecycle.Update{Chunk: &lifecycle.Chunk{Artifact: "a", Last: true, Part: p}})
	}
	b.must(t, r, start)
}

// TestTextThatIsNotUTF8: JSON would change it. What the head or a checksum was made of is refused; what is only shown
// is shown with replacement characters, and a failure can always be recorded.
func TestTextThatIsNotUTF8(t *testing.T) {
	const bad = "\xff"
	b := started(t)
	chunked := func(c *lifecycle.Chunk) lifecycle.Report {
		r := b.report(lifecycle.VerbSubStep)
		r.Updates = []lifecycle.Update{{Chunk: c}}
		return r
	}
	b.refused(t, chunked(chunk("a", bad, true)), start, lifecycle.InvalidContent)
	b.refused(t, chunked(chunk(bad, "text", true)), start, lifecycle.InvalidContent)
	r := b.report(lifecycle.VerbContinue)
	r.Next = bad
	b.refused(t, r, start, lifecycle.InvalidContent)
	r = b.report(lifecycle.VerbPause)
	r.Pause = &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Challenge: &lifecycle.Challenge{Action: bad}}
	b.refused(t, r, start, lifecycle.InvalidContent)
	first := submit()
	first.ContextID = bad
	newBook("t-2").refused(t, first, start, lifecycle.InvalidContent)

	r = b.report(lifecycle.VerbFail)
	r.Reason, r.Message = strings.Repeat("ä", lifecycle.MaxReasonBytes)[1:], say("failed: "+bad)
	b.must(t, r, start)
	ev, err := b.entries[len(b.entries)-1].Event()
	if err != nil {
		t.Fatal(err)
	}
	if reason := ev.Ending.Reason; strings.ContainsRune(reason, '\ufffd') || len(reason) > lifecycle.MaxReasonBytes || len(reason) < lifecycle.MaxReasonBytes-4 {
		t.Errorf("the reason was cut to %d bytes: %q", len(reason), reason)
	}
}

// TestStateKeepsItsDigits: an agent's typed state may hold integers that no double can.
func TestStateKeepsItsDigits(t *testing.T) {
	b := started(t)
	r := b.report(lifecycle.VerbContinue)
	r.State = json.RawMessage(`{"id":9007199254740993,"at":1772442000123456789,"hash":18446744073709551615}`)
	b.must(t, r, start)
	ev, err := b.entries[b.task.CheckpointSeq-1].Event()
	if err != nil || string(ev.Checkpoint.State) != string(r.State) {
		t.Errorf("the state came back as %s (%v)", ev.Checkpoint.State, err)
	}
}

// TestNobodyReports: when no lease is out, nobody's name is no holder's (I3).
func TestNobodyReports(t *testing.T) {
	b := started(t)
	b.must(t, b.report(lifecycle.VerbContinue), start)
	for _, c := range []lifecycle.Command{
		lifecycle.Report{Fence: b.task.Fence, Verb: lifecycle.VerbComplete}, lifecycle.Renew{Fence: b.task.Fence, Lease: lease}, lifecycle.Release{Fence: b.task.Fence},
	} {
		b.refused(t, c, start, lifecycle.FenceLost)
	}
}

// TestLimits: whoever meets a limit is told which.
func TestLimits(t *testing.T) {
	long := strings.Repeat("n", lifecycle.MaxIDBytes+1)
	for what, change := range map[string]func(*lifecycle.Submit){
		"contextId": func(c *lifecycle.Submit) { c.ContextID = long }, "agent": func(c *lifecycle.Submit) { c.Agent = long[:lifecycle.MaxNameBytes+1] },
		"step": func(c *lifecycle.Submit) { c.Step = long }, "policy": func(c *lifecycle.Submit) { c.Policy.Version = long },
		"life": func(c *lifecycle.Submit) { c.Policy.Life = 0 }, "retention": func(c *lifecycle.Submit) { c.Policy.Retention = 0 },
		"message": func(c *lifecycle.Submit) { c.Message = user("m", strings.Repeat("x", lifecycle.MaxMessageBytes)) },
	} {
		c := submit()
		change(&c)
		t.Run(what, func(t *testing.T) { newBook("t-1").refused(t, c, start, lifecycle.LimitReached) })
	}
	b := started(t)
	b.refused(t, grant(long, 1), start.Add(lease), lifecycle.LimitReached)
	r := b.report(lifecycle.VerbContinue)
	r.Next = long
	b.refused(t, r, start, lifecycle.LimitReached)
	r = b.report(lifecycle.VerbSubStep)
	r.Updates = []lifecycle.Update{{Chunk: chunk("a", strings.Repeat("x", lifecycle.MaxInlineBytes+1), true)}}
	b.refused(t, r, start, lifecycle.LimitReached)
	r.Updates = nil
	for range lifecycle.MaxChunksPerCommit + 1 {
		r.Updates = append(r.Updates, lifecycle.Update{Chunk: chunk("a", "x", true)})
	}
	b.refused(t, r, start, lifecycle.LimitReached)
	r.Updates = nil
	for i := range lifecycle.MaxArtifactsPerCommit + 1 {
		r.Updates = append(r.Updates, lifecycle.Update{Chunk: chunk(a2a.ArtifactID("a"+string(rune('0'+i))), "x", true)})
	}
	b.refused(t, r, start, lifecycle.LimitReached)
	r.Updates, r.State = nil, json.RawMessage(`"`+strings.Repeat("x", lifecycle.MaxCheckpointBytes)+`"`)
	b.refused(t, r, start, lifecycle.LimitReached)
	r = b.report(lifecycle.VerbPause)
	r.Pause = &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: lifecycle.MaxPause + 1}
	b.refused(t, r, start, lifecycle.LimitReached)
}

// TestEntryLimit: a task that runs into its limit fails, and no end of its own goes beyond it (I8).
func TestEntryLimit(t *testing.T) {
	at := func(seq uint64) *book {
		b := started(t)
		b.quick = true
		b.task.Seq = seq // a shortcut past what would be thousands of commits
		return b
	}
	decide := func(b *book, c lifecycle.Command) lifecycle.Decision {
		d, err := lifecycle.Decide(b.task, c, start)
		if err != nil {
			t.Fatalf("%T at %d: %v", c, b.task.Seq, err)
		}
		if last := b.task.Seq + uint64(len(d.Events)); last > lifecycle.MaxEntries {
			t.Errorf("%T at %d: leads to entry %d", c, b.task.Seq, last)
		}
		return d
	}
	b := at(lifecycle.MaxEntries - 9)
	if d := decide(b, b.report(lifecycle.VerbSubStep)); d.Events[0].State != lifecycle.Failed {
		t.Errorf("a task near its limit goes on: %+v", d.Events)
	}
	full := b.report(lifecycle.VerbComplete)
	for range lifecycle.MaxEntriesPerCommit - 2 {
		full.Updates = append(full.Updates, lifecycle.Update{Message: say("x")})
	}
	for _, seq := range []uint64{lifecycle.MaxEntries - 48, lifecycle.MaxEntries - 47, lifecycle.MaxEntries - 8, lifecycle.MaxEntries - 4, lifecycle.MaxEntries - 2} {
		for _, marked := range []bool{false, true} {
			b := at(seq)
			if marked {
				b.task.Cancel = &lifecycle.CancelMark{At: start}
			}
			decide(b, full)
			decide(b, b.report(lifecycle.VerbComplete))
			decide(b, lifecycle.Abandon{Reason: "x"})
		}
	}
}

// TestArtifactsMustBeLoaded: a decision on a head without its artifacts would lose them from the manifest.
func TestArtifactsMustBeLoaded(t *testing.T) {
	b := started(t)
	r := b.report(lifecycle.VerbSubStep)
	r.Updates = []lifecycle.Update{{Chunk: chunk("a", "x", true)}}
	b.must(t, r, start)
	b.task.Arts = nil
	_, err := lifecycle.Decide(b.task, b.report(lifecycle.VerbComplete), start)
	if _, rejection := errors.AsType[*lifecycle.Rejection](err); err == nil || rejection {
		t.Errorf("decided without the artifacts: %v", err)
	}
}

// TestNothingWaitsForever: waits and restarts are looked at before the longest life ends (I8).
func TestNothingWaitsForever(t *testing.T) {
	for _, until := range []time.Time{{}, start.Add(-time.Hour), start.Add(200 * 365 * 24 * time.Hour), time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC)} {
		for _, verb := range []lifecycle.Verb{lifecycle.VerbSleep, lifecycle.VerbRetry, lifecycle.VerbWait} {
			b := started(t)
			r := b.report(verb)
			r.Until, r.Grace = until, 0
			b.must(t, r, start)
			b.must(t, lifecycle.Restart{Grace: grace}, start)
			if b.task.DueAt.After(b.task.LifeEndsAt) || b.task.DueAt.Before(start) {
				t.Errorf("%s until %s: due at %s, life ends at %s", verb, until, b.task.DueAt, b.task.LifeEndsAt)
			}
		}
	}
}
