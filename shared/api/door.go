package api

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/auth"
)

// door is the handler.
type door struct {
	Config
	origins *http.CrossOriginProtection
	// begunAt is when this door was made: its cards have not changed since.
	begunAt time.Time
}

// New makes the door.
func New(c Config) (http.Handler, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &door{Config: c, origins: http.NewCrossOriginProtection(), begunAt: c.Now()}, nil
}

// route is what an address leads to.
type route struct {
	name    string
	methods []string
	// scopes are those of which a principal must have one; without any, nobody is
	// asked who it is.
	scopes []auth.Scope
	// unversioned needs no A2A-Version: it is outside A2A, or before it.
	unversioned bool
	// push is about webhooks.
	push  bool
	serve func(*call, address)
}

// address is what stood in the path.
type address struct {
	task a2a.TaskID
	item string // a blob's digest, an artifact's or a configuration's ID
}

// Who may do what.
var (
	callers   = []auth.Scope{auth.Caller}
	producers = []auth.Scope{auth.Producer}
	operators = []auth.Scope{auth.OperatorRead}
	acting    = []auth.Scope{auth.OperatorAct}
	readers   = []auth.Scope{auth.Caller, auth.OperatorRead}
)

var (
	get  = []string{http.MethodGet, http.MethodHead}
	post = []string{http.MethodPost}
	both = []string{http.MethodGet, http.MethodPost}
)

// Addresses of an agent (A2A §5.3, §8.2, §11.3).
var (
	routeCard        = &route{name: "card", methods: get, unversioned: true, serve: (*call).serveCard}
	routeKeySet      = &route{name: "jwks", methods: get, unversioned: true, serve: (*call).serveKeySet}
	routeHookKeys    = &route{name: "webhook keys", methods: get, unversioned: true, push: true, serve: (*call).serveWebhookKeys}
	routeRPC         = &route{name: "rpc", methods: post, unversioned: true, scopes: callers, serve: (*call).serveRPC}
	routeSend        = &route{name: "SendMessage", methods: post, scopes: callers, serve: (*call).restSend}
	routeStream      = &route{name: "SendStreamingMessage", methods: post, scopes: callers, serve: (*call).restStream}
	routeList        = &route{name: "ListTasks", methods: get, scopes: callers, serve: (*call).restList}
	routeGet         = &route{name: "GetTask", methods: get, scopes: callers, serve: (*call).restGet}
	routeCancel      = &route{name: "CancelTask", methods: post, scopes: callers, serve: (*call).restCancel}
	routeSubscribe   = &route{name: "SubscribeToTask", methods: both, scopes: readers, serve: (*call).restSubscribe} // the proto says GET, §11.3.2 says POST
	routePushes      = &route{name: "pushNotificationConfigs", methods: both, scopes: callers, push: true, serve: (*call).restWebhooks}
	routePush        = &route{name: "pushNotificationConfig", methods: []string{http.MethodGet, http.MethodDelete}, scopes: callers, push: true, serve: (*call).restWebhook}
	routeReplays     = &route{name: "replays", methods: post, unversioned: true, scopes: acting, push: true, serve: (*call).serveReplay}
	routeReplay      = &route{name: "replay", methods: post, unversioned: true, scopes: acting, push: true, serve: (*call).serveReplay}
	routeExtended    = &route{name: "GetExtendedAgentCard", methods: get, scopes: callers, serve: (*call).restExtendedCard}
	routeLedger      = &route{name: "ledger", methods: get, unversioned: true, scopes: readers, serve: (*call).serveLedger}
	routeAuthorize   = &route{name: "authorizations", methods: post, unversioned: true, scopes: callers, serve: (*call).serveAuthorize}
	routeAcknowledge = &route{name: "acknowledgement", methods: post, unversioned: true, scopes: callers, serve: (*call).serveAcknowledge}
	routeEvents      = &route{name: "events", methods: post, unversioned: true, scopes: producers, serve: (*call).serveEvents}
	routeExport      = &route{name: "export", methods: get, unversioned: true, scopes: readers, serve: (*call).serveExport}
	routeEffects     = &route{name: "effects", methods: get, unversioned: true, scopes: operators, serve: (*call).serveEffects}
	routeArtifact    = &route{name: "artifact", methods: get, unversioned: true, scopes: readers, serve: (*call).serveArtifact}
	routeBlob        = &route{name: "blob", methods: get, unversioned: true, scopes: readers, serve: (*call).serveBlob}
	routeLights      = &route{name: "health", methods: get, unversioned: true, scopes: operators, serve: (*call).serveLights}
	routeHealth      = &route{name: "healthz", methods: get, unversioned: true, serve: (*call).serveHealth}
)

// Where they are: below an agent, below .well-known, and below a task, with an item of it
// or without.
var (
	pathsOfAgent = map[string]*route{
		"rpc": routeRPC, "message:send": routeSend, "message:stream": routeStream, "tasks": routeList, "extendedAgentCard": routeExtended,
	}
	pathsWellKnown = map[string]*route{"agent-card.json": routeCard, "jwks.json": routeKeySet, "webhook-keys.json": routeHookKeys}
	pathsOfTask    = map[string]*route{
		"ledger": routeLedger, "authorizations": routeAuthorize, "acknowledgement": routeAcknowledge, "events": routeEvents, "export": routeExport,
		"effects": routeEffects, "pushNotificationConfigs": routePushes, "pushNotificationConfigs:replay": routeReplays,
	}
	pathsOfItem = map[string]*route{"artifacts": routeArtifact, "blobs": routeBlob, "pushNotificationConfigs": routePush}
)

