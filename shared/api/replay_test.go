package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// replaying is a door whose replays are noted. Those of busy endpoints are refused, those
// of removed ones are not found, those of broken ones fail.
func replaying(asked *[]string) []func(*world) {
	return []func(*world){pushing, func(w *world) {
		w.config.Push.Replay = func(_ context.Context, ref lifecycle.Ref, id string, since uint64) error {
			from := fmt.Sprint(since)
			if since == ledger.FromCursor {
				from = "cursor"
			}
			*asked = append(*asked, ref.Tenant+" "+id+" "+from)
			switch {
			case strings.HasPrefix(id, "busy"):
				return ledger.ErrDeliveryChanged
			case strings.HasPrefix(id, "removed"):
				return ledger.ErrNotFound
			case strings.HasPrefix(id, "broken"):
				return errors.New("no luck with " + planted)
			}
			return nil
		}
	}}
}

// replay is of one webhook ("/a"), or of all ("").
func (c client) replay(id, webhook, body string) answer {
	address := "/tasks/" + id + "/pushNotificationConfigs:replay"
	if webhook != "" {
		address = "/tasks/" + id + "/pushNotificationConfigs" + webhook + "/replay"
	}
	return c.send(c.raw(c.t.Context(), http.MethodPost, address, body))
}

// An operator has one webhook of a task delivered again, or all; everything, since a
// sequence, or what it has not taken.
func TestReplay(t *testing.T) {
	var asked []string
	w := newWorld(t, replaying(&asked)...)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	for _, name := range []string{"a", "b", "c:replay"} {
		c.ok("CreateTaskPushNotificationConfig", with(webhook(name, "https://a.example/"+name), object{"taskId": id}))
	}
	given := ledger.Delivery{Cursor: 1, Revision: 1, State: ledger.DeliveryGivenUp, Incarnation: w.endpoints(id)[0].Delivery.Incarnation}
	if err := w.ledger.Deliver(t.Context(), w.ref(id), "a", given); err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct{ webhook, body, asked, answer string }{
		{"/a", "", "local a cursor", `[{"id":"a","replayed":true,"since":1,"was":"given-up"}]`},
		{"/a", `{"since":0}`, "local a 0", `[{"id":"a","replayed":true,"since":0,"was":"given-up"}]`},
		{"/b", `{"since":1}`, "local b 1", `[{"id":"b","replayed":true,"since":1}]`},
		{"/c:replay", "{}", "local c:replay cursor", `[{"id":"c:replay","replayed":true,"since":1}]`},
		{"", "", "local a cursor,local b cursor,local c:replay cursor", `[{"id":"a","replayed":true,"since":1,"was":"given-up"},{"id":"b","replayed":true,"since":1},{"id":"c:replay","replayed":true,"since":1}]`},
	} {
		asked = nil
		a := c.replay(id, k.webhook, k.body)
		if got := encode(t, a.result["deliveries"]); a.status != http.StatusOK || got != k.answer || text(a.result, "task") != id {
			t.Errorf("%s %s: %d %s, want %s", k.webhook, k.body, a.status, a.raw, k.answer)
		}
		if got := strings.Join(asked, ","); got != k.asked {
			t.Errorf("%s %s: asked %q, want %q", k.webhook, k.body, got, k.asked)
		}
	}
	// Who asked for it is on record, beside the task.
	acts, err := w.ledger.Acts(t.Context(), w.ref(id))
	if err != nil || len(acts) != 7 || acts[1].By != "me" || acts[1].Action != ledger.ActionReplay || acts[1].Detail != "webhook a, after entry 0" || acts[3].Detail != "webhook c:replay, after entry 1" {
		t.Errorf("on record is %+v (%v)", acts, err)
	}
	// A configuration that is called so is read as any other, over both bindings.
	if got := c.ok("GetTaskPushNotificationConfig", object{"taskId": id, "id": "c:replay"}); text(got, "id") != "c:replay" {
		t.Errorf("%v", got)
	}
	if strings.Contains(w.logged(), planted) {
		t.Error("the log shows a secret")
	}
}

