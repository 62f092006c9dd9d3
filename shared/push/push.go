// Package push joins the two sides of webhooks: the door, which registers them, and
// the sender, which delivers. They share the keys of the deployment and never import
// one another.
package push

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/seal"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// Config is what both sides need.
type Config struct {
	Ledger ledger.Ledger
	Ring   *keyring.Ring
	// Guard decides whom we call.
	Guard  webhook.Guard
	Now    func() time.Time
	Dice   func() float64
	NewID  func() string
	Grace  time.Duration
	Logger *slog.Logger
}

// sealer seals with the ring's key, which is read when it is first needed.
type sealer struct{ ring *keyring.Ring }

func (s sealer) keys(ctx context.Context) (*seal.Keys, error) {
	id, secret, err := s.ring.Sealing(ctx)
	if err != nil {
		return nil, err
	}
	return seal.NewKeys(seal.Key{ID: id, Secret: secret})
}

// Seal implements seal.Sealer.
func (s sealer) Seal(ctx context.Context, plain []byte, bound string) ([]byte, error) {
	keys, err := s.keys(ctx)
	if err != nil {
		return nil, err
	}
	return keys.Seal(ctx, plain, bound)
}

// Open implements seal.Sealer.
func (s sealer) Open(ctx context.Context, sealed []byte, bound string) ([]byte, error) {
	keys, err := s.keys(ctx)
	if err != nil {
		return nil, err
	}
	return keys.Open(ctx, sealed, bound)
}

// Door is what the door registers webhooks with.
func (c Config) Door() *api.Push {
	return &api.Push{
		Keys:  c.keys,
		Renew: c.renew,
		Check: func(_ context.Context, url string) error { return c.Guard.CheckURL(url) },
		Seal: func(ctx context.Context, ref lifecycle.Ref, id, url, token, credentials string) ([]byte, error) {
			return webhook.SealSecrets(ctx, sealer{c.Ring}, ledger.DueDelivery{Ref: ref, ID: id}, url, webhook.Secrets{Token: token, Credentials: credentials})
		},
	}
}

func (c Config) signer(ctx context.Context) (*webhook.Signer, error) {
	key, err := c.Ring.Webhook(ctx)
	if err != nil {
		return nil, err
	}
	return webhook.NewSigner(key)
}

func (c Config) keys(ctx context.Context) ([]string, error) {
	s, err := c.signer(ctx)
	if err != nil {
		return nil, err
	}
	return s.Public(), nil
}

// Sender delivers. Its signing key is read now.
func (c Config) Sender(ctx context.Context) (*webhook.Sender, error) {
	signer, err := c.signer(ctx)
	if err != nil {
		return nil, err
	}
	return &webhook.Sender{
		Endpoints: c.Ledger, Updates: c.updates, Client: c.Guard.Client(), Sealer: sealer{c.Ring}, Signer: signer,
		Now: c.Now, Dice: c.Dice, NewID: c.NewID, Grace: c.Grace, Logger: c.Logger,
	}, nil
}

// Hint says that a task has an entry with a sequence.
func Hint(ctx context.Context, s *webhook.Sender, ref lifecycle.Ref, seq uint64) ([]ledger.DueDelivery, error) {
	var c ledger.Change
	c.Ref, c.Entry.Seq = ref, seq
	return s.Hint(ctx, c)
}

// renew lets an endpoint that was configured anew begin anew, if its deliveries had
// been given up.
func (c Config) renew(ctx context.Context, ref lifecycle.Ref, id string) error {
	e, err := c.Ledger.Endpoint(ctx, ref, id)
	if err != nil || e.Delivery.State == ledger.DeliveryActive {
		return err
	}
	s, err := c.Sender(ctx)
	if err != nil {
		return err
	}
	return s.Replay(ctx, ledger.DueDelivery{Ref: ref, ID: id}, e.Delivery.Cursor)
}

// updates implements webhook.Source with what streams show.
func (c Config) updates(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]webhook.Update, error) {
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
			h, err := c.Ledger.Head(ctx, at.Ref)
			return h.Seq, h.Terminal(), err
		},
	}
}
