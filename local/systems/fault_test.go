package systems

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func (h *harness) faults(rules string) {
	h.Helper()
	h.want(http.StatusOK, "POST", "/faults", "", rules)
}

func TestFaultError(t *testing.T) {
	h := start(t)
	h.faults(`[{"op":"revoke","system":"*","nth":2,"times":1,"do":"error"}]`)
	h.want(http.StatusOK, "POST", "/systems/crm/revocations", "k1", rroeEditor)
	if got := h.want(http.StatusServiceUnavailable, "POST", "/systems/payroll/revocations", "k2", jdoeAdmin); !strings.Contains(got, "nothing was done") {
		t.Errorf("answer %s", got)
	}
	h.want(http.StatusNotFound, "GET", "/systems/payroll/revocations?key=k2", "", "")
	h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k2", jdoeAdmin)
	c := h.counters()
	if want := (totals{Revokes: 3, Applied: 2, Faults: 1}); c.Totals != want {
		t.Errorf("totals %+v, want %+v", c.Totals, want)
	}
}

// The client is one that would repeat these requests by itself on a connection
// that it had used before: it must not come to that.
func TestFaultDrop(t *testing.T) {
	h := start(t)
	h.want(http.StatusOK, "GET", "/systems", "", "")
	h.faults(`[{"op":"fetch","system":"payroll","nth":1,"do":"drop"},{"op":"revoke","system":"payroll","nth":1,"do":"drop"}]`)
	h.wantBroken("GET", "/systems/payroll/grants", "", "")
	h.wantBroken("POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
	h.want(http.StatusNotFound, "GET", "/systems/payroll/revocations?key=k1", "", "")
	c := h.counters()
	if want := (totals{Fetches: 1, Revokes: 1, Faults: 2}); c.Totals != want {
		t.Errorf("totals %+v, want %+v", c.Totals, want)
	}
}

func TestFaultActAndDrop(t *testing.T) {
	h := start(t)
	h.want(http.StatusOK, "GET", "/systems", "", "")
	h.faults(`[{"op":"revoke","system":"*","nth":1,"do":"act-and-drop"},{"op":"fetch","system":"*","nth":1,"do":"act-and-drop"}]`)
	h.wantBroken("POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
	h.wantBroken("GET", "/systems/payroll/grants", "", "")
	if got := h.counters().Revocations["payroll/jdoe/admin"]; got != (tally{Applied: 1}) {
		t.Errorf("tally %+v, want it applied once and never repeated", got)
	}
	h.want(http.StatusOK, "GET", "/systems/payroll/revocations?key=k1", "", "")
	h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
	if got := h.counters().Revocations["payroll/jdoe/admin"]; got != (tally{Applied: 1, Repeats: 1}) {
		t.Errorf("tally %+v after the repeat", got)
	}
}

func TestFaultDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New([]byte(sample))
		if err != nil {
			t.Fatal(err)
		}
		call := func(method, path, body string) (int, time.Duration) {
			began, rec := time.Now(), httptest.NewRecorder()
			s.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
			return rec.Code, time.Since(began)
		}
		call("POST", "/faults", `[{"op":"fetch","system":"crm","nth":2,"do":"delay","millis":1500}]`)
		for i, want := range []time.Duration{0, 1500 * time.Millisecond, 0} {
			if status, took := call("GET", "/systems/crm/grants", ""); status != http.StatusOK || took != want {
				t.Errorf("fetch %d: %d after %v, want 200 after %v", i+1, status, took, want)
			}
		}
	})
}

func TestFaultHold(t *testing.T) {
	h := start(t)
	h.faults(`[{"op":"fetch","system":"*","nth":2,"do":"hold"},{"op":"revoke","system":"crm","nth":1,"do":"hold"}]`)
	h.want(http.StatusOK, "GET", "/systems/payroll/grants", "", "")

	answers := make(chan string, 2)
	hold := func(method, path, key, body string) {
		status, got, err := h.try(t.Context(), method, path, key, body)
		answers <- fmt.Sprint(status, " ", strings.Contains(got, "crm"), " ", err)
	}
	go hold("GET", "/systems/crm/grants", "", "")
	h.await("the fetch is held", func(c counters) bool { return slices.Equal(c.Held, []string{"fetch crm"}) })
	go hold("POST", "/systems/crm/revocations", "k1", rroeEditor)
	h.await("both are held", func(c counters) bool {
		return slices.Equal(c.Held, []string{"fetch crm", "revoke crm/rroe/editor"})
	})
	if c := h.counters(); c.Fetches["crm"] != 1 || c.Totals.Applied != 0 {
		t.Errorf("while held: %+v; want the fetch counted and the revocation not applied", c)
	}
	h.want(http.StatusOK, "GET", "/systems/vpn/grants", "", "") // others are not held up
	h.want(http.StatusOK, "DELETE", "/faults", "", "")          // and this does not release
	if n := len(h.counters().Held); n != 2 {
		t.Errorf("%d held after the rules were cleared, want 2", n)
	}
	if got := h.want(http.StatusOK, "POST", "/release", "", ""); got != `{"released":2}`+"\n" {
		t.Errorf("release answered %s", got)
	}
	for range 2 {
		if got := <-answers; got != "200 true <nil>" {
			t.Errorf("a held request got %s", got)
		}
	}
	if c := h.counters(); len(c.Held) != 0 || c.Totals.Applied != 1 {
		t.Errorf("after the release: %+v", c)
	}
}

