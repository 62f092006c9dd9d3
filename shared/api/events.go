package api

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// POST /tasks/{id}/events is for workers that are not our runner: another service,
// another language. The task's agent is declared as served from outside, so no
// execution is started for it. A worker claims the task, which gives it a lease and
// a fence; it renews the lease while it works, and reports what it does:
//
//	{
//	  "eventId":        "w1-2-3",            its own name for this event
//	  "producer":       "w1",                its own name
//	  "sourceSequence": 3,                   its reports on this task: 1, 2, 3 …
//	  "observedAt":     "2026-03-02T09:00:00.000Z",
//	  "fence":          2,                   from the answer to its claim
//	  "payloadDigest":  "…",                 SHA-256 of the payload's canonical JSON (RFC 8785)
//	  "payload":        {"kind": "status", "text": "Page 3 of 9"}
//	}
//
// Claim, renew and release are about the lease and have no place in the count. The
// kinds are in event_params.go, the answers in event_answer.go.

// producerPrefix keeps outside producers apart from clients and our own parts.
const producerPrefix = "producer:"

// eventIDConflict tells conflicting content under one event ID from that at one
// coordinate.
const eventIDConflict lifecycle.Reason = "event-id-conflict"

// serveEvents takes one event.
func (c *call) serveEvents(at address) {
	e, err := parameters(c, eventParams, true)
	var out eventAnswer
	if err == nil {
		out, err = c.take(at.task, e)
	}
	c.answer(out, err)
}

func (c *call) take(id a2a.TaskID, e event) (eventAnswer, error) {
	ctx, cancel := c.commitment()
	defer cancel()
	h, err := c.known(id)
	if err != nil {
		return eventAnswer{}, err
	}
	if !c.agent.Outside {
		return eventAnswer{}, refuse(a2a.ErrUnsupportedOperation, "The agent of this task is not served from outside: it takes no events.")
	}
	cmd, err := c.eventCommand(ctx, h, e)
	if err != nil {
		return eventAnswer{}, err
	}
	producer := producerPrefix + e.producer
	taken, err := c.Authority.Take(ctx, h.Ref(), cmd, lifecycle.Source{
		Producer: producer, EventID: e.id, Seq: e.seq, ObservedAt: e.observedAt, Holder: producer, Fence: e.fence,
	}, ledger.Sent{Payload: e.payload, Digest: e.digest})
	now := taken.Task.Head
	if lifecycle.RejectedFor(err, lifecycle.Superseded) {
		err = ledger.ErrBusy // an operator's restart came in between: ask again
	}
	if r, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		if _, taken := errors.AsType[*ledger.EventIDConflict](err); taken {
			r = &lifecycle.Rejection{Reason: eventIDConflict, Detail: r.Detail}
		}
		return eventAnswer{}, c.eventRefused(e, r, now)
	}
	if err != nil {
		return eventAnswer{}, err
	}
	if e.kind == kindClaim && now.Terminal() {
		return eventAnswer{}, c.eventRefused(e, &lifecycle.Rejection{Reason: lifecycle.PostTerminal, Detail: "the task has ended as " + string(now.State)}, now)
	}
	return c.eventAnswer(ctx, e, taken)
}

// eventCommand is what an event asks of the task.
func (c *call) eventCommand(ctx context.Context, h lifecycle.Head, e event) (lifecycle.Command, error) {
	holder, grace := producerPrefix+e.producer, c.Policy.Grace
	lease := cmp.Or(e.lease, h.Lease(lifecycle.DefaultLease))
	switch e.kind {
	case kindClaim:
		return lifecycle.Grant{Holder: holder, Generation: h.Generation, Lease: lease, Grace: grace}, nil
	case kindRenew:
		return lifecycle.Renew{Holder: holder, Fence: e.fence, Lease: lease, Grace: grace}, nil
	case kindRelease:
		return lifecycle.Release{Holder: holder, Fence: e.fence, Grace: grace}, nil
	}
	r := lifecycle.Report{
		Holder: holder, Fence: e.fence, Verb: eventKinds[e.kind].verb, State: e.state, Next: h.Step,
		Message: e.message, Pause: e.pause, Reason: e.reason, Grace: grace,
	}
	if h.Terminal() { // what is large need not be stored for this
		return r, nil
	}
	if err := c.storeEvent(ctx, h.Ref(), &r, e.chunks); err != nil {
		return nil, err
	}
	if r.Verb == lifecycle.VerbProgress && r.Message != nil {
		r.Updates, r.Message = []lifecycle.Update{{Message: r.Message}}, nil
	}
	return r, nil
}

// storeEvent moves the large parts of a report to the blob store.
func (c *call) storeEvent(ctx context.Context, ref lifecycle.Ref, r *lifecycle.Report, chunks []chunkSent) error {
	nothing := func() error { return nil }
	if r.Message != nil {
		stored, _, err := c.offload(ctx, ref, r.Message, nothing)
		if err != nil {
			return err
		}
		r.Message = stored
	}
	for _, k := range chunks {
		stored, _, err := c.offload(ctx, ref, &a2a.Message{Parts: a2a.ContentParts{k.chunk.Part}}, nothing)
		if err != nil {
			return err
		}
		chunk := k.chunk
		chunk.Part = stored.Parts[0]
		r.Updates = append(r.Updates, k.update(chunk))
	}
	return nil
}

// eventRefused answers an event that the task does not take. Those that may be taken
// later say when to ask again.
func (c *call) eventRefused(e event, r *lifecycle.Rejection, h lifecycle.Head) error {
	text := r.Detail
	switch r.Reason {
	case lifecycle.SequenceGap, lifecycle.CoordinateGap:
		c.w.Header().Set("Retry-After", "1")
	case lifecycle.LeaseHeld:
		left := math.Ceil(h.LeaseUntil.Sub(c.Now()).Seconds())
		c.w.Header().Set("Retry-After", strconv.Itoa(int(max(left, 1))))
		text = "another worker holds the lease until " + h.LeaseUntil.Format(time.RFC3339)
	case lifecycle.PostTerminal:
		if h.State == lifecycle.Canceled && eventKinds[e.kind].verb != "" {
			text += "; what came after that is kept apart and shown to nobody"
		}
	}
	out := refuse(a2a.ErrInvalidParams, "payload: %s.", text)
	if k := eventRefusal(r.Reason); kindOf(k).status == http.StatusConflict {
		out = refuse(k, "The task does not take the event: %s.", text)
	}
	out.task = h.Task
	return out
}

// eventRefusal is an event that the task does not take, as an entry of kinds.
type eventRefusal lifecycle.Reason

// Error implements error.
func (r eventRefusal) Error() string { return "event refused: " + string(r) }
