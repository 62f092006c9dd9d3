package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What the agent of testdata/trial produces.
const (
	producedNotes     = 2000
	producedArtifacts = 300
	producedPieces    = 3
	// maxItemBytes is what an item of DynamoDB takes ("Quotas in Amazon DynamoDB").
	maxItemBytes = 400 << 10
)

// Case 46: a text part of 401 KB, a raw part of 5 MB, 300 artifacts and a history of
// 2,000 messages. GetTask and ListTasks show all of it, no item of the tables comes near
// its limit, and what was written in part is never shown: neither when the connection to
// the bucket breaks within the 5 MB, nor when the process is killed between the bucket
// and the commit, nor when the bucket has half of what it was given.
func TestLargeOutput(t *testing.T) {
	t.Parallel()
	p := &producing{raw: bytes.Repeat([]byte("holdfast"), 5<<20/8), text: strings.Repeat("0123456789abcdef", 401<<10/16)}
	p.stack = newStack(t, plan{
		build: trial, processes: 4, sweep: shortSweep, blobs: newProxy(t, blobsEndpoint, p.meet),
		env: []string{"HOLDFAST_LEASE=1500ms", "HOLDFAST_RENEWAL=500ms", "HOLDFAST_GRACE=200ms"},
	})
	ctx := t.Context()
	task, err := send(ctx, p.url, withText("large", "produce", p.text, true))
	if err != nil {
		t.Fatal(err)
	}
	p.knows(task.ID)
	p.reaches(refTo(task.ID), lifecycle.Completed)
	h, err := verify(ctx, p.auth, refTo(task.ID))
	if err != nil {
		t.Error(err)
	}
	cut, killed := p.played()
	if cut != 1 || killed != 1 || h.Fence < 2 {
		t.Errorf("%d connections cut, %d processes killed, %d leases; want one, one and more than one", cut, killed, h.Fence)
	}

	got, err := getTask(ctx, p.url, task.ID)
	if err != nil {
		t.Fatal(err)
	}
	p.whole("GetTask", got)
	var page struct {
		Tasks []a2a.Task `json:"tasks"`
	}
	if err := ask(ctx, &page, http.MethodGet, p.url+"/tasks?pageSize=1&includeArtifacts=true&historyLength=10000", ""); err != nil || len(page.Tasks) != 1 {
		t.Fatalf("ListTasks gave %d tasks, %v", len(page.Tasks), err)
	}
	p.whole("ListTasks", page.Tasks[0])

	most, items := 0, 0
	for _, table := range []string{p.tables.Tasks, p.tables.Private} {
		largest, n := p.largestItem(table)
		most, items = max(most, largest), items+n
	}
	if most >= maxItemBytes {
		t.Errorf("an item has %d bytes", most)
	}
	p.halve(got)
	t.Logf("%d entries in %d items, the largest of %d bytes; %d leases", len(h.entries), items, most, h.Fence)
}

// producing is a stack whose step function loses the bucket once, and its life once,
// while it stores the 5 MB.
type producing struct {
	*stack
	raw  []byte
	text string

	mu          sync.Mutex
	id          a2a.TaskID
	puts        int
	cut, killed int
}

// knows is told the task, whose storing waits for that.
func (p *producing) knows(id a2a.TaskID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.id = id
}

func (p *producing) played() (cut, killed int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut, p.killed
}

// meet is between the step function and the bucket. Only the 5 MB make so large a
// request.
func (p *producing) meet(x *exchange) *reply {
	if len(x.body) < len(p.raw) {
		return x.forward()
	}
	expect(p.T, "the task is known", lookSoon, func() (bool, string) {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.id != "", "not yet"
	})
	p.mu.Lock()
	p.puts++
	n := p.puts
	p.mu.Unlock()
	switch n {
	case 1: // a part was on its way when the connection broke
		p.hidden("while the bytes are on their way")
		p.mu.Lock()
		p.cut++
		p.mu.Unlock()
		return nil
	case 2: // the bucket has them, and nothing names them
		answer := x.forward()
		if answer == nil || answer.status != http.StatusOK {
			p.Errorf("the bucket answers %+v", answer)
		}
		p.hidden("when the bytes are in the bucket and not committed")
		ended := p.function(fnStep).Kill()
		p.mu.Lock()
		p.killed += ended
		p.mu.Unlock()
		return nil
	}
	return x.forward()
}

// hidden wants nothing of what is being stored in the task.
func (p *producing) hidden(when string) {
	p.mu.Lock()
	id := p.id
	p.mu.Unlock()
	got, err := getTask(context.Background(), p.url, id)
	if err != nil || len(got.Artifacts) != 0 || got.Status.State.Terminal() {
		p.Errorf("%s the task is %s with %d artifacts, %v; want none", when, got.Status.State, len(got.Artifacts), err)
	}
}

