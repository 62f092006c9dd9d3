package api_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.1.4, case 62: every field is there, and nothing is null.
func TestListEmpty(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		a := c.call("ListTasks", object{})
		const want = `{"tasks":[],"nextPageToken":"","pageSize":50,"totalSize":0}`
		if !strings.Contains(string(a.raw), want) {
			t.Errorf("%s, want %s", a.raw, want)
		}
	})
}

// Case 62: pageSize is 1 to 100 if it is there at all.
func TestListPageSize(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		for _, size := range []any{0, 101, -1, "x", 1.5, 1e12} {
			p := c.refused("ListTasks", object{"pageSize": size}, "INVALID_PARAMS")
			if !slices.Equal(p.fields, []string{"pageSize"}) {
				t.Errorf("pageSize %v: fields %v", size, p.fields)
			}
		}
		for _, size := range []int{1, 100} {
			if got := c.ok("ListTasks", object{"pageSize": size}); got["pageSize"] != float64(size) {
				t.Errorf("pageSize %v, want %d", got["pageSize"], size)
			}
		}
	})
}

// Case 61: tasks of the same millisecond, page by page, each once, in a stable
// order; totalSize stays what it was on the first page.
func TestListPages(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		var want []string
		for i := range 5 {
			want = append(want, c.submit(message(fmt.Sprintf("m-%d", i), "do it")))
		}
		slices.Sort(want)
		slices.Reverse(want) // same status time: by task ID, descending
		var got []string
		params := object{"pageSize": 2}
		for {
			page := c.ok("ListTasks", params)
			tasks, _ := page["tasks"].([]any)
			for _, task := range tasks {
				got = append(got, text(task, "id"))
			}
			if page["totalSize"] != 5.0 {
				t.Errorf("totalSize %v", page["totalSize"])
			}
			token := text(page, "nextPageToken")
			if token == "" {
				break
			}
			params["pageToken"] = token
			c.submit(message("m-late-"+token[:8], "do it")) // moves nothing that was listed
			w.clock.Advance(time.Second)
		}
		if !slices.Equal(got[:5], want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	})
}

// Case 61: the token is good with its own filters only, and nothing else is a token: not
// one in which something was changed, nor another deployment's.
func TestListTokens(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		for i := range 2 {
			c.submit(message(fmt.Sprintf("m-%d", i), "do it"))
		}
		token := text(c.ok("ListTasks", object{"pageSize": 1}), "nextPageToken")
		c.ok("ListTasks", object{"pageToken": token, "pageSize": 7, "includeArtifacts": true, "historyLength": 1})
		other := newWorld(w.t).client(w.t, c.rpc)
		for i := range 2 {
			other.submit(message(fmt.Sprintf("m-%d", i), "do it"))
		}
		elsewhere := text(other.ok("ListTasks", object{"pageSize": 1}), "nextPageToken")
		for what, params := range map[string]object{
			"another filter":  {"pageToken": token, "contextId": "c"},
			"another state":   {"pageToken": token, "status": "TASK_STATE_WORKING"},
			"no token":        {"pageToken": "x"},
			"no JSON":         {"pageToken": base64.RawURLEncoding.EncodeToString([]byte("{"))},
			"an empty object": {"pageToken": base64.RawURLEncoding.EncodeToString([]byte("{}"))},
			"a long one":      {"pageToken": strings.Repeat("A", 4096)},
			"cut short":       {"pageToken": token[:len(token)-2]},
			"another total":   {"pageToken": changed(t, token, `"n":2`, `"n":9`)},
			"without a code":  {"pageToken": base64.RawURLEncoding.EncodeToString(decoded(t, token)[16:])},
			"another's":       {"pageToken": elsewhere},
		} {
			p := c.call("ListTasks", params)
			if p.err == nil || p.err.reason != "INVALID_PARAMS" || !slices.Equal(p.err.fields, []string{"pageToken"}) {
				t.Errorf("%s: %.300s", what, p.raw)
			}
		}
		// Another tenant gains nothing by it: the filters name the tenant.
		c.with("Authorization", "Bearer elsewhere/me").refused("ListTasks", object{"pageToken": token}, "INVALID_PARAMS")
	})
}

