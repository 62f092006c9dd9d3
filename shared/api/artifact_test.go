package api_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// artifact asks for a page of an artifact's chunks.
func (w *world) artifact(c client, id, artifact, query string) answer {
	w.t.Helper()
	return c.send(c.raw(w.t.Context(), http.MethodGet, "/tasks/"+id+"/artifacts/"+artifact+"?"+query, ""))
}

// page is what a test wants of a page.
type page struct {
	revision, current, next, total int
	sealed, superseded             bool
	texts                          string // numbers and texts: "1 All, 2 is well"
}

func (w *world) wantPage(c client, id, artifact, query string, want page) {
	w.t.Helper()
	a := w.artifact(c, id, artifact, query)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		w.t.Fatalf("%s?%s: %d %s %.300s", artifact, query, a.status, a.header.Get("Content-Type"), a.raw)
	}
	chunks, _ := a.result["chunks"].([]any)
	texts := make([]string, 0, len(chunks))
	for _, k := range chunks {
		said := text(k, "part.text")
		texts = append(texts, fmt.Sprint(dig(k, "number"), " ", said))
		if sum := lifecycle.DigestBytes([]byte(said)); text(k, "checksum") != string(sum) || dig(k, "bytes") != float64(len(said)) || text(k, "mediaType") != "text/plain" {
			w.t.Errorf("chunk %v", k)
		}
	}
	number := func(name string) int { n, _ := a.result[name].(float64); return int(n) }
	got := page{number("revision"), number("current"), number("next"), number("total"), a.result["sealed"] == true, a.result["superseded"] == true, strings.Join(texts, ", ")}
	if got != want || a.result["task"] != id || a.result["artifact"] == nil {
		w.t.Errorf("%s?%s: %+v, want %+v", artifact, query, got, want)
	}
}

// An artifact is read by revision and number while it grows, when it is sealed, when
// another revision took its place, and after its task has ended.
func TestArtifact(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	missing := func(query string) {
		t.Helper()
		if a := w.artifact(c, id, "draft", query); a.err == nil || a.err.reason != "NOT_FOUND" || a.status != http.StatusNotFound {
			t.Errorf("%s: %d %.300s", query, a.status, a.raw)
		}
	}
	missing("")
	w.must(id, grant(), chunk("draft", "one", false, false), progress("half"), chunk("draft", "two", true, false), chunk("notes", "n", false, true))
	w.wantPage(c, id, "draft", "", page{1, 1, 2, 2, false, false, "1 one, 2 two"})
	w.wantPage(c, id, "draft", "after=1", page{1, 1, 2, 2, false, false, "2 two"})
	w.wantPage(c, id, "draft", "after=2", page{1, 1, 2, 2, false, false, ""})
	w.wantPage(c, id, "draft", "limit=1", page{1, 1, 1, 2, false, false, "1 one"})
	w.wantPage(c, id, "draft", "limit=1&after=1", page{1, 1, 2, 2, false, false, "2 two"})
	w.must(id, chunk("draft", "three", true, true))
	w.wantPage(c, id, "draft", "after=2&revision=1", page{1, 1, 3, 3, true, false, "3 three"})
	w.must(id, chunk("draft", "ONE", false, false))
	w.wantPage(c, id, "draft", "", page{2, 2, 1, 1, false, false, "1 ONE"})
	w.wantPage(c, id, "draft", "revision=1&after=1&limit=1", page{1, 2, 2, 3, true, true, "2 two"})
	w.wantPage(c, id, "draft", "revision=1", page{1, 2, 3, 3, true, true, "1 one, 2 two, 3 three"})
	w.wantPage(c, id, "notes", "", page{1, 1, 1, 1, true, false, "1 n"})
	// A number of the revision before says that it is one.
	if a := w.artifact(c, id, "draft", "after=3"); a.err == nil || a.err.reason != "INVALID_PARAMS" || !strings.Contains(a.err.message, "current revision is 2") {
		t.Errorf("after a number of another revision: %.300s", a.raw)
	}
	missing("revision=3")
	if a := w.artifact(c, id, "draft", "revision=3"); !strings.Contains(a.err.message, "its current one is 2") {
		t.Errorf("%.300s", a.raw)
	}
	for _, query := range []string{"after=x", "after=-1", "after=1.5", "revision=x", "revision=-1", "limit=0", "limit=1001", "%zz"} {
		if a := w.artifact(c, id, "draft", query); a.err == nil || a.err.reason != "INVALID_PARAMS" {
			t.Errorf("%s: %.200s", query, a.raw)
		}
	}
	w.must(id, chunk("draft", "TWO", true, true), complete())
	w.wantPage(c, id, "draft", "", page{2, 2, 2, 2, true, false, "1 ONE, 2 TWO"})
	w.wantPage(c, id, "draft", "revision=1", page{1, 2, 3, 3, true, true, "1 one, 2 two, 3 three"})
}