// whole wants everything that was produced in a task, each part of it once.
func (p *producing) whole(from string, got a2a.Task) {
	p.Helper()
	notes := map[string]int{}
	for _, m := range got.History {
		if text := m.Parts[0].Text(); strings.HasPrefix(text, "note ") {
			notes[text]++
		}
	}
	for n := 1; n <= producedNotes; n++ {
		if note := fmt.Sprintf("note %d", n); notes[note] != 1 {
			p.Errorf("%s: the history has %q %d times", from, note, notes[note])
			break
		}
	}
	if len(notes) != producedNotes || len(got.History) != producedNotes+1 {
		p.Errorf("%s: a history of %d messages, %d of them notes", from, len(got.History), len(notes))
	}
	artifacts := map[a2a.ArtifactID]*a2a.Artifact{}
	for _, a := range got.Artifacts {
		artifacts[a.ID] = a
	}
	if len(artifacts) != producedArtifacts || len(got.Artifacts) != producedArtifacts {
		p.Fatalf("%s: %d artifacts under %d IDs", from, len(got.Artifacts), len(artifacts))
	}
	if pieces := artifacts["pieces"]; len(pieces.Parts) != producedPieces || pieces.Parts[producedPieces-1].Text() != "piece 3. " {
		p.Errorf("%s: the pieces are %+v", from, pieces.Parts)
	}
	for id, want := range map[a2a.ArtifactID][]byte{"raw": p.raw, "text": []byte(p.text)} {
		url := string(artifacts[id].Parts[0].URL())
		a, err := call(p.Context(), http.MethodGet, url, "")
		if err != nil || a.status != http.StatusOK || !bytes.Equal(a.body, want) {
			p.Errorf("%s: artifact %s at %s has %d bytes with status %d, %v; want %d", from, id, url, len(a.body), a.status, err, len(want))
		}
		if meta := fmt.Sprint(artifacts[id].Parts[0].Metadata); !strings.Contains(meta, string(lifecycle.DigestBytes(want))) {
			p.Errorf("%s: artifact %s tells no checksum: %s", from, id, meta)
		}
	}
}

// halve leaves half of the 5 MB in the bucket: nobody is given them.
func (p *producing) halve(got a2a.Task) {
	p.Helper()
	ctx := p.Context()
	digest := string(lifecycle.DigestBytes(p.raw))
	list, err := bucketClient.ListObjectsV2(ctx, &s3.ListObjectsV2Input{Bucket: &p.bucket})
	if err != nil {
		p.Fatal(err)
	}
	halved := 0
	for _, object := range list.Contents {
		if strings.HasSuffix(*object.Key, digest) {
			halved++
			if _, err := bucketClient.PutObject(ctx, &s3.PutObjectInput{Bucket: &p.bucket, Key: object.Key, Body: bytes.NewReader(p.raw[:len(p.raw)/2])}); err != nil {
				p.Fatal(err)
			}
		}
	}
	if halved != 1 {
		p.Fatalf("%d objects with the digest of the 5 MB", halved)
	}
	for _, a := range got.Artifacts {
		if a.ID != "raw" {
			continue
		}
		damaged, err := call(ctx, http.MethodGet, string(a.Parts[0].URL()), "")
		if err != nil || damaged.status < http.StatusInternalServerError || bytes.Contains(damaged.body, p.raw[:64]) {
			p.Errorf("half of the bytes are answered %s, %v", damaged, err)
		}
	}
	if _, err := getTask(ctx, p.url, got.ID); err != nil {
		p.Error(err)
	}
}

// largestItem is the size of the largest item of a table, and how many there are.
func (p *producing) largestItem(table string) (most, items int) {
	p.Helper()
	pages := dynamodb.NewScanPaginator(tableClient, &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(p.Context())
		if err != nil {
			p.Fatal(err)
		}
		for _, it := range page.Items {
			items++
			most = max(most, sizeOf(&types.AttributeValueMemberM{Value: it}))
		}
	}
	return most, items
}

// sizeOf is what a value counts, at the least ("DynamoDB item sizes and formats").
func sizeOf(v types.AttributeValue) int {
	switch x := v.(type) {
	case *types.AttributeValueMemberS:
		return len(x.Value)
	case *types.AttributeValueMemberB:
		return len(x.Value)
	case *types.AttributeValueMemberN:
		return len(x.Value)
	case *types.AttributeValueMemberM:
		n := 3
		for name, one := range x.Value {
			n += 1 + len(name) + sizeOf(one)
		}
		return n
	}
	text, _ := json.Marshal(v)
	return len(text)
}
