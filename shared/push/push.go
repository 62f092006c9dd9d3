// Package push joins the two sides of webhooks: the door, which registers them, and
// the sender, which delivers. They share the keys of the deployment and never import
// one another.
package push

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// Config is what both sides need.
type Config struct {
	Ledger ledger.Ledger
	Ring   *keyring.Ring
	// Guard decides whom we call.
	Guard webhook.Guard
	// Client calls them; nil is the guard's, and any other one calls whom it likes.
	Client *http.Client
	Now    func() time.Time
	Dice   func() float64
	NewID  func() string
	Grace  time.Duration
	Watch  webhook.Watch
	Logger *slog.Logger
	// Receivers remember who is slow; nil: nobody does.
	Receivers *webhook.Receivers
	// Executions go on with what is not delivered at once. nil: whoever called does.
	Executions webhook.Executions
}

// Door is what the door registers webhooks with.
func (c Config) Door() *api.Push {
	return &api.Push{
		Keys:   c.keys,
		Renew:  c.renew,
		Replay: c.Replay,
		Check:  func(_ context.Context, url string) error { return c.Guard.CheckURL(url) },
		Seal: func(ctx context.Context, ref lifecycle.Ref, id, url, token, credentials string) ([]byte, error) {
			return webhook.SealSecrets(ctx, c.Ring, ledger.DueDelivery{Ref: ref, ID: id}, url, webhook.Secrets{Token: token, Credentials: credentials})
		},
	}
}

func (c Config) keys(ctx context.Context) ([]string, error) {
	keys, err := c.Ring.Webhook(ctx)
	return webhook.Signer(keys).Public(), err
}

// Planner says who is to be delivered to, and what again. It delivers nothing: no key is
// read for it.
func (c Config) Planner() *webhook.Sender {
	return &webhook.Sender{Endpoints: c.Ledger, Now: c.Now, Dice: c.Dice, NewID: c.NewID, Grace: c.Grace, Executions: c.Executions, Watch: c.Watch, Logger: c.Logger}
}

// Sender delivers. Its signing keys are read now.
func (c Config) Sender(ctx context.Context) (*webhook.Sender, error) {
	signing, err := c.Ring.Webhook(ctx)
	if err != nil {
		return nil, err
	}
	s := c.Planner()
	s.Updates, s.Client, s.Sealer, s.Signer, s.Receivers = c.updates, c.Client, c.Ring, signing, c.Receivers
	if s.Client == nil {
		s.Client = c.Guard.Client()
	}
	return s, nil
}

// Change says that a task has an entry with a sequence.
func Change(ref lifecycle.Ref, seq uint64) ledger.Change {
	var c ledger.Change
	c.Ref, c.Entry.Seq = ref, seq
	return c
}

// Replay delivers to an endpoint again what comes after a sequence, or after the last
// update that it took (ledger.FromCursor). ErrBeyond. ledger.ErrNotFound.
// ledger.ErrDeliveryChanged: a delivery is under way; wait for it.
func (c Config) Replay(ctx context.Context, ref lifecycle.Ref, endpoint string, since uint64) error {
	if since != ledger.FromCursor {
		// What comes later would never be delivered.
		if h, err := c.Ledger.Head(ctx, ref); err != nil || since > h.Seq {
			return cmp.Or(err, ErrBeyond)
		}
	}
	return c.Planner().Replay(ctx, ledger.DueDelivery{Ref: ref, ID: endpoint}, since)
}

// ErrBeyond is about a sequence that a task has not come to.
var ErrBeyond = errors.New("beyond the last entry of the task")

// renew lets an endpoint that was configured anew begin anew, if its deliveries had
// been given up.
func (c Config) renew(ctx context.Context, ref lifecycle.Ref, id string) error {
	e, err := c.Ledger.Endpoint(ctx, ref, id)
	if err != nil || e.Delivery.State == ledger.DeliveryActive {
		return err
	}
	return c.Replay(ctx, ref, id, ledger.FromCursor)
}

// updates implements webhook.Source with what streams show. Whether the task has expired
// is asked where a delivery comes late; at first it cannot have.
func (c Config) updates(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
	if e.Delivery.Attempt+e.Delivery.Failures > 0 {
		if _, err := c.head(ctx, at.Ref); err != nil {
			return nil, err
		}
	}
	list, err := api.Updates(ctx, c.Ledger, at.Ref, e.Base, after, limit)
	if err != nil {
		return nil, err
	}
	out := make([]webhook.Update, len(list))
	for i, r := range list {
		out[i] = webhook.Update(r)
	}
	return out, nil
}

// Sweeper finds what nobody was told of; deliver brings an endpoint what it lacks.
func (c Config) Sweeper(s *webhook.Sender, deliver func(ctx context.Context, at ledger.DueDelivery) error) *webhook.Sweeper {
	return &webhook.Sweeper{
		Sender: s, Go: deliver, Page: 100, Most: 1000, Beside: 16,
		Head: func(ctx context.Context, at ledger.DueDelivery) (uint64, bool, error) {
			h, err := c.head(ctx, at.Ref)
			return h.Seq, h.Terminal(), err
		},
	}
}

// head reads a task's head. ledger.ErrNotFound: it has expired, purged or not.
func (c Config) head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	h, err := c.Ledger.Head(ctx, ref)
	if err == nil && h.Expired(c.Now()) {
		err = fmt.Errorf("task %s has expired: %w", ref, ledger.ErrNotFound)
	}
	return h, err
}
