package boot

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

const (
	// firstBudget is what the stream function gives an endpoint: who is slower is left
	// to the sweep, so that no endpoint holds up the shard for long.
	firstBudget = 3 * time.Second
	// sweepBudget is what the sweep gives one.
	sweepBudget = 30 * time.Second
	// beside is how many endpoints a function delivers to at a time.
	beside = 16
)

// readNetworks reads where webhooks may lead besides public addresses: receivers on an
// emulator's machine. On AWS there are none.
func readNetworks(v *variables) (out []netip.Prefix) {
	for _, text := range strings.FieldsFunc(v.text(webhookNetworks), func(r rune) bool { return r == ',' || r == ' ' }) {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			v.wrong(webhookNetworks, "has %q: give it networks such as 10.0.0.0/8, separated by commas", text)
			continue
		}
		out = append(out, prefix)
	}
	return out
}

// push joins the two sides of webhooks over the tables.
func (p process) push(tables *dynamo.Ledger, ring *keyring.Ring, networks []netip.Prefix, grace time.Duration) push.Config {
	return push.Config{
		Ledger: tables, Ring: ring, Guard: webhook.Guard{Allow: networks, AllowHTTP: len(networks) > 0},
		Now: p.now, Dice: rand.Float64, NewID: newID, Grace: grace, Logger: p.logger,
	}
}

// hints are the tasks of a batch, each with its latest entry, in the order in which
// they came.
type hints struct {
	order []lifecycle.Ref
	seq   map[lifecycle.Ref]uint64
	// record names the first record of each, for when it must come again.
	record map[lifecycle.Ref]string
}

func newHints() *hints {
	return &hints{seq: map[lifecycle.Ref]uint64{}, record: map[lifecycle.Ref]string{}}
}

func (h *hints) add(r dynamo.Record) {
	if _, known := h.seq[r.Ref]; !known {
		h.order = append(h.order, r.Ref)
		h.record[r.Ref] = r.SequenceNumber
	}
	h.seq[r.Ref] = max(h.seq[r.Ref], r.Entry.Seq)
}

// deliver tells the endpoints of a batch's tasks and makes the first attempts, side by
// side. It returns the records of tasks whose endpoints could not be told: they are to
// come again. A delivery that fails is none of theirs.
func (h *hints) deliver(ctx context.Context, s *webhook.Sender) (again []string) {
	var mu sync.Mutex
	var all sync.WaitGroup
	slots := make(chan struct{}, beside)
	for _, ref := range h.order {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			due, err := push.Hint(ctx, s, ref, h.seq[ref])
			if err != nil {
				s.Logger.LogAttrs(ctx, slog.LevelWarn, "endpoints were not told", slog.String("task", string(ref.Task)), slog.Any("error", err))
				mu.Lock()
				again = append(again, h.record[ref])
				mu.Unlock()
			}
			var each sync.WaitGroup
			for _, at := range due {
				each.Go(func() { first(ctx, s, at, firstBudget) })
			}
			each.Wait()
		})
	}
	all.Wait()
	return again
}

// first calls the sender once. What goes wrong is on the endpoint, and the sweep's.
func first(ctx context.Context, s *webhook.Sender, at ledger.DueDelivery, budget time.Duration) {
	if _, err := s.Send(ctx, at, budget); err != nil && ctx.Err() == nil {
		s.Logger.LogAttrs(ctx, slog.LevelWarn, "a delivery was broken off; the sweep goes on with it", slog.String("task", string(at.Ref.Task)), slog.String("endpoint", at.ID), slog.Any("error", err))
	}
}
