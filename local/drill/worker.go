package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// event is what a worker reports: its own name for it, its place in the worker's
// count, and the fence under which it stands in the story.
type event struct {
	id      string
	seq     uint64
	fence   uint64
	payload object
}

// worker reports events about one task.
type worker struct {
	door

	producer string
	task     string
	fence    uint64 // of its last claim
}

// taken is the answer to an event that was accepted.
type taken struct {
	Sequence uint64 `json:"sequence"`
	Hits     int    `json:"hits"`
	Fence    uint64 `json:"fence"`
	State    string `json:"state"`
	Work     struct {
		Last struct {
			Seq uint64 `json:"sourceSequence"`
		} `json:"last"`
	} `json:"work"`
}

// send sends an event under a fence, which a claim has none of.
func (w *worker) send(ctx context.Context, e event) (answer, error) {
	body, err := w.body(e)
	if err != nil {
		return answer{}, err
	}
	return w.Ask(ctx, http.MethodPost, w.url+"/tasks/"+w.task+"/events", body)
}

func (w *worker) body(e event) (object, error) {
	content, err := canonical(e.payload)
	if err != nil {
		return nil, err
	}
	body := object{
		"eventId": e.id, "producer": w.producer, "payload": json.RawMessage(content), "payloadDigest": digestOf(content),
		"observedAt": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
	}
	if e.seq > 0 {
		body["sourceSequence"] = e.seq
	}
	if e.fence > 0 {
		body["fence"] = e.fence
	}
	return body, nil
}

// report sends an event that must be accepted.
func (w *worker) report(ctx context.Context, e event) (taken, error) {
	var out taken
	a, err := w.send(ctx, e)
	if err == nil {
		err = a.Decode(&out)
	}
	if err != nil {
		return out, fmt.Errorf("event %s: %w", e.id, err)
	}
	return out, nil
}

// refused sends an event that must be refused for a reason.
func (w *worker) refused(ctx context.Context, e event, reason string) error {
	a, err := w.send(ctx, e)
	if err != nil {
		return err
	}
	return a.RefusedFor("event "+e.id, reason)
}

// claiming is the event by which a worker claims its task. Until it was answered it
// has the same name.
func (w *worker) claiming() event {
	return event{id: fmt.Sprintf("claim-%d", w.fence+1), payload: object{"kind": "claim", "leaseSeconds": 60}}
}

// claim claims the task, which must be free.
func (w *worker) claim(ctx context.Context) error {
	got, err := w.report(ctx, w.claiming())
	w.fence = max(w.fence, got.Fence)
	return err
}

// said is a status with a text.
func said(text string) object { return object{"kind": "status", "text": text} }

// chunkOf is a chunk of an artifact, of text.
func chunkOf(name, text string, appends, last bool) object {
	return object{"artifactId": name, "part": object{"text": text}, "checksum": digestOf([]byte(text)), "append": appends, "lastChunk": last}
}

// chunked is a report of chunks.
func chunked(chunks ...object) object { return object{"kind": "chunk", "chunks": chunks} }

// canonical is the canonical JSON (RFC 8785) of what the drill sends: names are ASCII
// and numbers small integers.
func canonical(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

func digestOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