// ServeHTTP implements http.Handler.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{door: d, w: w, r: r, agent: &d.Agents[0]}
	if err := d.origins.Check(r); err != nil {
		c.refuse(refuse(errOrigin, "Requests of other sites are refused."))
		return
	}
	rt, at := c.find(r.URL.EscapedPath())
	if rt == nil {
		c.refuse(c.astray())
		return
	}
	c.name, c.rpc, c.beside = rt.name, rt == routeRPC, rt.unversioned
	if !slices.Contains(rt.methods, r.Method) {
		w.Header().Set("Allow", strings.Join(rt.methods, ", "))
		c.refuse(refuse(errMethod, "This address takes %s.", strings.Join(rt.methods, ", ")))
		return
	}
	if len(rt.scopes) > 0 {
		if err := c.admit(rt.scopes); err != nil {
			c.refuse(err)
			return
		}
	}
	if !rt.unversioned {
		if err := c.version(); err != nil {
			c.refuse(err)
			return
		}
	}
	if rt.push && c.Push == nil { // §3.3.4
		c.refuse(noPush())
		return
	}
	rt.serve(c, at)
}

// admit finds out who calls, and whether they may. Why a caller was refused is for
// the log alone.
func (c *call) admit(scopes []auth.Scope) error {
	who, err := c.Callers.Authenticate(c.r)
	reason := auth.Reason(err)
	if err == nil && !slices.ContainsFunc(scopes, who.May) {
		err, reason = refuse(auth.ErrForbidden, "This needs the scope %s.", joined(scopes)), "scope"
	}
	if err != nil {
		c.Logger.LogAttrs(context.WithoutCancel(c.r.Context()), slog.LevelInfo, "refused a caller", slog.String("operation", c.name), slog.String("kind", kindOf(err).reason), slog.String("reason", reason))
		return err
	}
	c.who = who
	return nil
}

func joined(scopes []auth.Scope) string {
	names := make([]string, 0, len(scopes))
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return strings.Join(names, " or ")
}

// find looks the path up. A first segment that is an agent's name, A2A's tenant
// (§11.3), selects it.
func (c *call) find(path string) (*route, address) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if n := len(segments); n > 1 && segments[n-1] == "" && segments[n-2] == "rpc" {
		segments = segments[:n-1] // what clients make of an address that they take for a folder
	}
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" {
			return nil, address{}
		}
		segments[i] = plain
	}
	if len(segments) == 1 {
		switch segments[0] {
		case "healthz":
			return routeHealth, address{}
		case "health":
			return routeLights, address{}
		}
	}
	if a := c.agentNamed(segments[0]); a != nil {
		c.agent, c.named, segments = a, true, segments[1:]
	}
	switch n := len(segments); {
	case n == 1:
		return pathsOfAgent[segments[0]], address{}
	case n == 2 && segments[0] == ".well-known":
		return pathsWellKnown[segments[1]], address{}
	case n == 2 && segments[0] == "tasks":
		return findTask(segments[1])
	case n > 2 && segments[0] == "tasks":
		return findPart(segments[1:])
	}
	return nil, address{}
}

// findTask splits the verb off at the last colon.
func findTask(s string) (*route, address) {
	if i := strings.LastIndexByte(s, ':'); i > 0 {
		at := address{task: a2a.TaskID(s[:i])}
		switch s[i+1:] {
		case "cancel":
			return routeCancel, at
		case "subscribe":
			return routeSubscribe, at
		}
	}
	return routeGet, address{task: a2a.TaskID(s)}
}

// findPart looks up what belongs to a task.
func findPart(segments []string) (*route, address) {
	at := address{task: a2a.TaskID(segments[0])}
	if len(segments) == 2 {
		return pathsOfTask[segments[1]], at
	}
	at.item = segments[2]
	switch {
	case len(segments) == 3:
		return pathsOfItem[segments[1]], at
	case len(segments) == 4 && segments[1] == "pushNotificationConfigs" && segments[3] == "replay":
		return routeReplay, at
	}
	return nil, at
}

// maxCardsNamed bounds an answer: whoever serves more agents has a list of them.
const maxCardsNamed = 20

// astray is about an address at which there is nothing: often an agent's name is wrong.
// It says where the cards are, which anybody may read.
func (c *call) astray() error {
	base := strings.TrimSuffix(c.BaseURL(c.r), "/")
	var cards []string
	for _, a := range c.Agents[:min(len(c.Agents), maxCardsNamed)] {
		cards = append(cards, base+"/"+a.Name+"/.well-known/agent-card.json")
	}
	return refuse(errRoute, "There is nothing at this address. The agent card is at %s/.well-known/agent-card.json; the agents' own are at %s.", base, strings.Join(cards, ", "))
}

func (d *door) agentNamed(name string) *Agent {
	i := slices.IndexFunc(d.Agents, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Agents[i]
}

// choose settles the agent of a request whose parameters name one as well: the
// path and the parameter must agree (A2A §11.3, the tenant of every request).
func (c *call) choose(tenant string) error {
	if tenant == "" || tenant == c.agent.Name {
		return nil
	}
	a := c.agentNamed(tenant)
	if a == nil || c.named {
		return refuse(a2a.ErrInvalidParams, "tenant: the parameter names another agent than the address, or one that is not here.")
	}
	c.agent = a
	return nil
}
