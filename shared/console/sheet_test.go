package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// hostile is a text that would do harm as markup, or turn what stands around it.
const hostile = "<script>alert(1)</script>\u202egnp.exe\x1b[31m"

// TestSheet: everything that the ledger keeps of a task is shown: quarantine too.
func TestSheet(t *testing.T) {
	w := newWorld(t)
	task := w.do(w.submit(), granted(1), lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{
		{Message: says(hostile)}, {Chunk: &lifecycle.Chunk{Artifact: "draft", Part: a2a.NewTextPart("one"), Checksum: lifecycle.DigestBytes([]byte("one"))}},
	}})
	w.act(task.Task, "cancel", `{"note":""}`)
	task = w.do(task, lifecycle.Report{Verb: lifecycle.VerbCancel})
	sent := json.RawMessage(`{"text":"` + strings.Repeat("late ", 4) + `<b>"}`)
	for i, late := range []*ledger.Quarantined{
		{At: w.clock.Now(), Producer: "worker", EventID: "w-1", Digest: lifecycle.DigestBytes(sent), Bytes: len(sent), Payload: sent},
		{At: w.clock.Now(), Producer: "worker", EventID: "w-2", Digest: "d", Bytes: 1 << 20},
	} {
		w.ok(w.memory.Refuse(t.Context(), task.Ref(), ledger.Refusal{
			Rejected: ledger.Rejected{At: w.clock.Now(), Producer: "worker", EventID: late.EventID, Reason: lifecycle.PostTerminal, Detail: "the task has ended"},
			Receipt:  ledger.Receipt{Producer: "worker", EventID: late.EventID, Digest: late.Digest, Reason: lifecycle.PostTerminal, Op: string(rune('a' + i))}, Late: late,
		}))
	}
	w.ok(w.memory.Reject(t.Context(), task.Ref(), ledger.Rejected{At: w.clock.Now(), Producer: "client:1", Reason: lifecycle.ConflictingContent, Detail: hostile}))
	var s struct {
		State string
		Head  struct {
			Seq   uint64
			Chain lifecycle.Digest
			Fence uint64
		}
		Counts     ledger.Counts
		Artifacts  []lifecycle.Artifact
		Rejections []ledger.Rejected
		Quarantine []struct {
			Number, Bytes int
			EventID       string
			Kept          bool
		}
		Acts    []ledger.Acted
		Receipt *struct {
			Seq             uint64
			Chain, Manifest lifecycle.Digest
			Reason          string
		}
	}
	w.read("tasks/"+string(task.Task), &s)
	if s.State != "canceled" || s.Head.Seq != task.Seq || s.Head.Chain != task.Chain || s.Head.Fence != 1 || s.Counts != (ledger.Counts{Rejections: 3, Incidents: 1, Quarantined: 2, Acts: 1}) {
		t.Errorf("%+v", s)
	}
	if len(s.Artifacts) != 1 || len(s.Rejections) != 3 || s.Rejections[2].Detail != hostile || len(s.Acts) != 1 {
		t.Errorf("%+v", s)
	}
	if len(s.Quarantine) != 2 || !s.Quarantine[0].Kept || s.Quarantine[1].Kept || s.Quarantine[1].Bytes != 1<<20 {
		t.Errorf("quarantine %+v", s.Quarantine)
	}
	if s.Receipt == nil || s.Receipt.Seq != task.Seq || s.Receipt.Chain != task.Chain || s.Receipt.Manifest == "" {
		t.Errorf("receipt %+v", s.Receipt)
	}
	var piece struct{ Payload string }
	if w.read("tasks/"+string(task.Task)+"/quarantine/1", &piece); piece.Payload != string(sent) {
		t.Errorf("the piece is %s", piece.Payload)
	}
	for _, n := range []string{"0", "3", "x", "-1"} {
		if a := w.ask(http.MethodGet, "/console/api/tasks/"+string(task.Task)+"/quarantine/"+n, ""); a.status != http.StatusNotFound {
			t.Errorf("piece %s: %d", n, a.status)
		}
	}
	if a := w.ask(http.MethodGet, "/console/api/tasks/"+string(task.Task)+"/entries", ""); bytes.Contains(a.raw, []byte("<script>")) {
		t.Errorf("an answer that is taken for a page would run: %s", a.raw)
	}
}

type timeline struct {
	Seq   uint64
	Lines []struct {
		Seq                                     uint64
		Type, State, Producer, Role, Text, Step string
		Clipped                                 bool
		Chunk                                   *struct{ Artifact string }
		Pause                                   *lifecycle.Pause
		Wait                                    *lifecycle.Wait
		Reason                                  string
	}
}

