package accessreview

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// serve answers every request with a handler. Both kinds of errors below matter:
// whether something may have been done, and whether a repetition can help.
func serve(t *testing.T, handler http.HandlerFunc) HTTP {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return HTTP{BaseURL: server.URL}
}

func TestHTTPRequests(t *testing.T) {
	var got []string
	h := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, strings.TrimSpace(strings.Join([]string{r.Method, r.URL.EscapedPath(), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), string(body)}, " ")))
		switch {
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `{"revocation":"rev-1","applied":"a/b/c"}`)
		case r.URL.Path == "/systems":
			fmt.Fprint(w, `{"systems":[{"name":"crm","owner":"Olga","grants":2},{"name":"a/b","owner":"Omar","grants":0}]}`)
		default:
			fmt.Fprint(w, `{"system":"a/b","owner":"Omar","grants":[{"account":"ann","person":"Ann","status":"active","role":"viewer","entitledRole":"editor","grantedOn":"2026-01-01","lastUsedOn":""}]}`)
		}
	})
	ctx := t.Context()
	systems, err := h.List(ctx)
	if err != nil || len(systems) != 2 || systems[1] != (System{"a/b", "Omar"}) {
		t.Errorf("systems %v, error %v", systems, err)
	}
	grants, err := h.Grants(ctx, "a/b")
	want := Grant{Account: "ann", Person: "Ann", Status: "active", Role: "viewer", EntitledRole: "editor", GrantedOn: "2026-01-01"}
	if err != nil || len(grants) != 1 || grants[0] != want {
		t.Errorf("grants %v, error %v", grants, err)
	}
	id, err := h.Revoke(ctx, "task:9:revoke-1", Revocation{System: "a/b", Account: "ann", Role: "viewer"})
	if err != nil || id != "rev-1" {
		t.Errorf("revocation %q, error %v", id, err)
	}
	wantRequests := []string{
		"GET /systems",
		"GET /systems/a%2Fb/grants",
		`POST /systems/a%2Fb/revocations task:9:revoke-1 application/json {"account":"ann","role":"viewer"}`,
	}
	for i, want := range wantRequests {
		if i >= len(got) || strings.Join(strings.Fields(got[i]), " ") != want {
			t.Errorf("requests %q, want %q", got, wantRequests)
			break
		}
	}
}

func TestHTTPErrors(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, `{"error":{"code":"fault","message":"told to fail"}}`)
		}
	}
	text := func(s string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
	}
	for _, c := range []struct {
		name               string
		handler            http.HandlerFunc
		permanent, notDone bool
		want               string
	}{
		{"400", status(http.StatusBadRequest), true, true, "status 400, fault: told to fail"},
		{"409, the key is another's", status(http.StatusConflict), true, true, "status 409, fault: told to fail"},
		{"404", status(http.StatusNotFound), true, true, "status 404"},
		{"302 is not followed", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, true, true, "status 302"},
		{"408", status(http.StatusRequestTimeout), false, true, "status 408"},
		{"429", status(http.StatusTooManyRequests), false, true, "status 429"},
		{"503", status(http.StatusServiceUnavailable), false, true, "status 503, fault: told to fail"},
		{"500", status(http.StatusInternalServerError), false, false, "status 500"},
		{"502", status(http.StatusBadGateway), false, false, "status 502"},
		{"broken connection", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, false, "EOF"},
		{"broken answer", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, `{"revo`)
		}, false, false, "the answer broke off"},
		{"no JSON", text("<html>"), false, false, "the answer is not what was expected"},
		{"no revocation", text("{}"), false, false, "the answer names no revocation"},
		{"an endless answer", text(strings.Repeat(" ", maxAnswerBytes+1)), true, false, "the answer is larger than"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := serve(t, c.handler)
			_, err := h.Revoke(t.Context(), "key", Revocation{System: "crm", Account: "ann", Role: "viewer"})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "revoke a grant in crm") {
				t.Errorf("error %v, want it to say %q and what was tried", err, c.want)
			}
			if agent.IsPermanent(err) != c.permanent || agent.IsNotDone(err) != c.notDone {
				t.Errorf("error %v: permanent %v, not done %v; want %v, %v", err, agent.IsPermanent(err), agent.IsNotDone(err), c.permanent, c.notDone)
			}
		})
	}
}

func TestHTTPRefusedConnectionDidNothing(t *testing.T) {
	server := httptest.NewServer(nil)
	address := server.URL
	server.Close()
	_, err := HTTP{BaseURL: address}.Revoke(t.Context(), "key", Revocation{System: "crm", Account: "ann", Role: "viewer"})
	if !agent.IsNotDone(err) || agent.IsPermanent(err) {
		t.Errorf("error %v, want one that says that nothing was done and can be tried again", err)
	}
	if strings.Contains(err.Error(), "/systems/crm") {
		t.Errorf("error %v tells the address of the request", err)
	}
	if _, err := (HTTP{BaseURL: "::"}).List(t.Context()); !agent.IsPermanent(err) {
		t.Errorf("error %v of an address that is none, want a permanent one", err)
	}
}

func TestHTTPUnknownSystem(t *testing.T) {
	h := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) })
	if _, err := h.Grants(t.Context(), "crm"); !errors.Is(err, ErrUnknownSystem) {
		t.Errorf("error %v, want ErrUnknownSystem", err)
	}
	h = serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	if _, err := h.Grants(t.Context(), "crm"); !agent.IsPermanent(err) || errors.Is(err, ErrUnknownSystem) {
		t.Errorf("error %v, want a permanent one", err)
	}
}
