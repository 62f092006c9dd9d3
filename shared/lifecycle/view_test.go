package lifecycle_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// client folds a stream as a caller does who knows A2A and nothing of us (A2A §3.5.2, §4.2).
type client struct {
	status    a2a.TaskStatus
	superseds []*a2a.Message // the agent's messages whose place another status took
	artifacts []*a2a.Artifact
}

func (c *client) see(t *testing.T, u a2a.Event) {
	t.Helper()
	switch u := u.(type) {
	case nil:
	case *a2a.TaskStatusUpdateEvent:
		if c.status.Message != nil {
			c.superseds = append(c.superseds, c.status.Message)
		}
		c.status = u.Status
	case *a2a.TaskArtifactUpdateEvent:
		i := slices.IndexFunc(c.artifacts, func(a *a2a.Artifact) bool { return a.ID == u.Artifact.ID })
		whole := *u.Artifact
		whole.Parts = slices.Clone(u.Artifact.Parts)
		switch {
		case i < 0 && u.Append:
			t.Errorf("case 44: append to artifact %s, which the stream has not opened", u.Artifact.ID)
		case i < 0:
			c.artifacts = append(c.artifacts, &whole)
		case u.Append:
			c.artifacts[i].Parts = append(c.artifacts[i].Parts, whole.Parts...)
		default:
			c.artifacts[i] = &whole
		}
	default:
		t.Errorf("an update of type %T", u)
	}
}

// TestStreamReplayAndTaskAreOneFold is case 43: the stream from the start, a replay from any entry on, and GetTask
// are the same, for every entry type.
func TestStreamReplayAndTaskAreOneFold(t *testing.T) {
	for seed := range uint64(thinned(t, 2_000)) {
		b, _, err := playTape(seeded(seed, 300))
		if err != nil || b.task.Seq == 0 {
			continue
		}
		sameFold(t, b)
	}
	sameFold(t, richBook(t))
}

func sameFold(t *testing.T, b *book) {
	t.Helper()
	replay := lifecycle.NewView(b.task.Ref(), blobURL)
	var streamed client
	for i, e := range b.entries {
		streamed.see(t, b.updates[i])
		again, err := replay.Add(e)
		if err != nil {
			t.Fatal(err)
		}
		if wire(t, again) != wire(t, b.updates[i]) {
			t.Fatalf("entry %d: replayed %s, streamed %s", e.Seq, wire(t, again), wire(t, b.updates[i]))
		}
		stamped(t, again, e)
	}
	got := b.view.Task()
	if wire(t, got.Status) != wire(t, streamed.status) {
		t.Fatalf("status: GetTask %s, stream %s", wire(t, got.Status), wire(t, streamed.status))
	}
	if wire(t, append([]*a2a.Artifact{}, got.Artifacts...)) != wire(t, append([]*a2a.Artifact{}, streamed.artifacts...)) {
		t.Fatalf("artifacts: GetTask %s, stream %s", wire(t, got.Artifacts), wire(t, streamed.artifacts))
	}
	agents := slices.DeleteFunc(slices.Clone(got.History), func(m *a2a.Message) bool { return m.Role != a2a.MessageRoleAgent })
	if !reflect.DeepEqual(append([]*a2a.Message{}, agents...), append([]*a2a.Message{}, streamed.superseds...)) {
		t.Fatalf("history: GetTask %s, stream %s", wire(t, agents), wire(t, streamed.superseds))
	}
	if replay.Seq() != b.task.Seq || replay.State() != b.task.State {
		t.Fatalf("the view is at %d in %s, the head at %d in %s", replay.Seq(), replay.State(), b.task.Seq, b.task.State)
	}
}

// stamped wants sequence and digest in an update's metadata.
func stamped(t *testing.T, u a2a.Event, e lifecycle.Entry) {
	t.Helper()
	if u == nil {
		return
	}
	own, ok := u.(a2a.MetadataCarrier).Meta()[lifecycle.ExtensionURI].(map[string]any)
	if !ok || own["sequence"] != e.Seq || own["digest"] != string(e.Chain) {
		t.Fatalf("entry %d: metadata %v", e.Seq, own)
	}
}

