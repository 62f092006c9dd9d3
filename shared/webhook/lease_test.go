package webhook_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/seal"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// tardy is a ledger whose writes take their time, and a sealer that does.
type tardy struct {
	ledger.Endpoints
	seal.Sealer

	write, open time.Duration
	err         error // of what is opened
}

// Deliver implements ledger.Endpoints.
func (l *tardy) Deliver(ctx context.Context, ref lifecycle.Ref, id string, d ledger.Delivery) error {
	err := l.Endpoints.Deliver(ctx, ref, id, d)
	pass(l.write)
	return err
}

// Open implements seal.Sealer.
func (l *tardy) Open(ctx context.Context, sealed []byte, bound string) ([]byte, error) {
	pass(l.open)
	if l.err != nil {
		return nil, l.err
	}
	return l.Sealer.Open(ctx, sealed, bound)
}

// However long it takes to write a lease down or to open secrets, a request is on the wire
// under a lease alone: two senders' requests never overtake one another.
func TestNoRequestOutlivesItsLease(t *testing.T) {
	for name, c := range map[string]struct{ write, open time.Duration }{
		"slow keys":             {0, 40 * time.Second},
		"slow keys, by a hair":  {0, 16 * time.Second},
		"slow writes":           {20 * time.Second, 0},
		"slow writes, by hairs": {14900 * time.Millisecond, 0},
		"both":                  {9 * time.Second, 9 * time.Second},
		"writes without end":    {webhook.Lease, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", slowly(14*time.Second))
				w.commit("vvF")
				slow := w.sender()
				l := &tardy{Endpoints: w.ledger, Sealer: sealer, write: c.write, open: c.open}
				slow.Endpoints, slow.Sealer = l, l
				var all sync.WaitGroup
				for i, s := range []*webhook.Sender{slow, slow, w.sender()} {
					all.Go(func() {
						pass(time.Duration(i) * time.Second) // a slow one is first
						for range 30 + 600*(i/2) {           // the last one comes through in the end
							res, err := s.Send(t.Context(), at, budget)
							if err != nil && !errors.Is(err, ledger.ErrUnavailable) {
								t.Error(err)
							}
							if err == nil && res.Word == webhook.Done {
								return
							}
							pass(3 * time.Second)
						}
					})
				}
				all.Wait()
				w.receiver(at).wantUpdates(t, 1, 2, 3)
			})
		})
	}
}

// Trouble of our own is no attempt of the receiver's: it is waited for, and does not count.
func TestOurTroubleIsNoFailure(t *testing.T) {
	for name, trouble := range map[string]func(s *webhook.Sender, l *tardy) (mend func()){
		"the ledger cannot be read": func(s *webhook.Sender, _ *tardy) func() {
			source := s.Updates
			s.Updates = func(context.Context, ledger.DueDelivery, ledger.Endpoint, uint64, int) ([]webhook.Update, error) {
				return nil, errors.Join(errors.New("throttled"), ledger.ErrUnavailable)
			}
			return func() { s.Updates = source }
		},
		"the keys cannot be had": func(s *webhook.Sender, l *tardy) func() {
			l.err = errors.New("no luck with the key service for " + planted)
			return func() { l.err = nil }
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				at := w.endpoint("one", nil)
				w.commit("vF")
				s, l := w.sender(), &tardy{Endpoints: w.ledger, Sealer: sealer}
				s.Sealer = l
				mend := trouble(s, l)
				for range 3 * len(webhook.Ladder) {
					res, err := s.Send(t.Context(), at, budget)
					if err != nil || res.Word != webhook.Wait || res.Seconds != 30 || res.Failed || res.Execution.Outcome.Seconds != 30 {
						t.Fatalf("%+v, %v", res, err)
					}
					pass(30 * time.Second)
				}
				if d := w.delivery(at); d.Failures != 0 || d.Attempt != 0 || len(d.Attempts) != 0 || d.State != ledger.DeliveryActive || d.Holder != "" || d.DueAt.IsZero() {
					t.Errorf("%+v", d)
				}
				mend()
				w.deliver(s, at)
				w.receiver(at).wantUpdates(t, 1, 2)
			})
		})
	}
}
