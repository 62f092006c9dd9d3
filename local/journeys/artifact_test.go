package journeys_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// scribe writes a draft and notes side by side, a chunk a second, and begins the
// draft anew when it is half done. Every third chunk of the draft is large.
func scribe() *agent.Agent {
	return agent.New("scribe", 1, agent.Step[note]{Name: "write", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
		for t.State.N < 12 {
			n := t.State.N
			text := fmt.Sprintf("%d;", n)
			if n%3 == 0 {
				text = strings.Repeat(text, lifecycle.MaxInlineBytes)
			}
			t.Emit(agent.Chunk{Artifact: "draft", Append: n%6 > 0, Last: n == 11, Part: a2a.NewTextPart(text)})
			if n%2 == 0 {
				t.Emit(agent.Chunk{Artifact: "notes", Append: n > 0, Last: n == 10, Part: a2a.NewTextPart(fmt.Sprintf("note %d;", n))})
			}
			t.State.N++
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
			select {
			case <-time.NewTimer(time.Second).C:
			case <-ctx.Done():
				return agent.Next{}, ctx.Err()
			}
		}
		return agent.Complete("written"), nil
	}}).KeyedByMessageID()
}

// artifactPage is what the artifact's own address gives.
type artifactPage struct {
	Revision, Next, Total, Current int
	Sealed, Superseded             bool
	Chunks                         []struct {
		Number   int
		Sequence uint64
		Checksum lifecycle.Digest
		Bytes    int64
		Part     *a2a.Part
		Last     bool
	}
}

// Two clients read an artifact while it is written: one by a stream that is cut
// after every chunk and resumed behind it, by its artifact, revision and number; one
// by pages of its address. Both have the same chunks, which are those of GetTask.
func TestArtifactCutAtEveryChunk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, scribe())
		n := w.process()
		defer w.stop(n)
		id := w.submitOnly("m")
		polled := make(chan map[int][]lifecycle.Digest, 1)
		go func() { polled <- w.poll(id, "draft") }()
		streamed := w.chunks(id, "draft")
		pages := <-polled
		if len(streamed) != 2 || len(streamed[1]) != 6 || len(streamed[2]) != 6 {
			t.Errorf("streamed %d revisions of %d and %d chunks", len(streamed), len(streamed[1]), len(streamed[2]))
		}
		if !slices.Equal(streamed[2], pages[2]) {
			t.Errorf("streamed %v, polled %v", streamed[2], pages[2])
		}
		w.until("", id, time.Minute, in(a2a.TaskStateCompleted))
		ended := w.verify(id)
		if a := ended.Arts["draft"]; a.Revision != 2 || a.Chunks != 6 || !a.Sealed {
			t.Errorf("the draft is %+v", a)
		}
		var old artifactPage
		w.must(http.MethodGet, "/tasks/"+string(id)+"/artifacts/draft?revision=1", "", &old)
		if len(old.Chunks) != 6 || !old.Superseded || old.Sealed || old.Current != 2 || old.Chunks[0].Checksum != streamed[1][0] {
			t.Errorf("the revision before: %+v", old)
		}
	})
}

// chunks follows an artifact by streams that are cut after each of its chunks: the
// checksums, by revision.
func (w *world) chunks(id a2a.TaskID, artifact string) map[int][]lifecycle.Digest {
	w.t.Helper()
	got := map[int][]lifecycle.Digest{}
	at := "0"
	for range 100 {
		body := fmt.Sprintf(`{"metadata":{%q:{"artifacts":{%q:%s}}}}`, lifecycle.ExtensionURI, artifact, at)
		s, err := w.try(http.MethodPost, "/tasks/"+string(id)+":subscribe", body)
		if refused, is := errors.AsType[*errRefused](err); is && refused.status == http.StatusBadRequest {
			return got // the task has ended
		}
		if err != nil {
			w.t.Fatal(err)
		}
		for {
			f, err := s.update()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				w.t.Fatal(err)
			}
			chunk, is := f.event.(*a2a.TaskArtifactUpdateEvent)
			if !is || string(chunk.Artifact.ID) != artifact {
				continue
			}
			revision, number := int(f.own()["revision"].(float64)), int(f.own()["number"].(float64))
			if number != len(got[revision])+1 {
				w.t.Errorf("chunk %d of revision %d comes after %d chunks", number, revision, len(got[revision]))
			}
			got[revision] = append(got[revision], lifecycle.Digest(f.own()["checksum"].(string)))
			at = fmt.Sprintf(`{"revision":%d,"number":%d}`, revision, number)
			break
		}
		s.cut()
	}
	w.t.Error("the artifact does not end")
	return got
}

