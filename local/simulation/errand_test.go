package simulation_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// errand is one task of a caller, from the submission that may be lost to the end.
type errand struct {
	*client

	name    string
	prefix  string // of the agent's address
	body    string
	header  []string // with the submission key, where it is a header
	keyed   string   // how the submission is known again
	ref     lifecycle.Ref
	known   seen
	eager   bool
	streams bool // it submits by SendStreamingMessage

	mu       sync.Mutex
	answers  map[string]bool // message IDs of replies that were taken
	canceled bool            // the door has said so
	ended    bool
}

// newErrand draws what is asked for, and under which key.
func (c *client) newErrand(n int, prefix, text string) *errand {
	e := &errand{client: c.as(fmt.Sprintf("e%d", n)), name: fmt.Sprintf("%s-e%d", c.who, n), prefix: prefix, answers: map[string]bool{}}
	e.eager, e.streams = e.dice.IntN(2) == 0, e.dice.IntN(5) == 0
	message := map[string]any{"messageId": e.name, "role": "ROLE_USER", "parts": []any{map[string]any{"text": text}}}
	if e.dice.IntN(12) == 0 { // with something large beside it
		message["parts"] = []any{map[string]any{"text": text}, map[string]any{"text": strings.Repeat("padding ", 5000)}}
	}
	configuration := map[string]any{"returnImmediately": e.dice.IntN(4) > 0}
	request := map[string]any{"message": message, "configuration": configuration}
	switch e.keyed = []string{"message", "header", "metadata"}[e.dice.IntN(3)]; {
	case e.keyed == "header" || prefix != "":
		e.keyed, e.header = "header", []string{"Idempotency-Key", "key-" + e.name}
	case e.keyed == "metadata":
		request["metadata"] = map[string]any{lifecycle.ExtensionURI: map[string]any{"submissionKey": "key-" + e.name}}
	}
	if e.dice.IntN(3) == 0 {
		configuration["taskPushNotificationConfig"] = e.hook("inline")
	}
	b, err := json.Marshal(request)
	if err != nil {
		c.w.broken("caller", "%v", err)
	}
	e.body = string(b)
	return e
}

// hook is the configuration of a webhook with a receiver of its own.
func (e *errand) hook(id string) map[string]any {
	return map[string]any{
		"id": id, "url": e.w.hooks.open(e.name+"-"+id, e.tenant, e.mark, "hush-"+e.name), "token": "hush-" + e.name,
		"authentication": map[string]any{"scheme": "Bearer", "credentials": "hush-too-" + e.name},
	}
}

// submit submits until it is told of a task; false when it gave up.
func (e *errand) submit(c *client) bool {
	for range 14 {
		if e.streams && c == e.client {
			if s, ok := e.stream(); ok {
				e.took(c, s)
				return true
			}
			c.pause(20 * time.Second)
			continue
		}
		r, err := c.do(http.MethodPost, e.prefix+"/message:send", e.body, e.header...)
		switch {
		case err != nil || r.status == http.StatusServiceUnavailable:
		case r.ok():
			var s struct{ Task shown }
			if err := r.into(&s); err != nil {
				e.w.broken("api", "an answer that cannot be read: %s", r.body)
				return false
			}
			e.took(c, s.Task)
			return true
		default:
			e.w.broken("I5", "%s was refused: %d %s", e.name, r.status, r.body)
			return false
		}
		c.pause(20 * time.Second)
	}
	return false
}

// stream submits by a stream, and cuts it after the task.
func (e *errand) stream() (shown, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := e.request(ctx, http.MethodPost, e.prefix+"/message:stream", e.body, e.header...)
	if err != nil {
		return shown{}, false
	}
	resp, err := (&network{e.w}).RoundTrip(r)
	if err != nil {
		return shown{}, false
	}
	if resp.StatusCode != http.StatusOK {
		if refused, err := e.read(r, resp); err == nil {
			e.refusedAs(refused, "a submission by a stream")
		}
		return shown{}, false
	}
	defer func() { _ = resp.Body.Close() }()
	got, raw, err := frames{bufio.NewReader(resp.Body)}.next()
	if err != nil {
		return shown{}, false
	}
	e.w.foreign(e.mark, raw, "stream")
	if got.task == nil {
		e.w.broken("api", "%s: a stream that does not begin with the task", e.name)
		return shown{}, false
	}
	return *got.task, true
}

// took notes which task a submission has led to: always the same (I5).
func (e *errand) took(c *client, s shown) {
	ref, known := e.w.witness.ref(s.ID)
	if !known || ref.Tenant != e.tenant {
		e.w.broken("I4", "%s was told of task %s, which nobody has created (%s)", e.name, s.ID, ref)
		return
	}
	e.mu.Lock()
	if e.ref.Task == "" {
		e.ref = ref
	}
	first := e.ref
	e.mu.Unlock()
	if first != ref {
		e.w.broken("I5", "%s, keyed by its %s, is task %s and task %s", e.name, e.keyed, first.Task, ref.Task)
		return
	}
	c.task(ref, s, &e.known, 0)
}