// What cannot be replayed is refused, with the reason, and nothing is asked of the sender.
func TestReplayRefused(t *testing.T) {
	var asked []string
	w := newWorld(t, replaying(&asked)...)
	c := w.client(t, false)
	id, none := c.submit(message("m-1", "do it")), c.submit(message("m-2", "do it"))
	for _, name := range []string{"a", "busy", "removed", "broken"} {
		c.ok("CreateTaskPushNotificationConfig", with(webhook(name, "https://a.example/"), object{"taskId": id}))
	}
	asked = nil
	for _, k := range []struct {
		webhook, body string
		status        int
		reason        string
	}{
		{"/none", "", 404, "NOT_FOUND"}, {"/", "", 404, "METHOD_NOT_FOUND"}, {"/:replay", "", 404, "NOT_FOUND"},
		{"/a", `{"since":2}`, 400, "INVALID_PARAMS"}, {"/a", `{"since":-1}`, 400, "INVALID_PARAMS"}, {"/a", `{"since":"1"}`, 400, "INVALID_PARAMS"},
		{"/a", `{"since":1e30}`, 400, "INVALID_PARAMS"}, {"/a", `{"from":1}`, 400, "INVALID_PARAMS"}, {"/a", `[]`, 400, "INVALID_REQUEST"}, {"/a", `{`, 400, "PARSE_ERROR"},
	} {
		if a := c.replay(id, k.webhook, k.body); a.status != k.status || a.err == nil || a.err.reason != k.reason {
			t.Errorf("%s %s: %d %s, want %d %s", k.webhook, k.body, a.status, a.raw, k.status, k.reason)
		}
	}
	if len(asked) != 0 {
		t.Errorf("asked %q", asked)
	}
	if a := c.replay(id, "/busy", ""); a.status != http.StatusConflict || a.err.reason != "DELIVERY_UNDER_WAY" || a.header.Get("Retry-After") == "" {
		t.Errorf("a delivery under way: %d %s", a.status, a.raw)
	}
	if a := c.replay(id, "/broken", ""); a.status != http.StatusInternalServerError || strings.Contains(string(a.raw), planted) {
		t.Errorf("%d %s", a.status, a.raw)
	}
	if a := c.replay(id, "/removed", ""); a.status != http.StatusOK || encode(t, a.result["deliveries"]) != "[]" {
		t.Errorf("one that was removed meanwhile: %d %s", a.status, a.raw)
	}
	c.ok("DeleteTaskPushNotificationConfig", object{"taskId": id, "id": "broken"})
	if a := c.replay(id, "", ""); a.status != http.StatusOK || encode(t, a.result["deliveries"]) != `[{"id":"a","replayed":true,"since":1},{"id":"busy","replayed":false,"since":1}]` {
		t.Errorf("all of them: %d %s", a.status, a.raw)
	}
	acts, err := w.ledger.Acts(t.Context(), w.ref(id))
	var refused []string
	for _, a := range acts {
		refused = append(refused, a.Refused)
	}
	if want := []string{"", "a delivery was under way", "", "something failed on our side: whether it was done is not known", "", "it was removed", "", "", "a delivery was under way", "", "it was removed"}; err != nil || !slices.Equal(refused, want) {
		t.Errorf("on record is %+v (%v)", acts, err)
	}
	if a := c.replay(none, "", ""); a.status != http.StatusOK || encode(t, a.result["deliveries"]) != "[]" {
		t.Errorf("a task without webhooks: %d %s", a.status, a.raw)
	}
}

// I10: a replay is for operators who act, in the task's own tenant, through its agent, and
// while the task is kept.
func TestReplayAccess(t *testing.T) {
	var asked []string
	w := newWorld(t, replaying(&asked)...)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	c.ok("CreateTaskPushNotificationConfig", with(webhook("a", "https://a.example/"), object{"taskId": id}))
	asked = nil
	for token, want := range map[string]int{
		"local/op/operator:read": 403, "local/x/caller": 403, "local/x/producer": 403, "other/x": 404, "other/op/operator:act": 404, "bad/x": 401,
	} {
		for _, webhook := range []string{"", "/a"} {
			if a := c.with("Authorization", "Bearer "+token).replay(id, webhook, ""); a.status != want {
				t.Errorf("%s, %q: %d %.200s, want %d", token, webhook, a.status, a.raw, want)
			}
		}
	}
	stranger, nobody := c.with("Authorization", "Bearer other/op/operator:act").replay(id, "/a", ""), c.with("Authorization", "Bearer other/op/operator:act").replay("0198-none", "/a", "")
	if strings.ReplaceAll(string(stranger.raw), id, "0198-none") != string(nobody.raw) {
		t.Errorf("another tenant learns %s, of no task %s", stranger.raw, nobody.raw)
	}
	if a := c.at("keyed").replay(id, "/a", ""); a.err == nil || a.err.reason != "TASK_NOT_FOUND" {
		t.Errorf("through another agent: %s", a.raw)
	}
	if len(asked) != 0 {
		t.Errorf("asked %q", asked)
	}
	if a := c.with("Authorization", "Bearer local/op/operator:act").replay(id, "/a", ""); a.status != http.StatusOK {
		t.Errorf("an operator: %d %s", a.status, a.raw)
	}
	if a := c.send(c.raw(t.Context(), http.MethodGet, "/tasks/"+id+"/pushNotificationConfigs:replay", "")); a.status != http.StatusMethodNotAllowed {
		t.Errorf("GET: %d %s", a.status, a.raw)
	}
	w.must(id, grant(), complete())
	w.clock.Advance(lifecycle.DefaultRetention + time.Hour)
	if a := c.replay(id, "/a", ""); a.err == nil || a.err.reason != "TASK_NOT_FOUND" {
		t.Errorf("one that has expired: %d %s", a.status, a.raw)
	}
}

// Without webhooks there is nothing to be replayed.
func TestReplayWithoutWebhooks(t *testing.T) {
	c := newWorld(t).client(t, false)
	id := c.submit(message("m-1", "do it"))
	if a := c.replay(id, "", ""); a.err == nil || a.err.reason != "PUSH_NOTIFICATION_NOT_SUPPORTED" {
		t.Errorf("%d %s", a.status, a.raw)
	}
}
