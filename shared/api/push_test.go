package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// planted is what no answer and no log may show.
const planted = "s3cr3t-of-the-webhook"

// pushing makes a door that registers webhooks.
func pushing(w *world) {
	w.config.Push = &api.Push{
		Renew: func(_ context.Context, ref lifecycle.Ref, id string) error {
			w.renewed = append(w.renewed, string(ref.Task)+" "+id)
			return nil
		},
		Check: func(_ context.Context, url string) error {
			if !strings.HasPrefix(url, "https://") {
				return errors.New("only https addresses are called")
			}
			return nil
		},
		Seal: func(_ context.Context, ref lifecycle.Ref, id, _, token, credentials string) ([]byte, error) {
			return fmt.Appendf(nil, "sealed for %s of %s: %d bytes", id, ref.Task, len(token)+len(credentials)), nil
		},
	}
}

func webhook(id, url string) object {
	w := object{"url": url, "token": planted, "authentication": object{"scheme": "Bearer", "credentials": planted}}
	if id != "" {
		w["id"] = id
	}
	return w
}

func (w *world) endpoints(id string) []ledger.Endpoint {
	w.t.Helper()
	list, err := w.ledger.EndpointList(w.t.Context(), w.ref(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// §3.1.7–3.1.10, case 56: two creations without an ID are two configurations; one with
// an ID replaces that one; deleting twice is fine; a list is a list when it is empty;
// what the client proves itself with is never shown.
func TestWebhooks(t *testing.T) {
	both(t, []func(*world){pushing}, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		at := func(more object) object { return with(more, object{"taskId": id}) }
		first := c.ok("CreateTaskPushNotificationConfig", at(webhook("", "https://a.example/1")))
		second := c.ok("CreateTaskPushNotificationConfig", at(webhook("", "https://a.example/2")))
		if text(first, "id") == "" || text(first, "id") == text(second, "id") || text(first, "taskId") != id || text(first, "url") != "https://a.example/1" || text(first, "authentication.scheme") != "Bearer" {
			t.Errorf("created %v and %v", first, second)
		}
		own := c.ok("CreateTaskPushNotificationConfig", at(webhook("mine", "https://a.example/3")))
		again := c.ok("CreateTaskPushNotificationConfig", at(webhook("mine", "https://a.example/4")))
		if n := len(w.renewed); n != 4 || w.renewed[3] != id+" mine" {
			t.Errorf("told to begin anew: %v", w.renewed)
		}
		if text(own, "id") != "mine" || text(again, "url") != "https://a.example/4" {
			t.Errorf("created %v, then %v", own, again)
		}
		if got := c.ok("GetTaskPushNotificationConfig", at(object{"id": "mine"})); encode(t, got) != encode(t, again) {
			t.Errorf("got %v", got)
		}
		list := c.ok("ListTaskPushNotificationConfigs", at(object{}))
		if configs, _ := list["configs"].([]any); len(configs) != 3 || list["nextPageToken"] != "" {
			t.Errorf("list %v", list)
		}
		c.refused("GetTaskPushNotificationConfig", at(object{"id": "none"}), "TASK_NOT_FOUND")
		for _, e := range w.endpoints(id) {
			for range 2 {
				c.ok("DeleteTaskPushNotificationConfig", at(object{"id": e.ID}))
			}
		}
		if raw := string(c.call("ListTaskPushNotificationConfigs", at(object{})).raw); !strings.Contains(raw, `"configs":[]`) {
			t.Errorf("list %s", raw)
		}
		if strings.Contains(w.logged(), planted) {
			t.Error("a secret is in the log")
		}
	})
}

// What is stored: sealed secrets, who and where, and that deliveries begin behind what
// has happened already; with the submission, before anything has.
func TestWebhookIsStored(t *testing.T) {
	both(t, []func(*world){pushing}, func(w *world, c client) {
		t := w.t
		inline := c.ok("SendMessage", object{"message": message("m-1", "do it"), "configuration": object{"returnImmediately": true, "taskPushNotificationConfig": webhook("hook", "https://a.example/1")}})
		id := text(inline, "task.id")
		w.must(id, grant())
		c.ok("CreateTaskPushNotificationConfig", with(webhook("later", "https://a.example/2"), object{"taskId": id}))
		list := w.endpoints(id)
		if len(list) != 2 {
			t.Fatalf("%+v", list)
		}
		for i, after := range []uint64{0, 2} {
			e := list[i]
			if e.Delivery.Cursor != after || e.Delivery.Wanted != after || e.Agent != "first" || e.Base != w.server.URL || e.Principal == "" || e.Scheme != "Bearer" || e.Delivery.DueAt.IsZero() {
				t.Errorf("%+v", e)
			}
			if want := fmt.Sprintf("sealed for %s of %s: %d bytes", e.ID, id, 2*len(planted)); string(e.Secrets) != want {
				t.Errorf("secrets %q, want %q", e.Secrets, want)
			}
		}
	})
}

// A submission that is repeated registers nothing anew; a reply registers before it is
// committed, and repeated registers the same.
func TestWebhookComesWithAMessage(t *testing.T) {
	both(t, []func(*world){pushing}, func(w *world, c client) {
		t := w.t
		c = c.at("keyed")
		send := func(m object) answer {
			return c.call("SendMessage", object{"message": m, "configuration": object{"returnImmediately": true, "taskPushNotificationConfig": webhook("", "https://a.example/1")}})
		}
		id := text(send(message("m-1", "do it")).result, "task.id")
		send(message("m-1", "do it"))
		if n := len(w.endpoints(id)); n != 1 {
			t.Errorf("%d endpoints after a repeated submission", n)
		}
		w.must(id, grant(), pause(lifecycle.InputRequired, false))
		for range 2 {
			if a := send(replying(id, "m-2", "yes")); a.err != nil {
				t.Errorf("reply: %s", a.raw)
			}
		}
		list := w.endpoints(id)
		if len(list) != 2 || !slices.ContainsFunc(list, func(e ledger.Endpoint) bool { return e.Delivery.Cursor == 3 }) {
			t.Errorf("after the reply: %+v", list)
		}
	})
}

// Addresses that are not called, fields that are not what they should be, and more than
// there may be, are refused; nothing is registered, and no task begun.
func TestWebhookIsChecked(t *testing.T) {
	both(t, []func(*world){pushing}, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		for name, bad := range map[string]object{
			"no url":      {"url": ""},
			"http":        {"url": "http://a.example/"},
			"long url":    {"url": "https://a.example/" + strings.Repeat("x", ledger.MaxURLBytes)},
			"no scheme":   {"url": "https://a.example/", "authentication": object{"credentials": planted}},
			"long scheme": {"url": "https://a.example/", "authentication": object{"scheme": strings.Repeat("B", 65)}},
			"two words":   {"url": "https://a.example/", "authentication": object{"scheme": "Bearer x"}},
			"no word":     {"url": "https://a.example/", "authentication": object{"scheme": "Bearer:"}},
			"a space":     {"url": "https://a.example/", "token": "x "},
			"spaces":      {"url": "https://a.example/", "authentication": object{"scheme": "Bearer", "credentials": " " + planted}},
			"a header":    {"url": "https://a.example/", "token": "x\r\nHost: b"},
			"credentials": {"url": "https://a.example/", "authentication": object{"scheme": "Bearer", "credentials": "é"}},
			"no string":   {"url": 1},
		} {
			p := c.refused("CreateTaskPushNotificationConfig", with(bad, object{"taskId": id}), "INVALID_PARAMS")
			if len(p.fields) == 0 || strings.Contains(p.message, planted) {
				t.Errorf("%s: %+v", name, p)
			}
			c.refused("SendMessage", object{"message": message("m-2", "x"), "configuration": object{"taskPushNotificationConfig": bad}}, "INVALID_PARAMS")
		}
		if n := w.count(); n != 1 || len(w.endpoints(id)) != 0 {
			t.Errorf("%d tasks, %d endpoints", n, len(w.endpoints(id)))
		}
		for i := range ledger.MaxEndpoints {
			c.ok("CreateTaskPushNotificationConfig", with(webhook(fmt.Sprint(i), "https://a.example/"), object{"taskId": id}))
		}
		c.refused("CreateTaskPushNotificationConfig", with(webhook("", "https://a.example/"), object{"taskId": id}), "TOO_MANY_PUSH_NOTIFICATION_CONFIGS")
		c.ok("CreateTaskPushNotificationConfig", with(webhook("1", "https://b.example/"), object{"taskId": id})) // replaced, not added
	})
}

// Case 57: another tenant gets the same answer for a task that is there as for one that
// is not, from every operation on webhooks; so does another agent's address.
func TestWebhooksOfOthers(t *testing.T) {
	both(t, []func(*world){pushing}, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		c.ok("CreateTaskPushNotificationConfig", with(webhook("hook", "https://a.example/"), object{"taskId": id}))
		for _, other := range []client{c.with("Authorization", "Bearer elsewhere/me"), c.at("keyed")} {
			for operation, params := range map[string]object{
				"CreateTaskPushNotificationConfig": webhook("hook", "https://evil.example/"), "GetTaskPushNotificationConfig": {"id": "hook"},
				"ListTaskPushNotificationConfigs": {}, "DeleteTaskPushNotificationConfig": {"id": "hook"},
			} {
				ask := func(task string) string {
					a := other.call(operation, with(params, object{"taskId": task}))
					return strings.ReplaceAll(string(a.raw), task, "TASK")
				}
				if there, not := ask(id), ask(string(a2a.NewTaskID())); there != not || !strings.Contains(there, "TASK_NOT_FOUND") {
					t.Errorf("%s: %s\nfor a task that does not exist: %s", operation, there, not)
				}
			}
		}
		if list := w.endpoints(id); len(list) != 1 || list[0].URL != "https://a.example/" {
			t.Errorf("%+v", list)
		}
	})
}

// webhookRequest is a request of HTTP+JSON about webhooks: the task is in the path, and
// the configuration where it is not being made.
func (c client) webhookRequest(ctx context.Context, operation string, params object) *http.Request {
	c.t.Helper()
	path := "/tasks/" + url.PathEscape(fmt.Sprint(params["taskId"])) + "/pushNotificationConfigs"
	one := path + "/" + url.PathEscape(fmt.Sprint(params["id"]))
	switch operation {
	case "ListTaskPushNotificationConfigs":
		return c.raw(ctx, http.MethodGet, path, "")
	case "GetTaskPushNotificationConfig":
		return c.raw(ctx, http.MethodGet, one, "")
	case "DeleteTaskPushNotificationConfig":
		return c.raw(ctx, http.MethodDelete, one, "")
	}
	body := with(params, object{})
	delete(body, "taskId")
	return c.raw(ctx, http.MethodPost, path, encode(c.t, body))
}
