package api

import (
	"context"
	"errors"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Receipts verifies authorization receipts (A2A §7.6). Of a receipt that does not hold
// both methods say so by an error that wraps a *lifecycle.Rejection, whose text quotes
// nothing of it: it is shown and kept.
type Receipts interface {
	// Read says what a receipt claims to be. Nobody has verified that.
	Read(receipt string) (lifecycle.ReceiptRef, error)
	// Verify holds it against a challenge that a task has opened at an instant. Any
	// other error is a fault: the receipt may be good.
	Verify(ctx context.Context, receipt string, of lifecycle.Ref, challenge lifecycle.Challenge, openedAt time.Time) (lifecycle.ReceiptRef, error)
	// Terms are what the card says of receipts.
	Terms() map[string]any
}

// receiptTerms are what the card says: whose receipts are taken, if any are.
func (c *call) receiptTerms() map[string]any {
	if c.Receipts == nil {
		return map[string]any{"rule": "No authorization receipts are taken here."}
	}
	terms := c.Receipts.Terms()
	terms["rule"] = "A task in auth-required shows its challenge in its metadata. A receipt for it goes as {\"receipt\": \"…\"} to POST /tasks/{id}/authorizations, or as metadata authorization with a message to the task."
	return terms
}

// serveAuthorize takes a receipt out of band: POST /tasks/{id}/authorizations with
// {"receipt": "…"}. Whoever approves need not speak A2A. It answers with the task.
func (c *call) serveAuthorize(at address) {
	receipt, err := parameters(c, authorizationParam, true)
	if err == nil {
		err = c.authorize(at.task, receipt)
	}
	f := c.follow(at.task)
	if err == nil {
		err = f.load(c.r.Context())
	}
	c.answer(wireTaskOf(f.view.Task(), nil), err)
}

// authorizationParam reads the body. Without a receipt it is the empty one.
func authorizationParam(v value) (receipt string, err error) {
	var r reader
	r.fields(v, func(name string, v value) {
		if name == "receipt" {
			receipt = r.text(v, name)
		}
	})
	return receipt, r.err()
}

// authorization takes a receipt out of a message's metadata, or a request's: nothing
// that is stored or digested may hold it (I9).
func (r *reader) authorization(metadata, own map[string]any, field string, e *extension) {
	given, there := own["authorization"]
	if !there {
		return
	}
	if delete(own, "authorization"); len(own) == 0 {
		delete(metadata, lifecycle.ExtensionURI)
	}
	text, ok := given.(string)
	if !ok {
		r.wrong(field, "must be a string")
	}
	e.authorization = &text
}

func (c *call) authorize(id a2a.TaskID, text string) error {
	ctx, cancel := c.commitment()
	defer cancel()
	p, err := c.examine(ctx, id, text)
	if err != nil || p.accepted {
		return err
	}
	return c.close(ctx, p)
}

// replyAuthorized takes a message that brings a receipt: in band. A receipt that does
// not hold changes nothing, and the message is not kept either; one that does is
// presented behind the message, so that the message again, after a crash between the
// two, brings it again.
func (c *call) replyAuthorized(q request) (*follower, bool, error) {
	if q.id == "" {
		return nil, false, refuse(a2a.ErrInvalidParams, "message.taskId: a message with an authorization receipt names the task that waits for it.")
	}
	ctx, cancel := c.commitment()
	defer cancel()
	p, err := c.examine(ctx, q.id, *q.authorization)
	if err != nil {
		return nil, false, err
	}
	if !p.accepted && q.pause == nil {
		// Should the task ask something in the meantime, this is not the answer.
		q.pause = &p.head.Challenge.Number
	}
	f, fresh, err := c.reply(q)
	if err != nil || p.accepted {
		return f, fresh, err
	}
	return f, false, c.close(ctx, p)
}

// presented is a receipt on its way through the door.
type presented struct {
	head    lifecycle.Head
	receipt lifecycle.ReceiptRef
	// accepted says that the task has accepted this very receipt already.
	accepted bool
}

// examine finds out whether a receipt closes the challenge that a task has open. The
// same receipt again is a lookup hit, whatever has become of the task since.
func (c *call) examine(ctx context.Context, id a2a.TaskID, text string) (presented, error) {
	var p presented
	if c.Receipts == nil {
		return p, refuse(a2a.ErrUnsupportedOperation, "No authorization receipts are taken here: the operator has configured no issuer of them.")
	}
	var err error
	if p.head, err = c.known(id); err != nil {
		return p, err
	}
	if p.receipt, err = c.Receipts.Read(text); err != nil {
		return p, c.unauthorized(ctx, p, err)
	}
	if p.accepted, err = c.accepted(ctx, p); err != nil || p.accepted {
		return p, err
	}
	switch {
	case p.head.Terminal():
		err = &lifecycle.Rejection{Reason: lifecycle.PostTerminal, Detail: "the task has ended as " + string(p.head.State)}
	case p.head.Challenge == nil:
		err = &lifecycle.Rejection{Reason: lifecycle.ReceiptInvalid, Detail: "the task waits for no authorization"}
	default:
		p.receipt, err = c.Receipts.Verify(ctx, text, p.head.Ref(), *p.head.Challenge, p.head.StatusAt)
	}
	if err != nil {
		return p, c.unauthorized(ctx, p, err)
	}
	return p, nil
}

// close closes the challenge with a receipt that was verified, and tells the execution
// that is parked on it. Of all who bring the same receipt at once, one closes it, and
// the others learn that it is closed.
func (c *call) close(ctx context.Context, p presented) error {
	t, err := c.whole(ctx, p.head)
	if err != nil {
		return err
	}
	res, err := c.Authority.Do(ctx, t, lifecycle.Authorize{Receipt: p.receipt, Grace: c.Policy.Grace}, lifecycle.Source{Producer: c.producer()},
		ledger.Extra{Receipt: &ledger.Receipt{Producer: issuedBy(p.receipt), EventID: p.receipt.JTI, Digest: p.receipt.Digest}})
	c.answered(ctx, res)
	if err == nil {
		return nil
	}
	if known, failed := c.accepted(ctx, p); known || failed != nil {
		return failed
	}
	return c.unauthorized(ctx, p, err)
}

// issuedBy is an issuer as a source of events, whose ID is the receipt's jti: by these a
// receipt is used once.
func issuedBy(r lifecycle.ReceiptRef) string {
	return "issuer:" + string(lifecycle.DigestOf("holdfast-issuer-1", r.Issuer)[:principalChars])
}

// accepted looks a receipt up among those that the task has accepted.
func (c *call) accepted(ctx context.Context, p presented) (bool, error) {
	ref, producer, jti := p.head.Ref(), issuedBy(p.receipt), p.receipt.JTI
	receipt, err := c.Authority.Ledger.Receipt(ctx, ref, producer, jti)
	switch {
	case errors.Is(err, ledger.ErrNotFound):
		return false, nil
	case err != nil:
		return false, err
	case receipt.Digest == p.receipt.Digest:
		return true, c.Authority.Ledger.Hit(ctx, ref, producer, jti)
	}
	return false, c.unauthorized(ctx, p, &lifecycle.Rejection{Reason: lifecycle.ReceiptInvalid, Detail: "the receipt's jti was used already: get a new receipt"})
}

// unauthorized answers a receipt that closes nothing, and keeps the rejection beside
// the task under the receipt's digest. Faults are passed on.
func (c *call) unauthorized(ctx context.Context, p presented, err error) error {
	r, ok := errors.AsType[*lifecycle.Rejection](err)
	if !ok {
		return err
	}
	event := ""
	if p.receipt.Digest != "" {
		event = "receipt." + string(p.receipt.Digest)
	}
	c.keep(ctx, p.head.Ref(), event, r)
	var out *refusal
	switch r.Reason {
	case lifecycle.ReceiptRequired:
		out = refuse(errReceiptRequired, "%s", capital(r.Detail))
	case lifecycle.ReceiptInvalid:
		out = refuse(errReceiptInvalid, "%s", capital(r.Detail))
	case lifecycle.PostTerminal:
		out = refuse(a2a.ErrUnsupportedOperation, "The task has ended and needs no authorization any more.")
	case lifecycle.PauseExpired:
		out = refuse(a2a.ErrUnsupportedOperation, "The receipt came after the deadline: %s.", r.Detail)
	default:
		out = refuse(a2a.ErrUnsupportedOperation, "The task does not take the receipt: %s.", r.Detail)
	}
	out.task = p.head.Task
	return out
}
