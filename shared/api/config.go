package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Config is everything a door needs. Durations and sizes that are zero take the
// defaults below.
type Config struct {
	// Authority commits; its ledger is read.
	Authority *ledger.Authority
	// Blobs keeps parts that are too large for an entry.
	Blobs ledger.Blobs
	// Agents are the agents behind this door; the first is the default one.
	Agents []Agent
	// Executions is told of commits that an execution must follow. nil tells nobody.
	Executions Executions
	// Callers says who is calling, which decides whose tasks they see and what they
	// may do, and what the card tells clients to bring. Of a principal's name only a
	// hash is stored.
	Callers auth.Authenticator
	// Keys are what page tokens and the card are signed with.
	Keys Keys
	// Push registers webhooks. nil: this door has none, and its cards say so.
	Push *Push
	// Receipts verifies authorization receipts. nil: none are taken, and the cards say so.
	Receipts Receipts
	// Challenge is the WWW-Authenticate header of a 401.
	Challenge string
	// Now is the clock, by which what has expired is hidden.
	Now func() time.Time
	// NewID gives task and context IDs (UUIDv7).
	NewID func() string
	// BaseURL is the address under which the caller reaches this door, without a
	// trailing slash. nil: as the request was addressed.
	BaseURL func(*http.Request) string
	// Policy is what new tasks of agents without one are judged by, and its grace is
	// that of all commands. Zero: lifecycle.DefaultPolicy.
	Policy lifecycle.Policy
	// Policies are the documents that exports carry. nil: none.
	Policies *policy.Set
	// Closing is done when the process begins to stop: streams end, waits answer.
	Closing context.Context
	// Connections records streams that opened and closed. nil records nothing.
	Connections ConnectionLog
	// Watch is told of what operators must know; nil: nobody is.
	Watch Watch
	// Health reports the lights of a tenant as JSON, for operators. nil: there are none.
	Health func(ctx context.Context, tenant string) (any, error)
	// Logger gets faults and nothing of what callers send. nil drops them.
	Logger *slog.Logger

	WaitBudget      time.Duration // of a blocking send
	CancelWait      time.Duration // for a holder to meet a cancellation
	KeepAlive       time.Duration // of silence on a stream before a comment
	StreamLimit     time.Duration // after which a stream is cut
	WriteTimeout    time.Duration // for a caller to take what a stream sends
	CommitTimeout   time.Duration // of one command, whatever becomes of its caller
	MaxRequestBytes int64
}

// Watch is told of what operators must know.
type Watch interface {
	// RequestFailed: a request was answered with a fault of ours, and the caller told
	// the incident. The task is there when it is known. Whoever is told logs it.
	RequestFailed(ctx context.Context, ref lifecycle.Ref, operation, incident string, err error)
}

// Defaults.
const (
	// DefaultWaitBudget stays below API Gateway's 29 s for an answer.
	DefaultWaitBudget = 25 * time.Second
	// DefaultCancelWait is some renewals' time for a holder to notice.
	DefaultCancelWait = 3 * time.Second
	// DefaultKeepAlive stays below the 5 s for which the Python client waits for a byte
	// unless it is told otherwise, and so below the idle limits of gateways.
	DefaultKeepAlive = 4 * time.Second
	// DefaultStreamLimit stays below the 15 min of Lambda and API Gateway.
	DefaultStreamLimit = 14 * time.Minute
	// DefaultWriteTimeout is when a caller that does not read is given up.
	DefaultWriteTimeout = 30 * time.Second
	// DefaultCommitTimeout covers the authority's retries.
	DefaultCommitTimeout = 20 * time.Second
	// DefaultMaxRequestBytes stays below the 6 MB that reach a Lambda function once
	// API Gateway has encoded them.
	DefaultMaxRequestBytes = 4 << 20
)

// agentName is the form of agent names. It leaves no room for ":" and for a
// leading ".", so "message:send" and ".well-known" are no agents.
var agentName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)

// reserved are path segments of this door, or of what stands beside it on the
// same port, that an agent's name would shadow.
var reserved = []string{"console", "health", "healthz", "metrics", "rpc", "tasks"}

// complete checks a configuration and fills in what it leaves open.
func (c Config) complete() (Config, error) {
	if c.Authority == nil || c.Blobs == nil || c.Callers == nil || c.Keys == nil || c.Now == nil || c.NewID == nil {
		return c, errors.New("api: Authority, Blobs, Callers, Keys, Now and NewID are needed")
	}
	if len(c.Agents) == 0 {
		return c, errors.New("api: at least one agent is needed")
	}
	seen := map[string]bool{}
	for _, a := range c.Agents {
		switch {
		case !agentName.MatchString(a.Name):
			return c, fmt.Errorf("api: agent name %q: it must match %s", a.Name, agentName)
		case slices.Contains(reserved, a.Name):
			return c, fmt.Errorf("api: agent name %q is part of this door's own addresses", a.Name)
		case seen[a.Name]:
			return c, fmt.Errorf("api: two agents are called %q", a.Name)
		case a.Version < 1 || a.FirstStep == "":
			return c, fmt.Errorf("api: agent %q needs a version from 1 and a first step", a.Name)
		}
		seen[a.Name] = true
	}
	if c.Policy == (lifecycle.Policy{}) {
		c.Policy = lifecycle.DefaultPolicy()
	}
	c.Agents = slices.Clone(c.Agents)
	for i := range c.Agents {
		if c.Agents[i].Policy.Version == "" {
			c.Agents[i].Policy = c.Policy
		}
	}
	if c.BaseURL == nil {
		c.BaseURL = requestedBase
	}
	if c.Closing == nil {
		c.Closing = context.Background()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Challenge = cmp.Or(c.Challenge, "Bearer")
	c.WaitBudget = cmp.Or(c.WaitBudget, DefaultWaitBudget)
	c.CancelWait = cmp.Or(c.CancelWait, DefaultCancelWait)
	c.KeepAlive = cmp.Or(c.KeepAlive, DefaultKeepAlive)
	c.StreamLimit = cmp.Or(c.StreamLimit, DefaultStreamLimit)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, DefaultWriteTimeout)
	c.CommitTimeout = cmp.Or(c.CommitTimeout, DefaultCommitTimeout)
	c.MaxRequestBytes = cmp.Or(c.MaxRequestBytes, DefaultMaxRequestBytes)
	return c, nil
}

func requestedBase(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}
