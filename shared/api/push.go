package api

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Push is what the door needs to register webhooks (A2A §3.1.7). Others deliver.
type Push struct {
	// Check refuses addresses that are not called. Its error's text goes to the caller.
	Check func(ctx context.Context, url string) error
	// Renew lets an endpoint that was configured anew begin anew, if its deliveries had
	// been given up.
	Renew func(ctx context.Context, ref lifecycle.Ref, id string) error
	// Replay delivers again what comes after a sequence, or from where deliveries have
	// got to (ledger.FromCursor). ledger.ErrNotFound; ledger.ErrDeliveryChanged: one is
	// under way.
	Replay func(ctx context.Context, ref lifecycle.Ref, id string, since uint64) error
	// Keys are the public ones with which receivers verify, in the form whpk_….
	Keys func(ctx context.Context) ([]string, error)
	// Seal hides the token and the credentials of an endpoint, so that only the sender
	// can read them, and send them to that address alone.
	Seal func(ctx context.Context, ref lifecycle.Ref, id, url, token, credentials string) ([]byte, error)
}

// lookAfter is when somebody looks at a new endpoint if nothing tells them to.
const lookAfter = 5 * time.Minute

// incarnationChars are hexadecimal digits: a task has few endpoints.
const incarnationChars = 16

// webhook is what a request says about an endpoint (§4.3.1).
type webhook struct {
	id, url, token, scheme, credentials string
	task                                a2a.TaskID
}

// webhook reads a TaskPushNotificationConfig.
func (r *reader) webhook(v value, at string, task a2a.TaskID) *webhook {
	w := &webhook{task: task}
	if !v.object() {
		r.wrong(strings.TrimSuffix(at, "."), "must be an object")
		return w
	}
	r.fields(v, func(name string, v value) {
		field := at + name
		switch name {
		case "id":
			w.id = r.text(v, field)
		case "taskId":
			if named := a2a.TaskID(r.text(v, field)); task == "" {
				w.task = named
			} else if named != task {
				r.wrong(field, "names another task than the address")
			}
		case "url":
			w.url = r.text(v, field)
		case "token":
			w.token = r.text(v, field)
		case "authentication":
			r.fields(v, func(name string, v value) {
				switch name {
				case "scheme":
					w.scheme = r.text(v, field+"."+name)
				case "credentials":
					w.credentials = r.text(v, field+"."+name)
				}
			})
			if w.scheme == "" {
				r.wrong(field+".scheme", "is required")
			}
		}
	})
	if w.id != "" {
		r.name(w.id, at+"id", lifecycle.MaxIDBytes)
	}
	r.name(w.url, at+"url", ledger.MaxURLBytes)
	r.field(w.token, at+"token", ledger.MaxSecretBytes/4)
	r.field(w.credentials, at+"authentication.credentials", ledger.MaxSecretBytes/4)
	r.field(w.scheme, at+"authentication.scheme", lifecycle.MaxNameBytes)
	if strings.ContainsFunc(w.scheme, noToken) {
		r.wrong(at+"authentication.scheme", "must be one word, such as Bearer")
	}
	return w
}

// field checks what becomes a header field: what could begin another one is refused.
func (r *reader) field(text, name string, limit int) {
	if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) || strings.Trim(text, " ") != text || len(text) > limit {
		r.wrong(name, "must be at most %d printable ASCII characters, without spaces around them", limit)
	}
}