// run goes through with it.
func (e *errand) run() {
	var beside sync.WaitGroup
	defer beside.Wait()
	if e.dice.IntN(3) == 0 { // the same submission from elsewhere at the same time
		twin := e.as("twin")
		beside.Go(func() { e.submit(twin) })
	}
	if !e.submit(e.client) {
		return
	}
	e.conflict()
	for i := range e.dice.IntN(3) {
		f := &follower{errand: e, client: e.as(fmt.Sprintf("f%d", i))}
		e.w.followed(f)
		beside.Go(f.run)
	}
	plan := newConduct(e)
	if e.dice.IntN(5) == 0 {
		beside.Go(plan.cancelAt)
	}
	if e.dice.IntN(4) == 0 {
		beside.Go(plan.answerAt)
	}
	if e.dice.IntN(4) == 0 {
		beside.Go(plan.attendAt)
	}
	e.live(plan)
}

// conflict sends another request under the same key.
func (e *errand) conflict() {
	if e.dice.IntN(4) > 0 {
		return
	}
	other := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"another one"}]},"metadata":{%q:{"submissionKey":%q}}}`,
		e.name, lifecycle.ExtensionURI, "key-"+e.name)
	if e.keyed == "message" {
		other = fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"another one"}]}}`, e.name)
	}
	if r, err := e.do(http.MethodPost, e.prefix+"/message:send", other); err == nil {
		if r.ok() {
			e.w.broken("I5", "%s: another request under the same key was taken: %s", e.name, r.body)
		}
		e.refusedAs(r, "another request under the same key", "SUBMISSION_KEY_CONFLICT")
	}
}

// live looks after the task until it has ended, or for so many looks.
func (e *errand) live(plan *conduct) {
	for range 60 {
		e.bide()
		s, ok := e.get()
		if !ok {
			continue
		}
		if s.Status.State.Terminal() {
			e.mu.Lock()
			e.ended = true
			e.mu.Unlock()
			plan.afterwards(s)
			return
		}
		plan.act(s)
	}
}

// bide lets some time pass, or waits for the very moment at which something happens to
// the task: what is asked then meets whoever is at work in the middle of it.
func (e *errand) bide() {
	if !e.eager || e.dice.IntN(3) == 0 {
		e.pause(30 * time.Second)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	h, err := e.w.witness.Head(ctx, e.ref)
	if err != nil || h.Terminal() || e.w.witness.Watch(ctx, e.ref, h.Seq) != nil {
		e.pause(time.Second)
		return
	}
	if e.dice.IntN(2) == 0 {
		e.pause(4 * time.Millisecond)
	}
}

func (e *errand) path(rest string) string { return e.prefix + "/tasks/" + string(e.ref.Task) + rest }

// get reads the task.
func (e *errand) get() (shown, bool) {
	floor := e.known.floor()
	r, err := e.do(http.MethodGet, e.path(""), "")
	if err != nil {
		return shown{}, false
	}
	return e.answered(r, "GetTask", floor)
}

// answered is an answer with a task in it.
func (e *errand) answered(r reply, what string, floor uint64, reasons ...string) (shown, bool) {
	var s shown
	if !r.ok() {
		e.refusedAs(r, what, reasons...)
		return s, false
	}
	if err := r.into(&s); err != nil {
		e.w.broken("api", "%s: an answer that cannot be read: %s", what, r.body)
		return s, false
	}
	e.client.task(e.ref, s, &e.known, floor)
	return s, true
}

func (e *errand) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended
}

// check is for the end: what the door has promised has come about.
func (e *errand) check(entries []lifecycle.Entry, final a2a.TaskState) {
	e.mu.Lock()
	defer e.mu.Unlock()
	found := map[string]int{}
	for _, x := range entries {
		if x.Type == lifecycle.TypeReply || x.Type == lifecycle.TypeMessage {
			found[x.EventID]++
		}
	}
	for id := range e.answers {
		if found[id] != 1 {
			e.w.broken("I4", "task %s: message %s was taken, and is in the history %d times", e.ref, id, found[id])
		}
	}
	for id, n := range found {
		if n > 1 {
			e.w.broken("I5", "task %s: message %s is in the history %d times", e.ref, id, n)
		}
	}
	if e.canceled && final != lifecycle.Canceled {
		e.w.broken("I2", "task %s: the door has answered that it is canceled, it is %s", e.ref, final)
	}
}