func wire(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestProgressKeepsTheTimestamp: a state change is what status.timestamp tells, a message is not (ARCHITECTURE.md).
func TestProgressKeepsTheTimestamp(t *testing.T) {
	b := started(t)
	entered := *b.view.Task().Status.Timestamp
	r := b.report(lifecycle.VerbSubStep)
	r.Updates = []lifecycle.Update{{Message: say("1 of 2")}, {Message: say("2 of 2")}}
	b.must(t, r, start.Add(time.Minute))
	got := b.view.Task()
	if !got.Status.Timestamp.Equal(entered) || text(got.Status.Message) != "2 of 2" {
		t.Errorf("status %+v, entered at %s", got.Status, entered)
	}
	if last := got.History[len(got.History)-1]; text(last) != "1 of 2" {
		t.Errorf("the superseded message is not in the history: %q", text(last))
	}
	b.must(t, b.report(lifecycle.VerbComplete), start.Add(2*time.Minute))
	if at := b.view.Task().Status.Timestamp; !at.Equal(start.Add(2 * time.Minute)) {
		t.Errorf("completed since %s", at)
	}
}

// TestSilentEntriesLeaveGaps: an entry that callers do not see has no update, and its number stays free.
func TestSilentEntriesLeaveGaps(t *testing.T) {
	b := started(t)
	b.must(t, func() lifecycle.Report { r := b.report(lifecycle.VerbContinue); r.Keep = true; return r }(), start)
	r := b.report(lifecycle.VerbRetry)
	r.Until = start
	b.must(t, r, start)
	for i, u := range b.updates {
		e := b.entries[i]
		silent := e.Type == lifecycle.TypeCheckpoint || e.Type == lifecycle.TypeWaiting
		if silent != (u == nil) {
			t.Errorf("entry %d, %s: update %v", e.Seq, e.Type, u)
		}
	}
}

// TestMessageIDs: the authority fills in what an agent's message lacks, the same in every view, and leaves a
// client's own identifier.
func TestMessageIDs(t *testing.T) {
	b := richBook(t)
	ids := map[string]bool{}
	for _, m := range append(b.view.Task().History, b.view.Task().Status.Message) {
		if m.ID == "" || ids[m.ID] || m.TaskID != b.task.Task || m.ContextID != "ctx-1" {
			t.Errorf("message %+v", m)
		}
		ids[m.ID] = true
	}
	if !ids["m-1"] || !ids["m-2"] || !ids["t-1-3"] {
		t.Errorf("identifiers %v", ids)
	}
}

// TestBlobsBecomeAddresses: a part in the blob store is shown as an address, in messages and artifacts alike, and
// the reference never leaves the product.
func TestBlobsBecomeAddresses(t *testing.T) {
	moved := func(digest string) *a2a.Part {
		return lifecycle.BlobPart(&a2a.Part{Content: a2a.Text("large"), Filename: "report.txt", MediaType: "text/plain", Metadata: map[string]any{"own": true}},
			lifecycle.BlobRef{Digest: lifecycle.Digest(digest), Bytes: 5 << 20, Kind: lifecycle.BlobText})
	}
	b := newBook("t-1")
	first := submit()
	first.Message.Parts = append(first.Message.Parts, moved("d1"))
	b.must(t, first, start)
	b.must(t, grant("a", 1), start)
	r := b.report(lifecycle.VerbComplete)
	r.Updates = []lifecycle.Update{{Chunk: &lifecycle.Chunk{Artifact: "report", Last: true, Part: moved("d2"), Bytes: 5 << 20, Checksum: "d2"}}}
	b.must(t, r, start)
	task := b.view.Task()
	for want, p := range map[string]*a2a.Part{"d1": task.History[0].Parts[1], "d2": task.Artifacts[0].Parts[0]} {
		if string(p.URL()) != blobURL(lifecycle.Digest(want)) || p.Filename != "report.txt" || p.MediaType != "text/plain" || p.Metadata["own"] != true {
			t.Errorf("the part is %+v", p)
		}
	}
	if out := wire(t, task); strings.Contains(out, "holdfast-blob") {
		t.Errorf("a reference is shown: %s", out)
	}
	ev, err := b.entries[0].Event()
	if err != nil {
		t.Fatal(err)
	}
	ref, ok := lifecycle.AsBlob(ev.Message.Parts[1])
	if want := (lifecycle.BlobRef{Digest: "d1", Bytes: 5 << 20, Kind: lifecycle.BlobText}); !ok || ref != want {
		t.Errorf("the stored reference is %+v, want %+v", ref, want)
	}
}

// TestTaskIsACopy: what a reader does to its task changes nobody else's.
func TestTaskIsACopy(t *testing.T) {
	b := richBook(t)
	before := wire(t, b.view.Task())
	mine := b.view.Task()
	mine.History = append(mine.History[:1], user("x", "x"))
	mine.Artifacts[0].Parts = append(mine.Artifacts[0].Parts, a2a.NewTextPart("x"))
	mine.Artifacts[0].Name, mine.Metadata["x"] = "x", 1
	mine.Status.State = lifecycle.Failed
	if after := wire(t, b.view.Task()); after != before {
		t.Errorf("the task was\n%s\nand is\n%s", before, after)
	}
}

// TestPauseInMetadata: a caller can name the pause that it answers.
func TestPauseInMetadata(t *testing.T) {
	b := started(t)
	r := b.report(lifecycle.VerbPause)
	r.Pause = &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour, Named: true}
	b.must(t, r, start)
	own := b.view.Task().Metadata[lifecycle.ExtensionURI].(map[string]any)
	if own["pause"] != 1 || own["pauseDeadline"] != "2026-03-02T10:00:00.000Z" || own["sequence"] != uint64(3) {
		t.Errorf("metadata %v", own)
	}
}