// A request on the wire outlives its client: it still acts, late.
func TestHeldRequestOutlivesItsClient(t *testing.T) {
	h := start(t)
	h.faults(`[{"op":"revoke","system":"*","nth":1,"do":"hold"}]`)
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, _, err := h.try(ctx, "POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
		gone <- err
	}()
	h.await("it is held", func(c counters) bool { return len(c.Held) == 1 })
	hangUp()
	if err := <-gone; err == nil {
		t.Fatal("the client got an answer")
	}
	if c := h.counters(); len(c.Held) != 1 || c.Totals.Applied != 0 {
		t.Errorf("after the client went: %+v; want it held still", c)
	}
	h.want(http.StatusOK, "POST", "/release", "", "")
	h.await("it acts", func(c counters) bool { return c.Totals.Applied == 1 })
}

func TestHeldRequestsAreBounded(t *testing.T) {
	h := start(t)
	h.server.mu.Lock()
	for range maxHeld {
		h.server.held = append(h.server.held, &held{released: make(chan struct{})})
	}
	h.server.mu.Unlock()
	h.faults(`[{"op":"fetch","system":"*","nth":1,"do":"hold"}]`)
	if got := h.want(http.StatusServiceUnavailable, "GET", "/systems/crm/grants", "", ""); !strings.Contains(got, `"too-many-held"`) {
		t.Errorf("answer %s", got)
	}
}

// TestRuleWindow says which requests of a row a rule meets.
func TestRuleWindow(t *testing.T) {
	for _, c := range []struct {
		rule rule
		want string // one letter for each of six fetches of alternating systems a and b
	}{
		{rule{Op: opFetch, System: "*", Nth: 1}, "x....."},
		{rule{Op: opFetch, System: "*", Nth: 3}, "..x..."},
		{rule{Op: opFetch, System: "*", Nth: 3, Times: 2}, "..xx.."},
		{rule{Op: opFetch, System: "*", Nth: 6, Times: 9}, ".....x"},
		{rule{Op: opFetch, System: "*", Nth: 0}, "xxxxxx"},
		{rule{Op: opFetch, System: "*", Nth: 0, Times: 4}, "xxxx.."},
		{rule{Op: opFetch, System: "b", Nth: 0}, ".x.x.x"},
		{rule{Op: opFetch, System: "b", Nth: 2}, "...x.."},
		{rule{Op: opRevoke, System: "*", Nth: 0}, "......"},
	} {
		f, got := fault{rule: c.rule}, ""
		for _, system := range []string{"a", "b", "a", "b", "a", "b"} {
			if f.meets(opFetch, system) {
				got += "x"
			} else {
				got += "."
			}
		}
		if got != c.want {
			t.Errorf("%+v meets %s, want %s", c.rule, got, c.want)
		}
	}
}

// All rules count a request; the first one that meets it acts.
func TestRulesTogether(t *testing.T) {
	h := start(t)
	h.faults(`[{"op":"revoke","system":"*","nth":2,"do":"error"}]`)
	h.faults(`[{"op":"revoke","system":"payroll","nth":2,"do":"drop"},{"op":"revoke","system":"*","nth":3,"do":"act-and-drop"}]`)
	h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k", jdoeAdmin)
	h.want(http.StatusServiceUnavailable, "POST", "/systems/payroll/revocations", "k", jdoeAdmin)
	h.wantBroken("POST", "/systems/payroll/revocations", "k", jdoeAdmin)
	h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k", jdoeAdmin)
	if want := (totals{Revokes: 4, Applied: 1, Repeats: 2, Faults: 2}); h.counters().Totals != want {
		t.Errorf("totals %+v, want %+v", h.counters().Totals, want)
	}
}

func TestFaultsCleared(t *testing.T) {
	h := start(t)
	h.faults(`[{"op":"fetch","system":"*","nth":0,"do":"error"}]`)
	h.want(http.StatusServiceUnavailable, "GET", "/systems/crm/grants", "", "")
	h.want(http.StatusOK, "DELETE", "/faults", "", "")
	h.want(http.StatusOK, "GET", "/systems/crm/grants", "", "")
}

func TestFaultRefusals(t *testing.T) {
	h := start(t)
	ok := `{"op":"fetch","system":"*","nth":0,"do":"error"}`
	for name, c := range map[string]struct{ body, wantInBody string }{
		"no list":        {ok, "cannot unmarshal object"},
		"null":           {`null`, "must be a list"},
		"unknown field":  {`[{"op":"fetch","system":"*","after":1,"do":"error"}]`, `unknown field \"after\"`},
		"unknown op":     {`[` + ok + `,{"op":"delete","system":"*","do":"error"}]`, `rule 2: op is \"delete\"`},
		"no system":      {`[{"op":"fetch","do":"error"}]`, "system is missing"},
		"long system":    {`[{"op":"fetch","system":"` + strings.Repeat("s", maxNameBytes+1) + `","do":"error"}]`, "longer than 128"},
		"negative nth":   {`[{"op":"fetch","system":"*","nth":-1,"do":"error"}]`, "nth is -1"},
		"negative times": {`[{"op":"fetch","system":"*","times":-1,"do":"error"}]`, "times is -1"},
		"unknown do":     {`[{"op":"fetch","system":"*","do":"explode"}]`, `do is \"explode\"`},
		"no millis":      {`[{"op":"fetch","system":"*","do":"delay"}]`, "millis is 0"},
		"long delay":     {`[{"op":"fetch","system":"*","do":"delay","millis":600001}]`, "1 to 600000"},
		"stray millis":   {`[{"op":"fetch","system":"*","do":"hold","millis":5}]`, "millis goes with"},
		"too many":       {`[` + strings.Repeat(ok+",", maxRules) + ok + `]`, "the limit is 100"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := h.want(http.StatusBadRequest, "POST", "/faults", "", c.body); !strings.Contains(got, c.wantInBody) {
				t.Errorf("got %s, want %q in it", got, c.wantInBody)
			}
		})
	}
	h.want(http.StatusOK, "GET", "/systems/crm/grants", "", "") // a refused list adds no rule
}
