package node

import (
	"net/http"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/offer"
)

// Tenant is whose data everything is when nobody is authenticated, which is
// allowed on loopback only.
const Tenant = "local"

// anybody asks nobody who it is.
type anybody struct{}

// Authenticate implements auth.Authenticator.
func (anybody) Authenticate(*http.Request) (auth.Principal, error) {
	return auth.Principal{Tenant: Tenant, Name: Tenant, Scopes: []auth.Scope{auth.Caller, auth.Producer, auth.OperatorRead, auth.OperatorAct}}, nil
}

// Schemes implements auth.Authenticator.
func (anybody) Schemes() []auth.Scheme { return nil }

// door serves the current version of each agent, and the console beside it.
func (n *Node) door() (http.Handler, error) {
	c := n.config
	callers := c.Callers
	if callers == nil {
		callers = anybody{}
	}
	agents, err := offer.Agents(c.Catalog, c.Policies)
	if err != nil {
		return nil, err
	}
	config := api.Config{
		Authority: n.Authority, Blobs: c.Blobs, Agents: agents, Executions: n.Dispatcher,
		Callers: callers, Keys: c.Ring, Push: n.push.Door(), Receipts: c.Receipts, Policies: c.Policies,
		Watch: n.watch.monitor, Health: n.watch.lights,
		Now: c.Now, NewID: c.NewID, Closing: n.ctx, Logger: c.Logger,
		WaitBudget: c.Timing.WaitBudget, CancelWait: c.Timing.CancelWait, KeepAlive: c.Timing.KeepAlive, StreamLimit: c.Timing.Stream,
	}
	if c.Connections != nil {
		config.Connections = api.NewConnectionLog(c.Connections)
	}
	door, err := api.New(config)
	if err != nil {
		return nil, err
	}
	operators, err := console.New(console.Config{
		Authority: n.Authority, Callers: callers, Agents: offer.Versions(c.Catalog), Policies: c.Policies, Executions: n.Dispatcher, Replay: n.push.Replay,
		Watch: n.watch.monitor, Health: n.watch.lights, Connections: c.Churn, Now: c.Now, NewID: c.NewID, Grace: c.Timing.Grace, Logger: c.Logger,
	})
	if err != nil {
		return nil, err
	}
	return operators.Beside(door), nil
}
