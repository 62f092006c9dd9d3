package journeys_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What the printer produces.
const (
	printedNotes     = 1999 // progress messages; with the first message a history of 2,000
	printedArtifacts = 300
	printedRaw       = 5 << 20
	printedText      = 401 << 10
)

type printed struct{ Notes, Artifacts int }

// printer reports a long history, many artifacts and large ones, each commit as large as
// one may be.
func printer() *agent.Agent {
	const perCommit, artifactsPerCommit = 40, 8
	run := func(ctx context.Context, t *agent.Task[printed]) (agent.Next, error) {
		if t.State.Artifacts == 0 {
			t.Emit(agent.Chunk{Artifact: "text", Part: a2a.NewTextPart(strings.Repeat("x", printedText)), Last: true})
			t.Emit(agent.Chunk{Artifact: "raw", Part: a2a.NewRawPart(bytes.Repeat([]byte{7}, printedRaw)), Last: true})
			t.State.Artifacts = 2
		}
		for t.State.Notes < printedNotes {
			for range min(perCommit, printedNotes-t.State.Notes) {
				t.State.Notes++
				t.Report(fmt.Sprintf("note %d", t.State.Notes))
			}
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
		}
		for t.State.Artifacts < printedArtifacts {
			for range min(artifactsPerCommit, printedArtifacts-t.State.Artifacts) {
				t.State.Artifacts++
				id := fmt.Sprintf("artifact-%03d", t.State.Artifacts)
				t.Emit(agent.Chunk{Artifact: a2a.ArtifactID(id), Part: a2a.NewTextPart(id), Last: true})
			}
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
		}
		return agent.Complete("Printed."), nil
	}
	return agent.New("printer", 1, agent.Step[printed]{Name: "print", Run: run, Timeout: 5 * time.Minute})
}

// Case 46, on the embedded ledger: a text part of 401 KB, a raw part of 5 MB, 300
// artifacts and a history of 2,000 messages. GetTask and ListTasks show all of it, large
// parts by an address whose bytes have the checksum that is told, and the task's export
// is sound.
func TestLargeTask(t *testing.T) {
	dir := t.TempDir()
	book, err := sqlite.Open(dir, sqlite.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	blobs, err := sqlite.OpenBlobs(dir, sqlite.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, printer())
	w.ledger, w.blobs = book, blobs
	n := w.process()
	var s sent
	w.must(http.MethodPost, "/message:send", send("m-1", "print", ""), &s)
	w.until("", s.Task.ID, 2*time.Minute, in(a2a.TaskStateCompleted))
	var page struct {
		Tasks []a2a.Task `json:"tasks"`
	}
	w.must(http.MethodGet, "/tasks?pageSize=1&includeArtifacts=true&historyLength=10000", "", &page)
	for from, got := range map[string]a2a.Task{"GetTask": w.task("", s.Task.ID), "ListTasks": page.Tasks[0]} {
		if len(got.History) != printedNotes+1 || len(got.Artifacts) != printedArtifacts {
			t.Fatalf("%s: %d messages, %d artifacts", from, len(got.History), len(got.Artifacts))
		}
		for i, m := range got.History[1:] {
			if text := agent.Text(m); text != fmt.Sprintf("note %d", i+1) {
				t.Fatalf("%s: message %d is %q", from, i+1, text)
			}
		}
		for i, want := range [][]byte{[]byte(strings.Repeat("x", printedText)), bytes.Repeat([]byte{7}, printedRaw)} {
			part := got.Artifacts[i].Parts[0]
			if part.URL() == "" || !bytes.Equal(w.contentOf(part), want) || !strings.Contains(fmt.Sprint(part.Metadata), string(lifecycle.DigestBytes(want))) {
				t.Errorf("%s: artifact %s at %q with %v", from, got.Artifacts[i].ID, part.URL(), part.Metadata)
			}
		}
	}
	w.verify(s.Task.ID)
	report, err := export.Verify(bytes.NewReader(w.exported(s.Task.ID)))
	if err != nil || !report.OK() || report.Counts.Artifact != printedArtifacts {
		t.Errorf("the export: %v, %v, %+v", err, report.Violations, report.Counts)
	}
	w.stop(n)
}