func decoded(t *testing.T, token string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// changed is a token with something else in it.
func changed(t *testing.T, token, old, other string) string {
	t.Helper()
	b := decoded(t, token)
	if !bytes.Contains(b, []byte(old)) {
		t.Fatalf("no %s in %q", old, b)
	}
	return base64.RawURLEncoding.EncodeToString(bytes.Replace(b, []byte(old), []byte(other), 1))
}

// Filters, and the order by status time.
func TestListFilters(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		old := c.submit(with(message("m-1", "do it"), object{"contextId": "c-1"}))
		w.clock.Advance(time.Minute)
		done := c.submit(with(message("m-2", "do it"), object{"contextId": "c-1"}))
		w.must(done, grant(), chunk("report", "All is well.", false, true), complete())
		w.clock.Advance(time.Minute)
		other := c.submit(with(message("m-3", "do it"), object{"contextId": "c-2"}))
		w.clock.Advance(time.Minute)
		w.must(old, grant()) // its status is the latest now
		c.at("keyed").submit(message("m-4", "do it"))
		c.with("Authorization", "Bearer elsewhere/me").submit(message("m-5", "do it"))
		for _, tt := range []struct {
			params object
			want   []string
		}{
			{object{}, []string{old, other, done}},
			{object{"contextId": "c-1"}, []string{old, done}},
			{object{"contextId": "none"}, nil},
			{object{"status": "TASK_STATE_COMPLETED"}, []string{done}},
			{object{"status": "TASK_STATE_UNSPECIFIED"}, []string{old, other, done}},
			{object{"status": "TASK_STATE_WORKING", "contextId": "c-2"}, nil},
			{object{"statusTimestampAfter": "2026-03-01T10:02:00Z"}, []string{old, other}},
			{object{"statusTimestampAfter": "2026-03-01T12:02:00.001+02:00"}, []string{old}},
		} {
			page := c.ok("ListTasks", tt.params)
			var got []string
			tasks, _ := page["tasks"].([]any)
			for _, task := range tasks {
				got = append(got, text(task, "id"))
				if _, there := dig(task, "artifacts").([]any); there {
					t.Errorf("%v: artifacts are there", tt.params)
				}
			}
			if !slices.Equal(got, tt.want) || page["totalSize"] != float64(len(tt.want)) {
				t.Errorf("%v: %v (%v), want %v", tt.params, got, page["totalSize"], tt.want)
			}
		}
		// §3.1.4: with includeArtifacts the field is there, empty or not.
		raw := string(c.call("ListTasks", object{"includeArtifacts": true}).raw)
		if n, empty := strings.Count(raw, `"artifacts":[`), strings.Count(raw, `"artifacts":[]`); n != 3 || empty != 2 {
			t.Errorf("%d with artifacts, %d of them empty: %s", n, empty, raw)
		}
		for _, params := range []object{
			{"status": "TASK_STATE_RUNNING"}, {"status": "working"}, {"statusTimestampAfter": "yesterday"}, {"includeArtifacts": "maybe"},
		} {
			p := c.refused("ListTasks", params, "INVALID_PARAMS")
			for field := range params {
				if !slices.Equal(p.fields, []string{field}) {
					t.Errorf("%v: fields %v", params, p.fields)
				}
			}
		}
	})
}

// A listed task is whole: the status message and the sequence of GetTask.
func TestListedTaskIsTheTask(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant(), pause(lifecycle.InputRequired, true))
		listed := dig(c.ok("ListTasks", object{"historyLength": 100, "includeArtifacts": true}), "tasks.0")
		got := c.ok("GetTask", object{"id": id})
		got["artifacts"] = []any{}
		if a, b := encode(t, listed), encode(t, got); a != b {
			t.Errorf("listed\n%s\nGetTask\n%s", a, b)
		}
	})
}