// A revision that was given up unsealed stays so.
func TestArtifactSupersededUnsealed(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	w.must(id, grant(), chunk("draft", "one", false, false), chunk("draft", "ONE", false, true))
	w.wantPage(c, id, "draft", "revision=1", page{1, 2, 1, 1, false, true, "1 one"})
	if a := w.artifact(c, id, "draft", "revision=1"); dig(a.result, "chunks.0.last") != false || dig(a.result, "chunks.0.sequence") != 3.0 {
		t.Errorf("%.300s", a.raw)
	}
}

// Case 46: a page is bounded in chunks and in bytes, and the pages are the whole.
func TestArtifactPages(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	const chunks = 230
	w.must(id, grant())
	for i := range chunks {
		words := fmt.Sprint("piece ", i)
		if i < 40 {
			words = strings.Repeat(words, lifecycle.MaxInlineBytes/len(words)) // 1.3 MB
		}
		w.must(id, chunk("draft", words, i > 0, i == chunks-1))
	}
	pages, after, seen := 0, 0.0, 0
	for after < chunks {
		a := w.artifact(c, id, "draft", fmt.Sprintf("after=%v", after))
		list, _ := a.result["chunks"].([]any)
		if len(list) == 0 || len(list) > 100 || len(a.raw) > 1<<20 {
			t.Fatalf("a page of %d chunks and %d bytes", len(list), len(a.raw))
		}
		for i, k := range list {
			if dig(k, "number") != after+float64(i)+1 {
				t.Fatalf("after %v comes number %v", after, dig(k, "number"))
			}
		}
		after, _ = a.result["next"].(float64)
		pages, seen = pages+1, seen+len(list)
	}
	if seen != chunks || pages < 4 {
		t.Errorf("%d chunks on %d pages", seen, pages)
	}
}

// What a chunk is made of: large bytes have an address and the checksum of what is
// there; a part that names no media type is what its kind is.
func TestArtifactParts(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	large := strings.Repeat("a large text ", 10_000)
	digest := lifecycle.DigestBytes([]byte(large))
	if err := w.blobs.Put(t.Context(), w.ref(id), digest, []byte(large)); err != nil {
		t.Fatal(err)
	}
	png := a2a.NewRawPart([]byte{1, 2, 3})
	png.MediaType = "image/png"
	parts := []*a2a.Part{
		lifecycle.BlobPart(a2a.NewTextPart(large), lifecycle.BlobRef{Digest: digest, Bytes: int64(len(large)), Kind: lifecycle.BlobText}),
		a2a.NewRawPart([]byte("raw")), png, a2a.NewDataPart(map[string]any{"a": 1.0}), a2a.NewFileURLPart("https://example.com/x", ""),
	}
	report := lifecycle.Report{Verb: lifecycle.VerbSubStep}
	for i, p := range parts {
		content, err := lifecycle.PartContent(p)
		if err != nil {
			t.Fatal(err)
		}
		k := lifecycle.Chunk{Artifact: "a/b c", Last: i == len(parts)-1, Part: p, Bytes: int64(len(content)), Checksum: lifecycle.DigestBytes(content)}
		if i == 0 {
			k.Bytes, k.Checksum = int64(len(large)), digest
		}
		report.Updates = append(report.Updates, lifecycle.Update{Append: i > 0, Chunk: &k})
	}
	w.must(id, grant(), report, complete())
	a := w.artifact(c, id, "a%2Fb%20c", "")
	list, _ := a.result["chunks"].([]any)
	if len(list) != len(parts) {
		t.Fatalf("%.500s", a.raw)
	}
	for i, want := range []string{"text/plain", "application/octet-stream", "image/png", "application/json", ""} {
		if got := text(list[i], "mediaType"); got != want {
			t.Errorf("chunk %d is %q, want %q", i+1, got, want)
		}
	}
	address := text(list[0], "part.url")
	if !strings.HasPrefix(address, w.server.URL+"/tasks/"+id+"/blobs/") || text(list[0], "checksum") != string(digest) || dig(list[0], "bytes") != float64(len(large)) {
		t.Errorf("a large chunk: %v", list[0])
	}
	if got := c.send(c.raw(t.Context(), http.MethodGet, strings.TrimPrefix(address, w.server.URL), "")); string(got.raw) != large {
		t.Errorf("%d bytes at the address of %d", len(got.raw), len(large))
	}
	if got := text(list[1], "part.raw"); got != base64.StdEncoding.EncodeToString([]byte("raw")) {
		t.Errorf("raw content %q", got)
	}
	// The parts are those that GetTask shows.
	shown, _ := dig(c.ok("GetTask", object{"id": id}), "artifacts.0.parts").([]any)
	for i, k := range list {
		if a, b := encode(t, dig(k, "part")), encode(t, shown[i]); a != b {
			t.Errorf("part %s, GetTask has %s", a, b)
		}
	}
}

