package api

import (
	"context"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// eventAnswer is what a producer is told about an event that was accepted, now or
// before: what is remembered of it, and the task as it is now.
type eventAnswer struct {
	Task          a2a.TaskID       `json:"taskId"`
	EventID       string           `json:"eventId"`
	Producer      string           `json:"producer"`
	PayloadDigest lifecycle.Digest `json:"payloadDigest"`
	// Sequence is the task's entry that accepted the event, or the last one there was
	// when it changed the lease only.
	Sequence uint64 `json:"sequence"`
	// Hits is how often the event came again.
	Hits int `json:"hits"`
	// Fence is what the event came under, or what was granted.
	Fence uint64 `json:"fence"`

	State      a2a.TaskState `json:"state"`
	LeaseUntil *wireTime     `json:"leaseUntil,omitempty"` // while the lease is the producer's
	// CancelRequested asks the worker to stop, and to report cancel or how the work has
	// ended.
	CancelRequested bool `json:"cancelRequested,omitempty"`
	// Work is what a claim gives.
	Work *work `json:"work,omitempty"`
}

// work is everything that a worker needs to begin, or to go on where the last one
// was.
type work struct {
	ContextID string `json:"contextId"`
	// Message is the caller's: the first one, or the answer to the last pause.
	Message *a2a.Message `json:"message"`
	// State is the last checkpoint, as it was reported.
	State     json.RawMessage  `json:"state,omitempty"`
	Artifacts []artifactAtHand `json:"artifacts"`
	Last      lastReport       `json:"last"`
	Deadline  wireTime         `json:"lifeEndsAt"`
}

// lastReport is how far the producer's count has come: its next report is one more.
type lastReport struct {
	Seq     uint64 `json:"sourceSequence"`
	EventID string `json:"eventId,omitempty"`
}

// artifactAtHand is how far an artifact is.
type artifactAtHand struct {
	ID       a2a.ArtifactID `json:"artifactId"`
	Revision int            `json:"revision"`
	Chunks   int            `json:"chunks"`
	Bytes    int64          `json:"bytes"`
	Sealed   bool           `json:"sealed"`
}

func (c *call) eventAnswer(ctx context.Context, e event, taken ledger.Taken) (eventAnswer, error) {
	h, producer := taken.Task.Head, producerPrefix+e.producer
	out := eventAnswer{
		Task: h.Task, EventID: e.id, Producer: e.producer, PayloadDigest: e.digest, Sequence: h.Seq, Fence: h.Fence,
		State: h.State, CancelRequested: h.Cancel != nil,
	}
	if r := taken.Receipt; r != nil {
		out.Sequence, out.Hits, out.Fence = r.Seq, r.Hits, r.Fence
	}
	if h.Holder == producer && h.Fence == out.Fence {
		out.LeaseUntil = new(wireTime(h.LeaseUntil))
	}
	if e.kind != kindClaim {
		return out, nil
	}
	var err error
	out.Work, err = c.workOf(ctx, h, producer)
	return out, err
}

// workOf reads what a worker needs.
func (c *call) workOf(ctx context.Context, h lifecycle.Head, producer string) (*work, error) {
	ref, l := h.Ref(), c.Authority.Ledger
	mark, err := l.Producer(ctx, ref, producer)
	if err != nil {
		return nil, err
	}
	out := &work{ContextID: h.ContextID, Artifacts: []artifactAtHand{}, Deadline: wireTime(h.LifeEndsAt), Last: lastReport{Seq: mark.Seq, EventID: mark.EventID}}
	ev, err := ledger.EventAt(ctx, l, ref, h.MessageSeq)
	if err != nil {
		return nil, err
	}
	// A worker need not be a caller, and has no other way to the bytes.
	if out.Message, err = ledger.Whole(ctx, c.Blobs, ref, ev.Message); err != nil {
		return nil, err
	}
	if ev.Message != nil { // the metadata of its parts is that of the whole one's
		for _, p := range ev.Message.Parts {
			if _, moved := lifecycle.AsBlob(p); moved {
				delete(p.Metadata, lifecycle.ExtensionURI) // it is about the blob
			}
		}
	}
	if h.CheckpointSeq > 0 {
		if ev, err = ledger.EventAt(ctx, l, ref, h.CheckpointSeq); err != nil {
			return nil, err
		}
		if ev.Checkpoint != nil {
			out.State = ev.Checkpoint.State
		}
	}
	if h.Artifacts == 0 {
		return out, nil
	}
	arts, err := l.Artifacts(ctx, ref)
	for _, a := range arts {
		out.Artifacts = append(out.Artifacts, artifactAtHand{ID: a.ID, Revision: a.Revision, Chunks: a.Chunks, Bytes: a.Bytes, Sealed: a.Sealed})
	}
	return out, err
}