// noToken is about what no authentication scheme is spelled with (RFC 9110, 5.6.2 and 11.1).
func noToken(c rune) bool {
	return c <= ' ' || c > '~' || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// pushParams reads what names a task and, where it is wanted, one of its endpoints.
func pushParams(v value) (request, error) {
	var q request
	var r reader
	r.fields(v, func(name string, v value) {
		switch name {
		case "tenant":
			q.tenant = r.text(v, name)
		case "taskId":
			q.id = a2a.TaskID(r.text(v, name))
		case "id":
			q.endpoint = r.text(v, name)
		case "pageSize":
			q.pageSize = r.pageSize(r.integer(v, name))
		case "pageToken":
			q.pageToken = r.text(v, name)
		}
	})
	if q.id == "" && len(r.violations) == 0 {
		r.wrong("taskId", "is required")
	}
	return q, r.err()
}

// createParams reads an endpoint to be made.
func createParams(v value) (request, error) { return createFields(v, "") }

func createFields(v value, task a2a.TaskID) (request, error) {
	var q request
	var r reader
	r.fields(v, func(name string, v value) {
		if name == "tenant" {
			q.tenant = r.text(v, name)
		}
	})
	q.webhook = r.webhook(v, "", task)
	if q.id = q.webhook.task; q.id == "" && len(r.violations) == 0 {
		r.wrong("taskId", "is required")
	}
	return q, r.err()
}

// wireWebhook is an endpoint as callers see it: what it was given to prove itself
// with is not shown again (I9).
type wireWebhook struct {
	ID             string              `json:"id"`
	Task           a2a.TaskID          `json:"taskId"`
	URL            string              `json:"url"`
	Authentication *wireAuthentication `json:"authentication,omitempty"`
}

type wireAuthentication struct {
	Scheme string `json:"scheme"`
}

func wireWebhookOf(id a2a.TaskID, e ledger.Endpoint) wireWebhook {
	w := wireWebhook{ID: e.ID, Task: id, URL: e.URL}
	if e.Scheme != "" {
		w.Authentication = &wireAuthentication{e.Scheme}
	}
	return w
}

// webhookList is a ListTaskPushNotificationConfigsResponse. A task has few enough
// endpoints for one page.
type webhookList struct {
	Configs       []wireWebhook `json:"configs"`
	NextPageToken string        `json:"nextPageToken"`
}

// endpoint makes an endpoint of what a request says; deliveries begin behind an entry.
func (c *call) endpoint(ctx context.Context, ref lifecycle.Ref, w *webhook, after uint64) (ledger.Endpoint, error) {
	if w.id == "" {
		w.id = c.NewID()
	}
	if err := c.Push.Check(ctx, w.url); err != nil {
		r := reader{}
		r.wrong("url", "%s", clip(err.Error()))
		return ledger.Endpoint{}, r.err()
	}
	base := c.base()
	if len(base) > ledger.MaxURLBytes {
		return ledger.Endpoint{}, refuse(a2a.ErrInvalidRequest, "The address by which this agent was reached has more than %d bytes.", ledger.MaxURLBytes)
	}
	secrets, err := c.Push.Seal(ctx, ref, w.id, w.url, w.token, w.credentials)
	if err != nil {
		return ledger.Endpoint{}, err
	}
	now := lifecycle.Millis(c.Now())
	return ledger.Endpoint{
		ID: w.id, URL: w.url, Scheme: w.scheme, Secrets: secrets, Agent: c.agent.Name, Base: base, Principal: c.who.Hash(), CreatedAt: now,
		Delivery: ledger.Delivery{Cursor: after, Wanted: after, DueAt: now.Add(lookAfter), Incarnation: string(lifecycle.DigestOf("holdfast-incarnation-1", c.NewID())[:incarnationChars])},
	}, nil
}

// register writes an endpoint, and sees to it that deliveries begin: also when it was
// given up under another configuration, and with what was committed while it was written,
// of which nobody could tell it.
func (c *call) register(ctx context.Context, seen lifecycle.Head, w *webhook) (ledger.Endpoint, error) {
	ref := seen.Ref()
	e, err := c.endpoint(ctx, ref, w, seen.Seq)
	if err == nil {
		err = c.Authority.Ledger.PutEndpoint(ctx, ref, e)
	}
	if err == nil {
		err = c.Push.Renew(ctx, ref, e.ID)
	}
	if err != nil {
		return e, err
	}
	h, err := c.Authority.Ledger.Head(ctx, ref)
	if err != nil || h.Seq == seen.Seq {
		return e, err
	}
	return e, c.Authority.Ledger.Want(ctx, ref, e.ID, h.Seq, c.Now())
}

// pushed runs an operation on the endpoints of a task that the caller may see.
func (c *call) pushed(q request, operation func(h lifecycle.Head) (any, error)) {
	h, err := c.known(q.id)
	var answer any
	if err == nil {
		answer, err = operation(h)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		err = refuse(a2a.ErrTaskNotFound, "The push notification configuration does not exist.")
	}
	c.answer(answer, err)
}

func noPush() error {
	return refuse(a2a.ErrPushNotificationNotSupported, "This agent sends no push notifications; subscribe to the task instead.")
}

// createWebhook registers a webhook: what happens from now on is sent to it (§3.1.7).
// Without an ID it is a new one; with one it replaces that one, whose deliveries go
// on where they were.
func (c *call) createWebhook(q request) {
	c.pushed(q, func(h lifecycle.Head) (any, error) {
		ctx, cancel := c.commitment()
		defer cancel()
		e, err := c.register(ctx, h, q.webhook)
		return wireWebhookOf(h.Task, e), err
	})
}

func (c *call) getWebhook(q request) {
	c.pushed(q, func(h lifecycle.Head) (any, error) {
		e, err := c.Authority.Ledger.Endpoint(c.r.Context(), h.Ref(), q.endpoint)
		return wireWebhookOf(h.Task, e), err
	})
}

func (c *call) listWebhooks(q request) {
	c.pushed(q, func(h lifecycle.Head) (any, error) {
		if q.pageToken != "" {
			return nil, badToken("is not one that this agent gave out")
		}
		list, err := c.Authority.Ledger.EndpointList(c.r.Context(), h.Ref())
		out := webhookList{Configs: []wireWebhook{}}
		for _, e := range list {
			out.Configs = append(out.Configs, wireWebhookOf(h.Task, e))
		}
		return out, err
	})
}

// deleteWebhook removes a webhook; doing it again is the same (§3.1.10).
func (c *call) deleteWebhook(q request) {
	c.pushed(q, func(h lifecycle.Head) (any, error) {
		return struct{}{}, c.Authority.Ledger.DeleteEndpoint(c.r.Context(), h.Ref(), q.endpoint)
	})
}

// serveWebhookKeys answers with the keys that receivers verify signatures with.
func (c *call) serveWebhookKeys(address) {
	keys, err := c.Push.Keys(c.r.Context())
	if err != nil {
		c.refuse(err)
		return
	}
	c.w.Header().Set("Cache-Control", "public, max-age="+strconv.Itoa(int(cardMaxAge/time.Second)))
	c.answer(struct {
		Keys []string `json:"keys"`
	}{keys}, nil)
}
