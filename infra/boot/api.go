package boot

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/holdfast-a2a/holdfast/infra/gateway"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/offer"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// API is the function behind the REST API: the door and the console, as what lambda.Start takes.
func API() (any, error) { return newProcess().api() }

func (p process) api() (any, error) {
	s, machine, t, d := readStorage(p.variables), readMachine(p.variables), readTiming(p.variables), readDoor(p.variables)
	deliveries, key := readDeliveryMachine(p.variables), readKey(p.variables)
	who, networks := readAuth(p.variables, p.now), readNetworks(p.variables)
	receipts := readReceipts(p.variables, p.now)
	known, err := catalog.Shipped(p.address(systemsURL))
	policies, offered, unknown := offers(known)
	c := readAWS(p.variables)
	if err := errors.Join(p.err(), err, unknown); err != nil {
		return nil, err
	}
	tables, monitor := p.watched(c, s, t)
	authority := p.authority(tables, monitor)
	ring, err := ringOf(c, tables, key)
	if err != nil {
		return nil, err
	}
	told := dispatcher(c, machine, authority, monitor, t.grace)
	hooks := delivering(p.push(tables, ring, networks, t.grace, monitor), c, deliveries)
	reporter := p.reporter(tables, known, t)
	shown := func(ctx context.Context, tenant string) (any, error) { return reporter.Report(ctx, tenant) }
	door, err := api.New(api.Config{
		Authority: authority, Blobs: newBlobs(c, s), Agents: offered, Policies: policies, Executions: told,
		Callers: who, Keys: ring, Push: hooks.Door(), Receipts: receipts, Now: p.now, NewID: newID,
		BaseURL: d.address,
		Watch:   monitor, Health: shown,
		Connections: connections{p.logger}, Logger: p.logger,
		WaitBudget: d.waitBudget, KeepAlive: d.keepAlive, StreamLimit: d.streamLimit,
	})
	if err != nil {
		return nil, err
	}
	// The records of streams are in the function's log, which it cannot read.
	operators, err := console.New(console.Config{
		Authority: authority, Callers: who, Agents: offer.Versions(known), Policies: policies, Executions: told, Replay: hooks.Replay, Watch: monitor, Health: shown,
		Now: p.now, NewID: newID, Grace: t.grace, Logger: p.logger,
	})
	if err != nil {
		return nil, err
	}
	handler := operators.Beside(door)
	o := gateway.Options{Reserve: d.reserve, Logger: p.logger}
	if !d.streams {
		return gateway.Buffered(handler, o), nil
	}
	return gateway.Handler(handler, o), nil
}

// offers are the agents with the policies that they name. Policies are packaged with
// the functions: a document is in every build that knows its agents.
func offers(known *catalog.Catalog) (*policy.Set, []api.Agent, error) {
	policies, err := policy.Shipped()
	if err != nil || known == nil {
		return nil, nil, err
	}
	offered, err := offer.Agents(known, policies)
	return policies, offered, err
}

// address is how the caller reaches the door.
func (d door) address(r *http.Request) string {
	if d.base != "" {
		return d.base
	}
	return gateway.BaseURL(r)
}

// connections puts the records of streams into the function's log, apart from the
// ledger.
type connections struct{ logger *slog.Logger }

// Record implements api.ConnectionLog.
func (c connections) Record(r api.Connection) {
	c.logger.LogAttrs(context.Background(), slog.LevelInfo, "connection", slog.String("connection", r.ID), slog.String("event", r.Event), slog.String("kind", r.Kind),
		slog.String("tenant", r.Tenant), slog.String("task", string(r.Task)), slog.Uint64("from", r.From), slog.Uint64("to", r.To), slog.String("reason", r.Reason))
}
