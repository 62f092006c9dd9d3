package boot

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskms "github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/infra/kms"
	"github.com/holdfast-a2a/holdfast/infra/stepfn"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

const (
	// firstBudget is what the stream function gives all endpoints of a batch together:
	// who is slower is left to an execution, so that nobody holds up the shard for long.
	firstBudget = 3 * time.Second
	// beside is how many endpoints it delivers to at a time: all that a batch of 100
	// records may lead to, or those that hang would keep the others of their batch
	// waiting. A function has 1,024 file descriptors (Lambda quotas).
	beside = 256
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
func (p process) push(tables *dynamo.Ledger, ring *keyring.Ring, networks []netip.Prefix, grace time.Duration, m *health.Monitor) push.Config {
	return push.Config{
		Ledger: tables, Ring: ring, Guard: webhook.Guard{Allow: networks, AllowHTTP: len(networks) > 0},
		Now: p.now, Dice: rand.Float64, NewID: newID, Grace: grace, Watch: m, Logger: p.logger,
	}
}

// readKey reads what wraps the key ring; empty for nothing.
func readKey(v *variables) string {
	arn := v.text(kmsKey)
	if arn != "" && !kms.IsKey(arn) {
		v.wrong(kmsKey, "is no ARN of a key: give it one such as arn:aws:kms:eu-west-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab")
	}
	return arn
}

// ringOf is the key ring of a store, wrapped by a key if there is one.
func ringOf(c aws.Config, store keyring.Store, key string) (*keyring.Ring, error) {
	if key == "" {
		return keyring.New(store), nil
	}
	wrapper, err := kms.New(awskms.NewFromConfig(c), key)
	if err != nil {
		return nil, err
	}
	return keyring.New(keyring.Wrap(store, wrapper)), nil
}

// delivering adds what goes on with deliveries: executions of the delivery machine.
func delivering(c push.Config, aws aws.Config, machine string) push.Config {
	c.Executions = stepfn.NewDeliveries(stepfn.NewClient(aws), machine)
	return c
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

// deliver tells the endpoints of a batch's tasks and makes the first attempts. It returns
// the records of tasks whose endpoints could not be told: they are to come again. While
// the keys cannot be had no attempt is made, and executions wait for them: a key service
// that is away does not block the shard.
func (h *hints) deliver(ctx context.Context, hooks push.Config) (again []string) {
	changes := make([]ledger.Change, len(h.order))
	for i, ref := range h.order {
		changes[i] = push.Change(ref, h.seq[ref])
	}
	fast := &webhook.Fast{Sender: hooks.Planner(), Beside: beside}
	if sender, err := hooks.Sender(ctx); err != nil {
		hooks.Logger.LogAttrs(ctx, slog.LevelError, "the keys cannot be had; deliveries are left to executions", slog.Any("error", err))
	} else {
		fast.Sender, fast.Budget = sender, firstBudget
	}
	for _, c := range fast.Tell(ctx, changes) {
		again = append(again, h.record[c.Ref])
	}
	return again
}
