package api

import (
	"context"
	"errors"
	"log/slog"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// reply brings a message to an existing task (A2A §3.4.3). Repeated under its
// messageId it is the same reply, whatever has become of the task since.
func (c *call) reply(q request) (*follower, bool, error) {
	ctx, cancel := c.commitment()
	defer cancel()
	h, err := c.known(q.id)
	if err != nil {
		return nil, false, err
	}
	if q.message.ContextID != "" && q.message.ContextID != h.ContextID {
		return nil, false, refuse(a2a.ErrInvalidParams, "message.contextId: the task belongs to another context; leave it out or send the task's.")
	}
	digest, err := lifecycle.DigestJSON(q.message)
	if err != nil {
		return nil, false, err
	}
	f := c.follow(q.id)
	if known, err := c.repeated(ctx, f.ref, q.message.ID, digest); known || err != nil {
		return f, false, err
	}
	if h.Terminal() {
		// Large parts need not be stored for this.
		return nil, false, c.rejected(ctx, f.ref, q, &lifecycle.Rejection{Reason: lifecycle.PostTerminal, Detail: "the task has ended as " + string(h.State)}, h)
	}
	message, _, err := c.offload(ctx, f.ref, q.message, func() error { return nil })
	if err != nil {
		return nil, false, err
	}
	t, err := c.whole(ctx, h)
	if err != nil {
		return nil, false, err
	}
	if w := q.webhook; w != nil { // before the reply: what that brings about is to be sent already
		if w.id == "" { // a repeated message names the same endpoint again
			w.id = string(lifecycle.DigestOf("holdfast-endpoint-1", q.message.ID)[:principalChars])
		}
		if _, err := c.register(ctx, h, w); err != nil {
			return nil, false, err
		}
	}
	res, err := c.Authority.Do(ctx, t, lifecycle.Reply{Message: message, Pause: q.pause, Grace: c.Policy.Grace}, c.source(message.ID),
		ledger.Extra{Receipt: &ledger.Receipt{Producer: c.producer(), EventID: message.ID, Digest: digest}})
	c.answered(ctx, res)
	rejection, refused := errors.AsType[*lifecycle.Rejection](err)
	_, overtaken := errors.AsType[*ledger.ReceiptKnown](err)
	switch {
	case err == nil:
		return f, false, nil
	case !refused && !overtaken:
		return nil, false, err
	}
	// Another request with this message may have come first in the meantime.
	if known, err := c.repeated(ctx, f.ref, q.message.ID, digest); known || err != nil {
		return f, false, err
	}
	if !refused {
		return nil, false, err
	}
	return nil, false, c.rejected(ctx, f.ref, q, rejection, res.Task.Head)
}

// answered tells the execution that is parked on a pause that it was closed.
func (c *call) answered(ctx context.Context, res ledger.Result) {
	if res.Answered > 0 && c.Executions != nil && !c.agent.Outside {
		c.untold(res.Task.Ref(), "answered", c.Executions.Answered(ctx, res.Task.Head, res.Answered))
	}
}

// repeated looks a message up among those that the task has accepted. The same
// one is a hit; the same ID with other content an incident.
func (c *call) repeated(ctx context.Context, ref lifecycle.Ref, messageID string, digest lifecycle.Digest) (bool, error) {
	receipt, err := c.Authority.Ledger.Receipt(ctx, ref, c.producer(), messageID)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case receipt.Digest == digest:
		return true, c.Authority.Ledger.Hit(ctx, ref, c.producer(), messageID)
	}
	c.keep(ctx, ref, messageID, &lifecycle.Rejection{Reason: lifecycle.ConflictingContent, Detail: "one messageId, two messages"})
	return false, refuse(errMessageConflict, "message.messageId: the task has accepted another message under this ID; use a new one.")
}

// rejected answers a message that the task does not take now, and keeps the
// rejection beside the task (I2).
func (c *call) rejected(ctx context.Context, ref lifecycle.Ref, q request, r *lifecycle.Rejection, h lifecycle.Head) error {
	c.keep(ctx, ref, q.message.ID, r)
	var out *refusal
	switch r.Reason {
	case lifecycle.PostTerminal:
		out = refuse(a2a.ErrUnsupportedOperation, "The task has ended and takes no more messages; send one without taskId for a new task.")
	case lifecycle.PauseMismatch:
		out = refuse(a2a.ErrInvalidParams, "The message answers another question than the one that is open: %s.", r.Detail)
		if h.Pause != nil && q.pause == nil {
			out = refuse(a2a.ErrInvalidParams, "The question must be answered by its number: send it in the metadata as {%q: {\"pause\": %d}}.", lifecycle.ExtensionURI, h.Pause.Number)
		}
		out.fields = []violation{{"message.metadata." + lifecycle.ExtensionURI + ".pause", r.Detail}}
	case lifecycle.PauseExpired:
		out = refuse(a2a.ErrUnsupportedOperation, "The reply came after the deadline: %s.", r.Detail)
	case lifecycle.InvalidContent:
		out = unfit(r)
	case lifecycle.IllegalTransition:
		out = refuse(a2a.ErrUnsupportedOperation, "The task waits for no message; send one when it is input-required.")
	default:
		out = refuse(a2a.ErrUnsupportedOperation, "The task does not take the message: %s.", r.Detail)
	}
	out.task = ref.Task
	return out
}

// unfit is a message that the rules do not take, though it was read: it is the
// caller's to correct.
func unfit(r *lifecycle.Rejection) *refusal {
	return refuse(a2a.ErrInvalidParams, "message: %s.", r.Detail)
}

// keep records a rejection. The answer does not depend on it.
func (c *call) keep(ctx context.Context, ref lifecycle.Ref, messageID string, r *lifecycle.Rejection) {
	err := c.Authority.Ledger.Reject(ctx, ref, ledger.Rejected{
		At: lifecycle.Millis(c.Now()), Producer: c.producer(), EventID: messageID, Reason: r.Reason, Detail: r.Detail,
	})
	if err != nil {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "a rejection was not kept", slog.String("tenant", ref.Tenant), slog.String("task", string(ref.Task)), slog.Any("error", err))
	}
}
