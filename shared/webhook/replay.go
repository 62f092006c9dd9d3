package webhook

import (
	"context"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Replay delivers again what comes after a sequence (ledger.FromCursor: after the last
// that was taken), also where a delivery was given up or the endpoint said that it was
// gone. A later sequence than the cursor leaves out what lies between: an update that a
// receiver will never take blocks no longer. An endpoint that is waiting for its next
// attempt does not wait. ErrDeliveryChanged: a sender is at work; wait for it.
func (s *Sender) Replay(ctx context.Context, at ledger.DueDelivery, since uint64) error {
	e, err := s.Endpoints.Endpoint(ctx, at.Ref, at.ID)
	if err != nil {
		return err
	}
	if held(e.Delivery, s.Now()) {
		return ledger.ErrDeliveryChanged
	}
	w := s.work(at, 0)
	w.e = e
	d := w.released()
	if since != ledger.FromCursor {
		d.Cursor = since
	}
	d.State, d.Attempt, d.Failures = ledger.DeliveryActive, 0, 0
	w.again(&d, 0)
	if err := w.write(ctx, d); err != nil {
		return err
	}
	if err := s.start(ctx, w.result.Execution); err != nil {
		s.Logger.Warn("an execution was not told; the sweep will", append(w.names(), "error", err)...)
	}
	return nil
}