// I10: an artifact is its tenant's and its agent's; operators may read it.
func TestArtifactAccess(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	w.must(id, grant(), chunk("draft", "one", false, true))
	for token, want := range map[string]int{"local/op/operator:read": 200, "local/x/caller": 200, "local/x/producer": 403, "local/x/operator:act": 403, "other/x": 404, "bad/x": 401} {
		if a := w.artifact(c.with("Authorization", "Bearer "+token), id, "draft", ""); a.status != want {
			t.Errorf("%s: %d %.200s, want %d", token, a.status, a.raw, want)
		}
	}
	if a := w.artifact(c.at("keyed"), id, "draft", ""); a.err == nil || a.err.reason != "TASK_NOT_FOUND" {
		t.Errorf("through another agent: %.200s", a.raw)
	}
	if a := w.artifact(c, "0198-none", "draft", ""); a.err == nil || a.err.reason != "TASK_NOT_FOUND" {
		t.Errorf("of no task: %.200s", a.raw)
	}
	a := c.send(c.raw(t.Context(), http.MethodPost, "/tasks/"+id+"/artifacts/draft", "{}"))
	if a.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", a.status)
	}
}

// I6: the same chunk again is the first answer. Other bytes in its place are an
// incident, which operators see counted beside the head; nothing else changes.
func TestConflictingChunk(t *testing.T) {
	b := newBench(t)
	fence := b.claim()
	sent := func(content string) object {
		return b.event("e-1", 1, fence, object{"kind": "chunk", "chunks": []any{piece("draft", content, false, false)}})
	}
	b.took(sent("one"))
	before, head := b.artifact(b.client, b.task, "draft", ""), b.world.head(b.task)
	unchanged := func() {
		t.Helper()
		if after := b.world.head(b.task); after.Seq != head.Seq || after.Chain != head.Chain {
			t.Errorf("the head is at %d, was at %d", after.Seq, head.Seq)
		}
		if after := b.artifact(b.client, b.task, "draft", ""); string(after.raw) != string(before.raw) {
			t.Errorf("the artifact is %s, was %s", after.raw, before.raw)
		}
	}
	wants(t, b.took(sent("one")), object{"hits": 1})
	unchanged()
	b.refused(sent("other bytes"), http.StatusConflict, "EVENT_ID_CONFLICT")
	unchanged()
	operator := b.with("Authorization", "Bearer local/op/operator:read")
	a := operator.send(operator.raw(t.Context(), http.MethodGet, "/tasks/"+b.task+"/ledger", ""))
	wants(t, a.result, object{"head.counts.incidents": 1, "head.counts.rejections": 1, "head.counts.hits": 1})
	kept, err := b.ledger.Rejections(t.Context(), b.ref(b.task))
	if err != nil || len(kept) != 1 || kept[0].Reason != lifecycle.ConflictingContent || kept[0].Producer != "producer:w1" {
		t.Errorf("kept %+v, %v", kept, err)
	}
	// In the next place, with a checksum that is not that of its bytes, it is refused.
	forged := piece("draft", "two", true, false)
	forged["part"] = object{"text": "not two"}
	b.refused(b.event("e-2", 2, fence, object{"kind": "chunk", "chunks": []any{forged}}), http.StatusBadRequest, "INVALID_PARAMS")
	unchanged()
}

// A client that polls an artifact by number while it is written gets each chunk
// once, whatever it is cut behind.
func TestArtifactWhileItGrows(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	w.must(id, grant())
	const chunks = 12
	var numbers []int
	next := 0
	for i := range chunks {
		w.must(id, chunk("draft", fmt.Sprint(i), i > 0, i == chunks-1))
		if i%3 == 2 {
			a := w.artifact(c, id, "draft", fmt.Sprintf("revision=1&after=%d", next))
			list, _ := a.result["chunks"].([]any)
			for _, k := range list {
				n, _ := dig(k, "number").(float64)
				numbers = append(numbers, int(n))
			}
			next = numbers[len(numbers)-1]
		}
	}
	want := make([]int, 0, chunks)
	for i := range chunks {
		want = append(want, i+1)
	}
	if !slices.Equal(numbers, want) {
		t.Errorf("numbers %v", numbers)
	}
}
