package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// alike is a document without what no two tasks share.
func alike(t *testing.T, v any) string {
	t.Helper()
	var strip func(any)
	strip = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, item := range v {
				strip(item)
			}
		case object:
			for _, own := range []string{"id", "taskId", "contextId", "messageId", "timestamp", "metadata"} {
				delete(v, own)
			}
			for _, inner := range v {
				strip(inner)
			}
		}
	}
	strip(v)
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func encoded(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// §5.1: the bindings offer the same operations, with the same results: of one task
// byte by byte, of two tasks but for their identifiers and times.
func TestBindingsAgree(t *testing.T) {
	rpc, rest := served(t, Tester)
	for _, s := range quick() {
		a, b := rpc.ok("SendMessage", message(s.prefix)), rest.ok("SendMessage", message(s.prefix))
		id, other := at(a, "task", "id"), at(b, "task", "id")
		if a, b := alike(t, a), alike(t, b); a != b {
			t.Errorf("%s, SendMessage:\n%s\n%s", s.prefix, a, b)
		}
		for _, id := range []any{id, other} {
			for _, params := range []object{{"id": id}, {"id": id, "historyLength": 0}} {
				if a, b := encoded(t, rpc.ok("GetTask", params)), encoded(t, rest.ok("GetTask", params)); a != b {
					t.Errorf("%s, GetTask:\n%s\n%s", s.prefix, a, b)
				}
			}
		}
		x, y := rpc.stream("SendStreamingMessage", message(s.prefix)), rest.stream("SendStreamingMessage", message(s.prefix))
		last, _ := x[len(x)-1]["statusUpdate"].(object)
		if state := fmt.Sprint(at(last, "status", "state")); !slices.Contains([]string{"TASK_STATE_COMPLETED", "TASK_STATE_REJECTED", "TASK_STATE_INPUT_REQUIRED"}, state) {
			t.Errorf("%s: the stream ends in %s", s.prefix, state)
		}
		if x[0]["task"] == nil {
			t.Errorf("%s: the stream begins with %v", s.prefix, x[0])
		}
		if a, b := alike(t, events(x)), alike(t, events(y)); a != b {
			t.Errorf("%s, SendStreamingMessage:\n%s\n%s", s.prefix, a, b)
		}
	}
	for _, params := range []object{{}, {"pageSize": 3}, {"status": "TASK_STATE_COMPLETED", "includeArtifacts": true, "historyLength": 1}} {
		if a, b := encoded(t, rpc.ok("ListTasks", params)), encoded(t, rest.ok("ListTasks", params)); a != b {
			t.Errorf("ListTasks %v:\n%s\n%s", params, a, b)
		}
	}
	paused := func(c caller) any { return at(c.ok("SendMessage", message("tck-input-required")), "task", "id") }
	// A task of the one binding is a task of the other.
	a, b := rpc.ok("CancelTask", object{"id": paused(rest)}), rest.ok("CancelTask", object{"id": paused(rpc)})
	if a, b := alike(t, a), alike(t, b); a != b || !strings.Contains(a, "TASK_STATE_CANCELED") {
		t.Errorf("CancelTask:\n%s\n%s", a, b)
	}
}

func events(list []object) []any {
	var out []any
	for _, e := range list {
		out = append(out, e)
	}
	return out
}

// §3.3.2, §5.1, §9.5, §11.6: the same mistake is the same error in both bindings,
// each detail of it typed, with an ErrorInfo among them.
func TestErrorsAgree(t *testing.T) {
	rpc, rest := served(t, Tester)
	done := at(rpc.ok("SendMessage", message("tck-complete-task")), "task", "id")
	waiting := at(rpc.ok("SendMessage", message("tck-input-required")), "task", "id")
	for _, tt := range []struct {
		operation string
		params    object
		reason    string
		code      int
		status    int
	}{
		{"GetTask", object{"id": "none"}, "TASK_NOT_FOUND", -32001, 404},
		{"CancelTask", object{"id": "none"}, "TASK_NOT_FOUND", -32001, 404},
		{"SubscribeToTask", object{"id": "none"}, "TASK_NOT_FOUND", -32001, 404},
		{"SendMessage", message("m-1", "taskId", "none"), "TASK_NOT_FOUND", -32001, 404},
		{"CancelTask", object{"id": done}, "TASK_NOT_CANCELABLE", -32002, 400},
		{"SubscribeToTask", object{"id": done}, "UNSUPPORTED_OPERATION", -32004, 400},
		{"SendMessage", message("m-2", "taskId", done.(string)), "UNSUPPORTED_OPERATION", -32004, 400},
		{"SendStreamingMessage", message("m-3", "taskId", waiting.(string), "contextId", "another"), "INVALID_PARAMS", -32602, 400},
		{"SendMessage", object{"message": object{"messageId": "m-4"}}, "INVALID_PARAMS", -32602, 400},
		{"ListTasks", object{"pageSize": 1000}, "INVALID_PARAMS", -32602, 400},
	} {
		for _, c := range []caller{rpc, rest} {
			r := c.call(tt.operation, tt.params)
			code, list := tt.status, "details"
			if c.rpc {
				code, list = tt.code, "data"
			}
			if r.fault["code"] != float64(code) || r.fault["message"] == "" || r.status != map[bool]int{true: http.StatusOK, false: tt.status}[c.rpc] {
				t.Errorf("%s %v: status %d, %v, want %d", tt.operation, tt.params, r.status, r.fault, code)
			}
			details, _ := r.fault[list].([]any)
			found := false
			for _, d := range details {
				kind, _ := at(d, "@type").(string)
				found = found || kind == "type.googleapis.com/google.rpc.ErrorInfo" && at(d, "reason") == tt.reason
				if kind == "" {
					t.Errorf("%s %v: a detail without @type: %v", tt.operation, tt.params, d)
				}
			}
			if !found {
				t.Errorf("%s %v: no ErrorInfo with %s in %v", tt.operation, tt.params, tt.reason, details)
			}
		}
	}
}

// The kit's way to write tests: one messageId again and again is a new task each
// time, for the messageId is no key of this agent (§3.4.2).
func TestSameMessageIDNewTask(t *testing.T) {
	rpc, rest := served(t, Tester)
	seen := map[any]bool{}
	for range 3 {
		for _, c := range []caller{rpc, rest} {
			seen[at(c.ok("SendMessage", message("tck-complete-task")), "task", "id")] = true
		}
	}
	if len(seen) != 6 || seen[nil] {
		t.Errorf("%d tasks of 6 messages", len(seen))
	}
}

// A reply chooses the next scene.
func TestReplyIsPlayed(t *testing.T) {
	rpc, rest := served(t, Tester)
	for _, c := range []caller{rpc, rest} {
		id, _ := at(c.ok("SendMessage", message("tck-input-required-1")), "task", "id").(string)
		again := c.ok("SendMessage", message("tck-input-required-2", "taskId", id))
		if state := at(again, "task", "status", "state"); state != "TASK_STATE_INPUT_REQUIRED" {
			t.Errorf("state %v", state)
		}
		done := c.ok("SendMessage", message("tck-complete-task", "taskId", id))
		if state := at(done, "task", "status", "state"); state != "TASK_STATE_COMPLETED" || at(done, "task", "id") != id {
			t.Errorf("%v", done)
		}
	}
}
