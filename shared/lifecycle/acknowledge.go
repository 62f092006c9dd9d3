package lifecycle

import (
	"fmt"
	"time"
)

// TerminalReceipt is what a task came to: the sequence of its terminal entry and the
// chain digest up to there.
type TerminalReceipt struct {
	Seq   uint64 `json:"sequence"`
	Chain Digest `json:"digest"`
}

// TerminalReceipt is that of a task that has ended.
func (h Head) TerminalReceipt() TerminalReceipt { return TerminalReceipt{Seq: h.Seq, Chain: h.Chain} }

// Acknowledge is the head of an ended task whose caller says that it holds the export
// which ends with a receipt. From then on the task is kept as its policy says of
// exported ones: never longer than before, and, while a webhook is owed an update,
// never shorter than MinRetention after its end. The first acknowledgement counts; the
// same again changes nothing.
//
// It is no entry, for terminal is final (I2): a mark on the head that is not folded.
func Acknowledge(h Head, of TerminalReceipt, owed bool, now time.Time) (Head, error) {
	switch {
	case !h.Terminal():
		return h, reject(NotDue, "the task is in %s; what is acknowledged is the receipt of a task that has ended", h.State)
	case of != h.TerminalReceipt():
		return h, reject(ReceiptMismatch, "the task did not end with entry %d and digest %s", of.Seq, clip(string(of.Chain)))
	case !h.AckedAt.IsZero():
		return h, nil
	}
	h.AckedAt = Millis(now)
	if h.ExportedSecs == 0 {
		return h, nil
	}
	until := h.AckedAt.Add(seconds(h.ExportedSecs))
	if owed {
		until = later(until, h.StatusAt.Add(MinRetention))
	}
	h.expire(earlier(h.ExpiresAt, until))
	return h, nil
}

// expire moves when an ended task is hidden and purged, and with it when somebody must
// look at it for that.
func (h *Head) expire(at time.Time) {
	h.ExpiresAt = at
	if !h.DueAt.IsZero() {
		h.DueAt = at
	}
}

// unacknowledged is the head as its entries fold.
func (h *Head) unacknowledged() {
	if !h.AckedAt.IsZero() {
		h.AckedAt, h.ExpiresAt = time.Time{}, h.StatusAt.Add(h.retention(h.State))
	}
}

// checkAcknowledged says what is wrong with the mark of an acknowledgement, "" for
// nothing: it can only be on a task that has ended, and its expiry lies between what
// its policy says of an exported task and what it says of any.
func (h Head) checkAcknowledged() string {
	if h.AckedAt.IsZero() {
		return ""
	}
	folded := h.Folded().ExpiresAt
	least := folded
	if h.ExportedSecs > 0 {
		least = earlier(folded, h.AckedAt.Add(seconds(h.ExportedSecs)))
	}
	switch {
	case !h.Terminal() || h.AckedAt.Before(h.StatusAt):
		return fmt.Sprintf("acknowledged at %s, before it has ended", h.AckedAt.Format(time.RFC3339))
	case h.ExpiresAt.Before(least) || h.ExpiresAt.After(folded):
		return fmt.Sprintf("acknowledged, it expires at %s: its policy has it between %s and %s", h.ExpiresAt.Format(time.RFC3339), least.Format(time.RFC3339), folded.Format(time.RFC3339))
	}
	return ""
}
