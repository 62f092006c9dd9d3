package simulation_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// conduct is how a caller behaves towards its task.
type conduct struct {
	*errand

	settled  map[int]bool   // pauses that it has dealt with
	messages map[string]int // how many somebody has sent
	cancel   bool
	hooks    int
}

func newConduct(e *errand) *conduct {
	return &conduct{errand: e, settled: map[int]bool{}, messages: map[string]int{}, cancel: e.dice.IntN(6) == 0}
}

// act does one thing, now that the task is as it was seen.
func (c *conduct) act(s shown) {
	switch n := c.dice.IntN(12); {
	case c.cancel && n < 3:
		c.cancel = c.dice.IntN(2) == 0 // perhaps once more
		if c.eager {
			c.bide()
		}
		c.askToCancel(c.client)
		return
	case n == 3:
		c.list()
		return
	case n == 4:
		c.hook()
		return
	case n == 5:
		c.say(c.client, "out of turn", 0, "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
		return
	case n == 6 && c.dice.IntN(2) == 0:
		c.pry()
		return
	case n == 6:
		c.look()
		return
	}
	o := s.own()
	switch {
	case s.Status.State == lifecycle.InputRequired && !c.settled[o.Pause]:
		c.settled[o.Pause] = true
		c.answer(o.Pause)
	case s.Status.State == lifecycle.AuthRequired && o.Challenge != nil && !c.settled[o.Pause]:
		c.settled[o.Pause] = true
		c.approve(s)
	}
}

// answer answers a question: in time, twice, under a wrong number, late, or never.
func (c *conduct) answer(pause int) {
	switch c.dice.IntN(10) {
	case 0: // never
	case 1:
		c.say(c.client, "the wrong one", pause+1, "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
		c.settled[pause] = false
	case 2: // when the deadline may be over
		c.pause(6 * time.Minute)
		c.say(c.client, "late", pause, "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
	case 3: // two answers at once, of which one counts
		other := c.as("other")
		done := make(chan struct{})
		go func() {
			defer close(done)
			c.say(other, "one", pause, "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
		}()
		c.say(c.client, "two", pause, "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
		<-done
	default:
		c.say(c.client, "yes", pause, "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
	}
}

// say sends a message to the task, again under the same ID when no answer comes, and
// once more now and then when one came.
func (c *conduct) say(from *client, text string, pause int, refusals ...string) {
	id := c.messageOf(from)
	message := map[string]any{"messageId": id, "taskId": c.ref.Task, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text + " " + c.mark}}}
	if pause > 0 {
		message["metadata"] = map[string]any{lifecycle.ExtensionURI: map[string]any{"pause": pause}}
	}
	b, _ := json.Marshal(map[string]any{"message": message, "configuration": map[string]any{"returnImmediately": from.dice.IntN(3) > 0}})
	for again := true; again; {
		again = false
		for range 6 {
			floor := c.known.floor()
			r, err := from.do(http.MethodPost, c.prefix+"/message:send", string(b))
			if err != nil || r.status == http.StatusServiceUnavailable {
				from.pause(15 * time.Second)
				continue
			}
			if !r.ok() {
				from.refusedAs(r, "a message", refusals...)
				break
			}
			var s struct{ Task shown }
			if r.into(&s) == nil {
				c.client.task(c.ref, s.Task, &c.known, floor)
			}
			c.mu.Lock()
			again = !c.answers[id] && from.dice.IntN(3) == 0
			c.answers[id] = true
			c.mu.Unlock()
			break
		}
	}
}

// messageOf gives somebody's message an ID.
func (c *conduct) messageOf(from *client) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages[from.who]++
	return fmt.Sprintf("%s-m%d", strings.ReplaceAll(from.who, " ", "-"), c.messages[from.who])
}

// approve presents a receipt, a forgery, one for another challenge, or none.
func (c *conduct) approve(s shown) {
	o := s.own()
	issuer, forged := c.w.issuer, false
	number := o.Challenge.Number
	jti := fmt.Sprintf("%s-j%d", c.name, number)
	switch c.dice.IntN(6) {
	case 0:
		return
	case 1:
		issuer, forged = c.w.forger, true
	case 2:
		number++
	}
	genuine := !forged && number == o.Challenge.Number
	text := issuer.give(c.ref, number, o.Challenge.Action, o.Challenge.Audience, jti)
	path, body, message := c.path("/authorizations"), fmt.Sprintf(`{"receipt":%q}`, text), ""
	if c.dice.IntN(3) == 0 { // in band
		message = c.messageOf(c.client)
		path = c.prefix + "/message:send"
		body = fmt.Sprintf(`{"message":{"messageId":%q,"taskId":%q,"role":"ROLE_USER","parts":[{"text":"here"}],"metadata":{%q:{"authorization":%q}}},"configuration":{"returnImmediately":true}}`,
			message, c.ref.Task, lifecycle.ExtensionURI, text)
	}
	for range 5 {
		floor := c.known.floor()
		r, err := c.do(http.MethodPost, path, body)
		if err != nil || r.status == http.StatusServiceUnavailable {
			c.pause(15 * time.Second)
			continue
		}
		if r.ok() && !genuine {
			c.w.broken("I12", "task %s took a receipt that is none", c.ref)
		}
		if message == "" {
			c.answered(r, "a receipt", floor, "AUTHORIZATION_RECEIPT_INVALID", "AUTHORIZATION_RECEIPT_REQUIRED", "UNSUPPORTED_OPERATION")
			break
		}
		c.refusedAs(r, "a receipt in a message", "AUTHORIZATION_RECEIPT_INVALID", "AUTHORIZATION_RECEIPT_REQUIRED", "UNSUPPORTED_OPERATION", "INVALID_PARAMS")
		if r.ok() {
			c.mu.Lock()
			c.answers[message] = true
			c.mu.Unlock()
		}
		break
	}
	if !genuine {
		c.settled[o.Pause] = c.dice.IntN(2) == 0 // with a good one the next time
	}
}

// askToCancel asks to cancel.
func (c *conduct) askToCancel(from *client) {
	floor := c.known.floor()
	r, err := from.do(http.MethodPost, c.path(":cancel"), "")
	if err != nil {
		return
	}
	s, ok := c.answered(r, "a cancellation", floor, "TASK_NOT_CANCELABLE")
	if ok && s.Status.State == lifecycle.Canceled {
		c.mu.Lock()
		c.canceled = true
		c.mu.Unlock()
	}
}

// list pages through the caller's tasks.
func (c *conduct) list() {
	token := ""
	for range 5 {
		path := c.prefix + fmt.Sprintf("/tasks?pageSize=%d&pageToken=%s", 1+c.dice.IntN(3), token)
		r, err := c.do(http.MethodGet, path, "")
		if err != nil || !r.ok() {
			if err == nil {
				c.refusedAs(r, "ListTasks")
			}
			return
		}
		var page struct {
			Tasks         []shown
			NextPageToken string
			TotalSize     int
		}
		if err := r.into(&page); err != nil {
			c.w.broken("api", "a list that cannot be read: %s", r.body)
			return
		}
		if own := c.w.countOf(c.tenant); page.TotalSize > own {
			c.w.broken("I10", "%s of %s was told of %d tasks, the tenant has %d", c.who, c.tenant, page.TotalSize, own)
		}
		for _, s := range page.Tasks {
			ref, known := c.w.witness.ref(s.ID)
			if !known || ref.Tenant != c.tenant {
				c.w.broken("I10", "%s of %s was listed task %s", c.who, c.tenant, ref)
				continue
			}
			c.w.committed(ref, s.own().Sequence, s.own().Digest)
		}
		if token = page.NextPageToken; token == "" {
			return
		}
	}
}

// hook registers, lists or removes webhooks.
func (c *conduct) hook() {
	path := c.path("/pushNotificationConfigs")
	switch {
	case c.hooks < 2:
		c.hooks++
		b, _ := json.Marshal(c.errand.hook(fmt.Sprintf("h%d", c.hooks)))
		for range 3 {
			r, err := c.do(http.MethodPost, path, string(b))
			if err == nil && r.status != http.StatusServiceUnavailable {
				c.refusedAs(r, "a webhook")
				return
			}
			c.pause(5 * time.Second)
		}
	case c.dice.IntN(2) == 0:
		if r, err := c.do(http.MethodGet, path, ""); err == nil {
			c.refusedAs(r, "the list of webhooks")
		}
	default:
		if r, err := c.do(http.MethodDelete, path+"/h1", ""); err == nil {
			c.refusedAs(r, "removing a webhook")
		}
	}
}

// pry tries the task under the key of another tenant: it is not there, and looks just
// as one does that never was (I10).
func (c *conduct) pry() {
	var stranger *client
	for _, other := range c.w.callers {
		if other.tenant != c.tenant {
			stranger = other.as("stranger of " + c.name)
		}
	}
	id, never := string(c.ref.Task), string(c.ref.Task[:len(c.ref.Task)-4])+"0000"
	for _, try := range []struct{ method, path, body string }{
		{http.MethodGet, "/tasks/%s", ""},
		{http.MethodPost, "/tasks/%s:cancel", ""},
		{http.MethodPost, "/tasks/%s:subscribe", "{}"},
		{http.MethodGet, "/tasks/%s/ledger", ""},
		{http.MethodGet, "/tasks/%s/export", ""},
		{http.MethodGet, "/tasks/%s/pushNotificationConfigs", ""},
		{http.MethodPost, "/message:send", `{"message":{"messageId":"pry","role":"ROLE_USER","taskId":"%s","parts":[{"text":"hello"}]}}`},
	} {
		at := func(id string) (reply, error) {
			path, body := try.path, try.body
			if body != "" && body != "{}" {
				body = fmt.Sprintf(body, id)
			} else {
				path = fmt.Sprintf(path, id)
			}
			return stranger.do(try.method, c.prefix+path, body)
		}
		r, err := at(id)
		if err != nil || r.status == http.StatusServiceUnavailable {
			continue
		}
		if r.reason != "TASK_NOT_FOUND" {
			c.w.broken("I10", "%s %s under a key of %s: %d %s", try.method, try.path, stranger.tenant, r.status, r.body)
		}
		absent, err := at(never)
		if err != nil || absent.status == http.StatusServiceUnavailable {
			continue
		}
		if absent.status != r.status || absent.reason != r.reason {
			c.w.broken("I10", "%s %s tells a task of another tenant (%d %s) from one that never was (%d %s)", try.method, try.path, r.status, r.body, absent.status, absent.body)
		}
	}
}

// afterwards does to an ended task what is refused, or changes nothing.
func (c *conduct) afterwards(last shown) {
	if c.dice.IntN(2) == 0 {
		c.say(c.client, "too late", 0, "UNSUPPORTED_OPERATION")
	}
	if c.dice.IntN(2) == 0 {
		c.askToCancel(c.client)
	}
	c.submit(c.client)
	s, ok := c.get()
	if ok && (s.Status.State != last.Status.State || s.own() != last.own()) {
		c.w.broken("I2", "task %s was seen as %s at entry %d, and later as %s at entry %d", c.ref, last.Status.State, last.own().Sequence, s.Status.State, s.own().Sequence)
	}
	if !terminal(s.Status.State) && ok {
		c.w.broken("I2", "task %s had ended and is %s", c.ref, s.Status.State)
	}
}

func terminal(s a2a.TaskState) bool { return s.Terminal() }
