package api

import (
	"errors"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// acknowledged is the answer to an acknowledgement. It is the same however often the
// receipt is acknowledged.
type acknowledged struct {
	Task a2a.TaskID `json:"task"`
	lifecycle.TerminalReceipt

	AcknowledgedAt wireTime `json:"acknowledgedAt"`
	// ExpiresAt is from when on the task is not found any more.
	ExpiresAt wireTime `json:"expiresAt"`
}

// serveAcknowledge takes a caller's word that it holds the export of an ended task:
// POST /tasks/{id}/acknowledgement with {"sequence": 12, "digest": "…"}, the receipt in
// the task's metadata, or seq and chain of the export's trailer. From then on the task is
// kept as its policy says of exported ones.
func (c *call) serveAcknowledge(at address) {
	receipt, err := parameters(c, receiptParams, true)
	var out acknowledged
	if err == nil {
		out, err = c.acknowledge(at.task, receipt)
	}
	c.answer(out, err)
}

// receiptParams reads a terminal receipt. What else the task's metadata shows of it may
// come along.
func receiptParams(v value) (lifecycle.TerminalReceipt, error) {
	var out lifecycle.TerminalReceipt
	var r reader
	var counted, digested bool
	r.fields(v, func(name string, v value) {
		switch name {
		case "sequence":
			counted, out.Seq = true, r.counted(v, name)
		case "digest":
			digested = true
			if out.Chain = lifecycle.Digest(r.text(v, name)); !out.Chain.Valid() {
				r.wrong(name, "must be a digest of 64 lower-case hexadecimal digits")
			}
		}
	})
	if !counted {
		r.wrong("sequence", "is required: that of the task's last entry")
	}
	if !digested {
		r.wrong("digest", "is required: the chain digest up to the task's last entry")
	}
	return out, r.err()
}

func (c *call) acknowledge(id a2a.TaskID, receipt lifecycle.TerminalReceipt) (acknowledged, error) {
	ctx, cancel := c.commitment()
	defer cancel()
	if _, err := c.known(id); err != nil {
		return acknowledged{}, err
	}
	h, err := c.Authority.Acknowledge(ctx, c.refTo(id), receipt)
	if r, refused := errors.AsType[*lifecycle.Rejection](err); refused {
		return acknowledged{}, unacknowledged(h, r)
	}
	if errors.Is(err, ledger.ErrNotFound) { // it has expired in between
		return acknowledged{}, notFound(id)
	}
	if err != nil {
		return acknowledged{}, err
	}
	return acknowledged{Task: id, TerminalReceipt: h.TerminalReceipt(), AcknowledgedAt: wireTime(h.AckedAt), ExpiresAt: wireTime(h.ExpiresAt)}, nil
}

// unacknowledged says what to do instead.
func unacknowledged(h lifecycle.Head, r *lifecycle.Rejection) error {
	out := refuse(errReceiptMismatch, "The receipt is not this task's: export the task once more, and acknowledge the seq and chain of that export's trailer.")
	if r.Reason == lifecycle.NotDue {
		out = refuse(errNotEnded, "The task is still in %s: acknowledge its export when it has ended.", h.State)
	}
	out.task = h.Task
	return out
}
