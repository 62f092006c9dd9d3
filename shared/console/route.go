package console

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// call is one request.
type call struct {
	*Console
	w   http.ResponseWriter
	r   *http.Request
	who auth.Principal
	// name is the operation, for logs.
	name string
	task a2a.TaskID
	item string
	// found says that the task is there.
	found bool
}

// ctx is the request's context.
func (c *call) ctx() context.Context { return c.r.Context() }

// ref names the task of the address, in the caller's tenant alone (I10).
func (c *call) ref() lifecycle.Ref { return lifecycle.Ref{Tenant: c.who.Tenant, Task: c.task} }

// route is what an address below /console/api leads to.
type route struct {
	name  string
	scope auth.Scope
	serve func(*call) (any, error)
	// acts says that something is done: it is posted, by a page of our own.
	acts bool
}

func (rt *route) method() string {
	if rt.acts {
		return http.MethodPost
	}
	return http.MethodGet
}

// Routes, by the path below /console/api. "*" stands for a name.
var routes = map[string]*route{
	"session":              {name: "session", scope: auth.OperatorRead, serve: (*call).session},
	"overview":             {name: "overview", scope: auth.OperatorRead, serve: (*call).overview},
	"health":               {name: "health", scope: auth.OperatorRead, serve: (*call).health},
	"count":                {name: "count", scope: auth.OperatorRead, serve: (*call).count},
	"tasks":                {name: "tasks", scope: auth.OperatorRead, serve: (*call).tasks},
	"tasks/*":              {name: "task", scope: auth.OperatorRead, serve: (*call).sheet},
	"tasks/*/entries":      {name: "entries", scope: auth.OperatorRead, serve: (*call).entries},
	"tasks/*/check":        {name: "check", scope: auth.OperatorRead, serve: (*call).check},
	"tasks/*/connections":  {name: "connections", scope: auth.OperatorRead, serve: (*call).connections},
	"tasks/*/quarantine/*": {name: "quarantine", scope: auth.OperatorRead, serve: (*call).quarantined},

	"tasks/*/cancel": {name: "cancel", scope: auth.OperatorAct, acts: true, serve: (*call).cancel},
	"tasks/*/answer": {name: "answer", scope: auth.OperatorAct, acts: true, serve: (*call).reply},
	"tasks/*/resume": {name: "resume", scope: auth.OperatorAct, acts: true, serve: (*call).resume},
	"tasks/*/replay": {name: "replay", scope: auth.OperatorAct, acts: true, serve: (*call).replay},
	"tasks/*/settle": {name: "settle", scope: auth.OperatorAct, acts: true, serve: (*call).settle},
	// What is exported can be read anyway; that it was taken away is recorded.
	"tasks/*/export": {name: "export", scope: auth.OperatorRead, acts: true, serve: (*call).export},
}

// ServeHTTP implements http.Handler.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	protect(w.Header())
	path, api := strings.CutPrefix(r.URL.EscapedPath(), Base+"/api/")
	if !api {
		c.serveFile(w, r)
		return
	}
	q := &call{Console: c, w: w, r: r, name: "unknown"}
	rt := q.find(path)
	switch {
	case rt == nil:
		q.refuse(refuse(errNoRoute, "There is nothing at this address."))
		return
	case r.Method != rt.method():
		w.Header().Set("Allow", rt.method()) // RFC 9110 section 15.5.6
		q.refuse(refuse(errMethod, "This address takes %s.", rt.method()))
		return
	}
	q.name = rt.name
	if rt.acts && c.origins.Check(r) != nil {
		q.refuse(refuse(errOrigin, "Requests of other sites are refused."))
		return
	}
	if err := q.admit(rt.scope); err != nil {
		q.refuse(err)
		return
	}
	out, err := rt.serve(q)
	if err != nil {
		q.refuse(err)
		return
	}
	if out != nil {
		q.send(http.StatusOK, out)
	}
}

// find looks the path up.
func (c *call) find(path string) *route {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" {
			return nil
		}
		segments[i] = plain
	}
	const task, item = 1, 3 // where a path has names
	for i := range segments {
		switch i {
		case task:
			c.task = a2a.TaskID(segments[i])
		case item:
			c.item = segments[i]
		default:
			continue
		}
		segments[i] = "*"
	}
	return routes[strings.Join(segments, "/")]
}

// admit finds out who asks, and whether they may. Why somebody was refused is for the
// log alone.
func (c *call) admit(scope auth.Scope) error {
	who, err := c.Callers.Authenticate(c.r)
	reason := auth.Reason(err)
	if err == nil && !who.May(scope) {
		err, reason = refuse(auth.ErrForbidden, "This needs the scope %s.", scope), "scope"
	}
	if err != nil {
		c.Logger.LogAttrs(context.WithoutCancel(c.ctx()), slog.LevelInfo, "the console refused somebody", slog.String("operation", c.name), slog.String("kind", kindOf(err).reason), slog.String("reason", reason))
		return err
	}
	c.who = who
	return nil
}

// session says who asks, and what they may do.
func (c *call) session() (any, error) {
	return struct {
		Tenant string `json:"tenant"`
		Name   string `json:"name"`
		Act    bool   `json:"act"`
		// Open says that nobody is asked who they are.
		Open bool `json:"open"`
	}{c.who.Tenant, c.who.Name, c.who.May(auth.OperatorAct), len(c.Callers.Schemes()) == 0}, nil
}
