package console

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Config is everything a console needs.
type Config struct {
	// Authority commits; its ledger is read.
	Authority *ledger.Authority
	// Callers says who asks, which decides whose tasks they see.
	Callers auth.Authenticator
	// Agents are the agent versions that can run here.
	Agents []Agent
	// Policies are the documents that exports carry. nil: none.
	Policies *policy.Set
	// Executions is told of commits that an execution must follow.
	Executions Executions
	// Replay has a webhook told again what comes after a sequence. ledger.ErrNotFound;
	// ledger.ErrDeliveryChanged: one is under way.
	Replay func(ctx context.Context, ref lifecycle.Ref, endpoint string, since uint64) error
	// Watch is told of faults of ours. nil: they are logged.
	Watch Watch
	// Health gives the lights of a tenant. nil: there are none here.
	Health func(ctx context.Context, tenant string) (any, error)
	// Connections are the streams that a task had, latest last, and whether there were
	// more. nil: their records are kept elsewhere.
	Connections func(ctx context.Context, ref lifecycle.Ref) ([]Connection, bool, error)
	// Now is the clock.
	Now func() time.Time
	// NewID gives message IDs, and incidents' (UUIDv7).
	NewID func() string
	// Grace is what the sweep leaves to those who were told: a task is past due from
	// then on.
	Grace time.Duration
	// Most is how many tasks one question may look at. Zero: 10,000.
	Most   int
	Logger *slog.Logger
}

// defaultMost is some hundred pages of a list: a fraction of a second on the laptop, and
// seconds below API Gateway's 29 s on DynamoDB.
const defaultMost = 10_000

// Agent is an agent version that can run here.
type Agent struct {
	Name    string
	Version int
	// Current says that new tasks run on it.
	Current bool
	// Outside says that it is worked on outside: no execution is started for its tasks.
	Outside bool
}

// Watch is told of what operators must know.
type Watch interface {
	// RequestFailed: a request was answered with a fault of ours, and the operator told
	// the incident. The task is there when it is known. Whoever is told logs it.
	RequestFailed(ctx context.Context, ref lifecycle.Ref, operation, incident string, err error)
}

// Executions is told what was committed, after the commit. Twice is once.
type Executions interface {
	// Submitted: a task's generation waits for its execution.
	Submitted(ctx context.Context, h lifecycle.Head) error
	// Answered: a pause was closed.
	Answered(ctx context.Context, h lifecycle.Head, pause int) error
}

// Connection is a stream that was opened.
type Connection struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"` // the A2A operation
	OpenedAt time.Time `json:"openedAt,omitzero"`
	ClosedAt time.Time `json:"closedAt,omitzero"`
	// From is the cursor that it began behind, To the last sequence sent.
	From   uint64 `json:"from"`
	To     uint64 `json:"to"`
	Reason string `json:"reason,omitempty"` // why it closed
}

// Console is the handler of /console and what is below it.
type Console struct {
	Config
	origins *http.CrossOriginProtection
	files   map[string]file
}

// Base is where a console is.
const Base = "/console"

// New makes a console.
func New(c Config) (*Console, error) {
	if c.Authority == nil || c.Callers == nil || c.Executions == nil || c.Replay == nil || c.Now == nil || c.NewID == nil {
		return nil, errors.New("console: Authority, Callers, Executions, Replay, Now and NewID are needed")
	}
	if c.Most <= 0 {
		c.Most = defaultMost
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	files, err := readFiles()
	if err != nil {
		return nil, err
	}
	return &Console{Config: c, origins: http.NewCrossOriginProtection(), files: files}, nil
}

// Beside serves the console, and hands everything else to the door.
func (c *Console) Beside(door http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.EscapedPath(); path == Base || strings.HasPrefix(path, Base+"/") {
			c.ServeHTTP(w, r)
			return
		}
		door.ServeHTTP(w, r)
	})
}

// known finds the agent version of a task among those that can run here.
func (c *Console) known(name string, version int) (Agent, bool) {
	for _, a := range c.Agents {
		if a.Name == name && a.Version == version {
			return a, true
		}
	}
	return Agent{}, false
}
