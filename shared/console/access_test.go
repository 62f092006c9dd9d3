package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// every is a request for each route: reads, then acts.
func every(id string) (reads, acts map[string]string) {
	task := "/console/api/tasks/" + id
	return map[string]string{
			"/console/api/session": "", "/console/api/overview": "", "/console/api/health": "", "/console/api/count": "", "/console/api/tasks": "",
			task: "", task + "/entries": "", task + "/check": "", task + "/connections": "", task + "/quarantine/1": "",
		}, map[string]string{
			task + "/cancel": `{"note":""}`, task + "/answer": `{"pause":1,"text":"x"}`, task + "/resume": `{"note":"","generation":1}`, task + "/replay": `{"endpoint":"hook","since":0}`,
			task + "/settle": `{"visit":1,"name":"pay","revision":2,"done":false,"note":"x"}`, task + "/export": `{}`,
		}
}

// TestScopes: reading and acting are apart, and whoever is nobody does neither.
func TestScopes(t *testing.T) {
	w := newWorld(t)
	task, _ := w.held()
	reads, acts := every(string(task.Task))
	before := len(w.entries(task))
	for path := range reads {
		for token, want := range map[string]int{"": 401, tenant + "/x/caller": 403, tenant + "/x/producer": 403, tenant + "/x/operator:act": 403} {
			a := w.ask(http.MethodGet, path, "", func(r *http.Request) {
				if r.Header.Del("Authorization"); token != "" {
					r.Header.Set("Authorization", "Bearer "+token)
				}
			})
			if a.status != want || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s as %q: %d %s", path, token, a.status, a.raw)
			}
			if want == http.StatusUnauthorized && a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: nobody is told what to bring", path)
			}
		}
		if a := w.ask(http.MethodPost, path, `{}`); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != http.MethodGet {
			t.Errorf("posted to %s: %d, allowed is %q", path, a.status, a.header.Get("Allow"))
		}
	}
	for path, body := range acts {
		for token, want := range map[string]int{tenant + "/x/caller": 403, tenant + "/x/operator:read": 403} {
			if strings.HasSuffix(path, "/export") && want == 403 && strings.HasSuffix(token, "read") {
				continue // what is exported can be read
			}
			if a := w.ask(http.MethodPost, path, body, as(token)); a.status != want {
				t.Errorf("%s as %s: %d %s", path, token, a.status, a.raw)
			}
		}
		if a := w.ask(http.MethodGet, path, ""); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != http.MethodPost {
			t.Errorf("got %s: %d, allowed is %q", path, a.status, a.header.Get("Allow"))
		}
	}
	if len(w.acts(task)) > 0 || len(w.entries(task)) != before {
		t.Errorf("somebody who may not has left %+v", w.acts(task))
	}
}

// TestOtherSites: a page of another site cannot act with an operator's browser, whatever it
// brings.
func TestOtherSites(t *testing.T) {
	w := newWorld(t)
	task, _ := w.held()
	_, acts := every(string(task.Task))
	for path, body := range acts {
		for name, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
			if a := w.ask(http.MethodPost, path, body, with(name, value)); a.status != http.StatusForbidden || a.problem(w).Reason != "CROSS_ORIGIN" {
				t.Errorf("%s with %s: %d %s", path, name, a.status, a.raw)
			}
		}
	}
	if got := w.acts(task); len(got) > 0 {
		t.Errorf("on record are %+v", got)
	}
	own := []func(*http.Request){with("Sec-Fetch-Site", "same-origin"), with("Origin", "http://127.0.0.1:8080")}
	if a := w.ask(http.MethodPost, "/console/api/tasks/"+string(task.Task)+"/cancel", `{"note":""}`, own...); a.status != http.StatusOK {
		t.Errorf("from our own page: %d %s", a.status, a.raw)
	}
}

// TestTenants: an operator of another tenant is told of a task what they are told of one
// that does not exist (I10).
func TestTenants(t *testing.T) {
	w := newWorld(t)
	task, _ := w.held()
	w.ok(w.memory.PutEndpoint(t.Context(), task.Ref(), ledger.Endpoint{ID: "hook", URL: "https://example.com/", Agent: "desk", Principal: "p"}))
	reads, acts := every(string(task.Task))
	noReads, noActs := every("00000000-0000-7000-8000-000000000000")
	stranger := as("other/night")
	compare := func(method string, paths, none map[string]string) {
		for path, body := range paths {
			if !strings.Contains(path, string(task.Task)) {
				continue
			}
			suffix := path[strings.Index(path, string(task.Task))+len(task.Task):]
			for unknown := range none {
				if !strings.HasSuffix(unknown, "8000-000000000000"+suffix) {
					continue
				}
				a, b := w.ask(method, path, body, stranger), w.ask(method, unknown, body, stranger)
				if a.status != http.StatusNotFound || a.status != b.status || string(a.raw) != string(b.raw) {
					t.Errorf("%s: %d %s; of an unknown task %d %s", path, a.status, a.raw, b.status, b.raw)
				}
			}
		}
	}
	compare(http.MethodGet, reads, noReads)
	compare(http.MethodPost, acts, noActs)
	if got := w.acts(task); len(got) > 0 {
		t.Errorf("a stranger is on record: %+v", got)
	}
	for _, path := range []string{"tasks", "overview", "count"} {
		if a := w.ask(http.MethodGet, "/console/api/"+path, "", stranger); a.status != http.StatusOK || strings.Contains(string(a.raw), string(task.Task)) || strings.Contains(string(a.raw), `"live":1`) || strings.Contains(string(a.raw), `"total":1`) {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	// What has expired is hidden from its own operators too.
	gone := w.do(w.submit(), granted(1), ends(lifecycle.VerbComplete))
	w.clock.Advance(lifecycle.DefaultRetention)
	if a := w.ask(http.MethodGet, "/console/api/tasks/"+string(gone.Task), ""); a.status != http.StatusNotFound {
		t.Errorf("an expired task: %d", a.status)
	}
}
