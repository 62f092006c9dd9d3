package watch

import (
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestLine(t *testing.T) {
	say := func(parts ...*a2a.Part) *a2a.Message { return &a2a.Message{Parts: parts} }
	artifact := func(ev a2a.TaskArtifactUpdateEvent, parts ...*a2a.Part) *a2a.TaskArtifactUpdateEvent {
		ev.Artifact = &a2a.Artifact{ID: "r-1", Name: "report.json", Parts: parts}
		return &ev
	}
	for want, ev := range map[string]a2a.Event{
		"    12  working": &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: working}},
		"    12  input-required  Approve 14 revocations? Reply.":             &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: paused, Message: say(a2a.NewTextPart("Approve 14\nrevocations?"), a2a.NewDataPart(1), a2a.NewTextPart("Reply."))}},
		"    12  completed       with  [2J in it":                            &a2a.Task{Status: a2a.TaskStatus{State: completed, Message: say(a2a.NewTextPart("with \x1b[2J in it"))}},
		"    12  artifact        report.json +3 bytes, from its beginning":   artifact(a2a.TaskArtifactUpdateEvent{}, a2a.NewTextPart("abc")),
		"    12  artifact        report.json +2 bytes +7 bytes":              artifact(a2a.TaskArtifactUpdateEvent{Append: true}, a2a.NewRawPart([]byte("ab")), a2a.NewDataPart(map[string]int{"a": 1})),
		"    12  artifact        report.json at http://b, complete":          artifact(a2a.TaskArtifactUpdateEvent{Append: true, LastChunk: true}, a2a.NewFileURLPart("http://b", "text/plain")),
		"    12  artifact        r-2":                                        &a2a.TaskArtifactUpdateEvent{Append: true, Artifact: &a2a.Artifact{ID: "r-2"}},
		"    12  artifact":                                                   &a2a.TaskArtifactUpdateEvent{},
		"    12  message":                                                    say(),
		"    12  working         " + strings.Repeat("é", maxTextRunes) + "…": &a2a.TaskStatusUpdateEvent{Status: a2a.TaskStatus{State: working, Message: say(a2a.NewTextPart(strings.Repeat("é", maxTextRunes+1)))}},
	} {
		if got := Line(Update{Seq: 12, Event: ev}); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestText(t *testing.T) {
	m := &a2a.Message{Parts: a2a.ContentParts{a2a.NewTextPart("1. a\tb\r\n2. c\x1b[2J"), a2a.NewDataPart(1), a2a.NewTextPart("3. \u202ed")}}
	if got, want := Text(m), "1. a b \n2. c [2J\n3.  d"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if Text(nil) != "" {
		t.Error("nothing has a text")
	}
}