func TestTimeline(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("ä", 10_000)
	task := w.do(w.submit(), granted(1),
		lifecycle.Report{Verb: lifecycle.VerbSubStep, State: json.RawMessage(`{"secret":"of the agent"}`), Updates: []lifecycle.Update{{Message: says(long)}, {Chunk: &lifecycle.Chunk{Artifact: "draft", Last: true, Part: a2a.NewTextPart("content of the chunk"), Checksum: lifecycle.DigestBytes([]byte("content of the chunk"))}}}},
		asks("Which?"))
	w.act(task.Task, "answer", `{"pause":1,"text":"That."}`)
	w.do(task, granted(1), lifecycle.Report{Verb: lifecycle.VerbFail, Reason: "as was asked for"})
	path := "tasks/" + string(task.Task) + "/entries"
	var all timeline
	w.read(path, &all)
	var types []string
	for i, l := range all.Lines {
		types = append(types, l.Type)
		if l.Seq != uint64(i+1) {
			t.Errorf("line %d is entry %d", i, l.Seq)
		}
	}
	if got := strings.Join(types, " "); got != "submitted started progress chunk paused reply ended" || all.Seq != 7 {
		t.Errorf("%s, up to %d", got, all.Seq)
	}
	if l := all.Lines[2]; !l.Clipped || len(l.Text) > 8<<10 || !strings.HasPrefix(long, l.Text) || l.Role != "agent" {
		t.Errorf("a text of %d bytes", len(l.Text))
	}
	if l := all.Lines[3]; l.Chunk == nil || l.Chunk.Artifact != "draft" || l.Step != "begin" {
		t.Errorf("%+v", l)
	}
	if l := all.Lines[4]; l.Pause == nil || l.Pause.Number != 1 || l.Text != "Which?" || l.State != "input-required" {
		t.Errorf("%+v", l)
	}
	if l := all.Lines[5]; l.Producer != operator || l.Text != "That." || l.Role != "user" {
		t.Errorf("%+v", l)
	}
	if l := all.Lines[6]; l.Reason != "as was asked for" || l.State != "failed" {
		t.Errorf("%+v", l)
	}
	a := w.ask(http.MethodGet, "/console/api/"+path, "")
	for _, hidden := range []string{"of the agent", "content of the chunk"} {
		if bytes.Contains(a.raw, []byte(hidden)) {
			t.Errorf("the timeline has %q", hidden)
		}
	}
	var rest timeline
	if w.read(path+"?after=5&limit=1", &rest); len(rest.Lines) != 1 || rest.Lines[0].Seq != 6 || rest.Seq != 7 {
		t.Errorf("%+v", rest)
	}
	for _, query := range []string{"after=x", "after=-1", "limit=0", "limit=1001"} {
		if a := w.ask(http.MethodGet, "/console/api/"+path+"?"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, a.status)
		}
	}
}

// altered is a ledger in which somebody changed an entry.
type altered struct{ ledger.Ledger }

// Entries implements ledger.Tasks.
func (l altered) Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error) {
	all, err := l.Ledger.Entries(ctx, ref, after, limit)
	for i := range all {
		if all[i].Seq == 2 {
			all[i].Producer = "somebody else"
		}
	}
	return all, err
}

// TestCheck: the history is verified as anybody would who was given the export.
func TestCheck(t *testing.T) {
	w := newWorld(t)
	task := w.do(w.submit(), granted(1), ends(lifecycle.VerbComplete))
	type result struct {
		Entries    int
		Seq        uint64
		Chain      lifecycle.Digest
		Violations []struct{ Invariant, Detail string }
	}
	var sound result
	if w.read("tasks/"+string(task.Task)+"/check", &sound); sound.Entries != 3 || sound.Chain != task.Chain || sound.Violations == nil || len(sound.Violations) != 0 {
		t.Errorf("%+v", sound)
	}
	w.config.Authority = &ledger.Authority{Ledger: altered{w.memory}, Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.open()
	var broken result
	if w.read("tasks/"+string(task.Task)+"/check", &broken); len(broken.Violations) == 0 || broken.Violations[0].Invariant != "I1" {
		t.Errorf("%+v", broken)
	}
}

// TestConnections: connections are shown apart, and nothing is missing without them.
func TestConnections(t *testing.T) {
	w := newWorld(t)
	task := w.submit()
	var got struct {
		Here, More  bool
		Connections []console.Connection
	}
	if w.read("tasks/"+string(task.Task)+"/connections", &got); got.Here || got.Connections == nil {
		t.Errorf("%+v", got)
	}
	w.config.Connections = func(context.Context, lifecycle.Ref) ([]console.Connection, bool, error) {
		return []console.Connection{{ID: "c-1", Kind: "SubscribeToTask", OpenedAt: w.clock.Now(), From: 1, To: 3, Reason: "caller-gone"}}, true, nil
	}
	w.open()
	if w.read("tasks/"+string(task.Task)+"/connections", &got); !got.Here || !got.More || len(got.Connections) != 1 || got.Connections[0].To != 3 {
		t.Errorf("%+v", got)
	}
	w.clock.Advance(time.Second)
}