// poll reads an artifact by pages, as it grows, to its seal, and checks each chunk's
// content against its checksum.
func (w *world) poll(id a2a.TaskID, artifact string) map[int][]lifecycle.Digest {
	got := map[int][]lifecycle.Digest{}
	revision, next := 0, 0
	for range 100 {
		<-time.NewTimer(1700 * time.Millisecond).C
		var p artifactPage
		query := fmt.Sprintf("?after=%d&limit=2", next)
		if revision > 0 {
			query += fmt.Sprintf("&revision=%d", revision)
		}
		status, err := w.call(http.MethodGet, "/tasks/"+string(id)+"/artifacts/"+artifact+query, "", &p)
		if err != nil || status != http.StatusOK {
			w.t.Errorf("%s: %d %v", query, status, err)
			return got
		}
		for _, k := range p.Chunks {
			if k.Number != next+1 {
				w.t.Errorf("chunk %d after %d", k.Number, next)
			}
			next = k.Number
			got[p.Revision] = append(got[p.Revision], k.Checksum)
			if content := w.contentOf(k.Part); lifecycle.DigestBytes(content) != k.Checksum || int64(len(content)) != k.Bytes {
				w.t.Errorf("chunk %d of revision %d: %d bytes that are not those of its checksum", k.Number, p.Revision, len(content))
			}
		}
		revision = p.Revision
		if p.Superseded {
			revision, next = p.Current, 0
		}
		if !p.Superseded && p.Sealed && next == p.Total {
			return got
		}
	}
	w.t.Error("the artifact is never sealed")
	return got
}

// contentOf is a part's content, from its address where it has one.
func (w *world) contentOf(p *a2a.Part) []byte {
	address := string(p.URL())
	if address == "" {
		content, err := lifecycle.PartContent(p)
		if err != nil {
			w.t.Error(err)
		}
		return content
	}
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Error(err)
		return nil
	}
	defer func() { _ = resp.Body.Close() }()
	content, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Errorf("%s: %d %v", address, resp.StatusCode, err)
	}
	return content
}

// Case 46: the process dies at every one of its calls while it writes. Whatever
// entry names large bytes, they are in the blob store; what is not sealed is not
// taken for whole; and the next process goes on with the chunk that is missing.
func TestArtifactThroughCrashes(t *testing.T) {
	calm := writeThrough(t, &ledgertest.Crash{})
	for at := 1; at <= len(calm.calls); at++ {
		for _, after := range []bool{false, true} {
			got := writeThrough(t, &ledgertest.Crash{At: at, After: after})
			if got.manifest != calm.manifest {
				t.Errorf("crash at %d %s, after %t: manifest\n%s\nwant\n%s", at, calm.calls[at-1], after, got.manifest, calm.manifest)
			}
		}
	}
	t.Logf("%d calls", len(calm.calls))
}

// written is how the scribe's task ended.
type written struct {
	calls    []string
	manifest string
}

func writeThrough(t *testing.T, crash *ledgertest.Crash) (out written) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, scribe())
		faults := &ledgertest.Faults{Crash: crash}
		n, err := w.tryProcess(faults.Ledger(w.ledger), faults.Blobs(w.blobs))
		if err != nil && !crash.Crashed() {
			t.Fatal(err)
		}
		var s sent
		body := send("m", "go", "")
		if status, err := w.call(http.MethodPost, "/message:send", body, &s); (err != nil || status != http.StatusOK) && !crash.Crashed() {
			t.Fatalf("%d %v", status, err)
		}
		end := time.NewTimer(40 * time.Second)
		select {
		case <-crash.Done():
		case <-end.C:
		}
		w.stop(n)
		if crash.Crashed() {
			w.named(s.Task.ID)
			n = w.process()
			w.must(http.MethodPost, "/message:send", body, &s)
			w.until("", s.Task.ID, 5*time.Minute, in(a2a.TaskStateCompleted))
			w.stop(n)
		}
		ended := w.verify(s.Task.ID)
		w.named(s.Task.ID)
		text, err := json.Marshal(lifecycle.Manifest(ended.Arts))
		if err != nil {
			t.Fatal(err)
		}
		out = written{crash.Names(), string(text)}
	})
	return out
}

// named wants the bytes of every blob that an entry names, and no end while
// something is open.
func (w *world) named(id a2a.TaskID) {
	w.t.Helper()
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: id}
	entries, err := w.ledger.Entries(context.Background(), ref, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, e := range entries {
		ev, err := e.Event()
		if err != nil {
			w.t.Fatal(err)
		}
		if ev.Chunk == nil {
			continue
		}
		blob, moved := lifecycle.AsBlob(ev.Chunk.Part)
		if !moved {
			continue
		}
		content, err := w.blobs.Get(context.Background(), ref, blob.Digest)
		if err != nil || int64(len(content)) != ev.Chunk.Bytes || lifecycle.DigestBytes(content) != ev.Chunk.Checksum {
			w.t.Errorf("entry %d names a blob that is not there: %v, %d bytes", e.Seq, err, len(content))
		}
	}
}
