package systems

// The server is real and is spoken to over real connections (synctest needs a
// recorder instead, in one test). One client is shared and keeps connections
// alive if it may, as a caller's would. Nothing waits for time: a held request
// is waited for by reading the counters.

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

const sample = `system,owner,account,person,status,role,entitled_role,granted_on,last_used_on
payroll,Ingrid,jdoe,"Doe, Jane",active,admin,viewer,2024-01-02,2026-09-30
payroll,Ingrid,jdoe,"Doe, Jane",active,viewer,viewer,2024-01-02,
crm,Amara,rroe,Rob Roe,left,editor,editor,2023-05-06,2026-08-01
vpn,Farah,rroe,Rob Roe,left,viewer,viewer,2023-05-06,
`

// harness is a running server and a client of it.
type harness struct {
	*testing.T
	server *Server
	url    string
	client *http.Client
}

func start(t *testing.T) *harness {
	t.Helper()
	s, err := New([]byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	ts := httptest.NewServer(s)
	t.Cleanup(func() { s.Release(); ts.Close() }) // a held request would keep Close waiting
	return &harness{T: t, server: s, url: ts.URL, client: ts.Client()}
}

// try sends a request and returns its status and body, or the error of the connection.
func (h *harness) try(ctx context.Context, method, path, key, body string) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, method, h.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(got), err
}

// want sends a request and demands a status; it returns the body.
func (h *harness) want(status int, method, path, key, body string) string {
	h.Helper()
	got, answer, err := h.try(h.Context(), method, path, key, body)
	if err != nil {
		h.Fatalf("%s %s: %v", method, path, err)
	}
	if got != status {
		h.Fatalf("%s %s: %d %s, want %d", method, path, got, answer, status)
	}
	return answer
}

// wantBroken sends a request and demands a connection that breaks.
func (h *harness) wantBroken(method, path, key, body string) {
	h.Helper()
	if got, answer, err := h.try(h.Context(), method, path, key, body); err == nil {
		h.Fatalf("%s %s: %d %s, want a broken connection", method, path, got, answer)
	}
}

func (h *harness) counters() counters {
	h.Helper()
	var c counters
	if err := json.Unmarshal([]byte(h.want(http.StatusOK, "GET", "/counters", "", "")), &c); err != nil {
		h.Fatal(err)
	}
	return c
}

// await reads the counters until they satisfy the condition.
func (h *harness) await(what string, holds func(counters) bool) {
	h.Helper()
	giveUp := time.Now().Add(20 * time.Second)
	for !holds(h.counters()) {
		if time.Now().After(giveUp) {
			h.Fatalf("never seen: %s; counters %+v", what, h.counters())
		}
	}
}

const (
	jdoeAdmin  = `{"account":"jdoe","role":"admin"}`
	rroeEditor = `{"account":"rroe","role":"editor"}`
)

func TestListSystems(t *testing.T) {
	h := start(t)
	got := h.want(http.StatusOK, "GET", "/systems", "", "")
	want := `{"systems":[{"name":"payroll","owner":"Ingrid","grants":2},` +
		`{"name":"crm","owner":"Amara","grants":1},{"name":"vpn","owner":"Farah","grants":1}]}` + "\n"
	if got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestFetchGrants(t *testing.T) {
	h := start(t)
	got := h.want(http.StatusOK, "GET", "/systems/payroll/grants", "", "")
	want := `{"system":"payroll","owner":"Ingrid","grants":[` +
		`{"account":"jdoe","person":"Doe, Jane","status":"active","role":"admin","entitledRole":"viewer","grantedOn":"2024-01-02","lastUsedOn":"2026-09-30"},` +
		`{"account":"jdoe","person":"Doe, Jane","status":"active","role":"viewer","entitledRole":"viewer","grantedOn":"2024-01-02","lastUsedOn":""}]}` + "\n"
	if got != want {
		t.Errorf("got %s want %s", got, want)
	}
	h.want(http.StatusOK, "GET", "/systems/payroll/grants", "", "")
	h.want(http.StatusOK, "GET", "/systems/crm/grants", "", "")
	if body := h.want(http.StatusNotFound, "GET", "/systems/nowhere/grants", "", ""); !strings.Contains(body, `"unknown-system"`) {
		t.Errorf("body %s", body)
	}
	c := h.counters()
	if want := map[string]int{"payroll": 2, "crm": 1}; !maps.Equal(c.Fetches, want) || c.Totals.Fetches != 3 {
		t.Errorf("fetches %v, total %d; want %v", c.Fetches, c.Totals.Fetches, want)
	}
}

func TestCountersOfANewServer(t *testing.T) {
	h := start(t)
	want := `{"fetches":{},"revocations":{},"totals":{"fetches":0,"revokes":0,"applied":0,"repeats":0,"conflicts":0,"faults":0},"held":[]}` + "\n"
	if got := h.want(http.StatusOK, "GET", "/counters", "", ""); got != want {
		t.Errorf("got %s want %s", got, want)
	}
}

func TestUnknownResource(t *testing.T) {
	h := start(t)
	for _, path := range []string{"/", "/systems/payroll", "/counter"} {
		if body := h.want(http.StatusNotFound, "GET", path, "", ""); !strings.Contains(body, `"unknown-resource"`) {
			t.Errorf("%s: %s", path, body)
		}
	}
	h.want(http.StatusNotFound, "PUT", "/faults", "", "[]")
}

// TestShippedFile serves the data set that ships; system 23 is the one that
// the demo interrupts.
func TestShippedFile(t *testing.T) {
	file, err := os.ReadFile("../../events/accessreview/grants.csv")
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.systems); n != 40 {
		t.Errorf("%d systems, want 40", n)
	}
	if got := s.systems[22].Name; got != "secrets-vault" {
		t.Errorf("system 23 is %s", got)
	}
}

// TestConcurrentUse is for the race detector: one key many times and many keys
// of one grant, among fetches and rules that come and go.
func TestConcurrentUse(t *testing.T) {
	h := start(t)
	var wg sync.WaitGroup
	const callers = 8
	for i := range callers {
		wg.Go(func() {
			own := "own-" + string(rune('a'+i))
			for _, call := range [][4]string{
				{"POST", "/systems/payroll/revocations", "shared", jdoeAdmin},
				{"POST", "/systems/crm/revocations", own, rroeEditor},
				{"GET", "/systems/vpn/grants", "", ""},
				{"POST", "/faults", "", `[{"op":"fetch","system":"crm","nth":1,"times":1,"do":"error"}]`},
				{"DELETE", "/faults", "", ""},
				{"POST", "/release", "", ""},
				{"GET", "/counters", "", ""},
			} {
				if status, body, err := h.try(t.Context(), call[0], call[1], call[2], call[3]); err != nil || status != http.StatusOK {
					t.Errorf("%v: %d %s %v", call, status, body, err)
				}
			}
		})
	}
	wg.Wait()
	got := h.counters()
	want := map[string]tally{"payroll/jdoe/admin": {1, callers - 1}, "crm/rroe/editor": {callers, 0}}
	if !reflect.DeepEqual(got.Revocations, want) || got.Fetches["vpn"] != callers {
		t.Errorf("counters %+v, want revocations %v and %d fetches of vpn", got, want, callers)
	}
}
