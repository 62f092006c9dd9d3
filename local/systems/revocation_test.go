package systems

import (
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

func TestRevokeOnceForAKey(t *testing.T) {
	h := start(t)
	first := h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
	if !strings.HasPrefix(first, `{"revocation":"rev-`) || !strings.Contains(first, `"applied":"payroll/jdoe/admin"`) {
		t.Errorf("answer %s", first)
	}
	if again := h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k1", jdoeAdmin); again != first {
		t.Errorf("the repeat got %s, the first %s", again, first)
	}
	if found := h.want(http.StatusOK, "GET", "/systems/payroll/revocations?key=k1", "", ""); found != first {
		t.Errorf("the lookup got %s, the first %s", found, first)
	}
	c := h.counters()
	if want := map[string]tally{"payroll/jdoe/admin": {1, 1}}; !reflect.DeepEqual(c.Revocations, want) {
		t.Errorf("revocations %v, want %v", c.Revocations, want)
	}
	if want := (totals{Revokes: 2, Applied: 1, Repeats: 1}); c.Totals != want {
		t.Errorf("totals %+v, want %+v", c.Totals, want)
	}
}

func TestRevokeUnderASecondKeyIsADuplicate(t *testing.T) {
	h := start(t)
	first := h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
	second := h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k2", jdoeAdmin)
	if first == second {
		t.Errorf("both got %s", first)
	}
	if want := (tally{Applied: 2}); h.counters().Revocations["payroll/jdoe/admin"] != want {
		t.Errorf("counters %+v, want %+v", h.counters(), want)
	}
}

func TestRevokeConflict(t *testing.T) {
	h := start(t)
	h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
	for path, body := range map[string]string{
		"/systems/payroll/revocations": `{"account":"jdoe","role":"viewer"}`,
		"/systems/crm/revocations":     jdoeAdmin,
	} {
		if got := h.want(http.StatusConflict, "POST", path, "k1", body); !strings.Contains(got, `"key-conflict"`) {
			t.Errorf("%s: %s", path, got)
		}
	}
	c := h.counters()
	if want := (totals{Revokes: 3, Applied: 1, Conflicts: 2}); c.Totals != want || len(c.Revocations) != 1 {
		t.Errorf("counters %+v, want totals %+v", c, want)
	}
}

// A user's own file may name systems that this server does not have.
func TestRevokeInAnUnknownSystem(t *testing.T) {
	h := start(t)
	got := h.want(http.StatusOK, "POST", "/systems/a%2Fb/revocations", "k1", `{"account":"c/d","role":"100%"}`)
	if !strings.Contains(got, `"applied":"a%2Fb/c%2Fd/100%25"`) {
		t.Errorf("answer %s", got)
	}
	h.want(http.StatusOK, "GET", "/systems/a%2Fb/revocations?key=k1", "", "")
}

func TestRevocationIDsAreTheSameForTheSameReview(t *testing.T) {
	one, two := start(t), start(t)
	a := one.want(http.StatusOK, "POST", "/systems/crm/revocations", "task-1", rroeEditor)
	two.want(http.StatusOK, "POST", "/systems/payroll/revocations", "task-2a", jdoeAdmin)
	if b := two.want(http.StatusOK, "POST", "/systems/crm/revocations", "task-2b", rroeEditor); a != b {
		t.Errorf("one server answered %s, another %s", a, b)
	}
}

func TestLookupOfAnUnknownKey(t *testing.T) {
	h := start(t)
	h.want(http.StatusOK, "POST", "/systems/payroll/revocations", "k1", jdoeAdmin)
	h.want(http.StatusNotFound, "GET", "/systems/payroll/revocations?key=k2", "", "")
	h.want(http.StatusNotFound, "GET", "/systems/crm/revocations?key=k1", "", "")
	h.want(http.StatusBadRequest, "GET", "/systems/payroll/revocations", "", "")
}

func TestRevokeRefusals(t *testing.T) {
	h := start(t)
	long := strings.Repeat("x", maxNameBytes+1)
	for name, c := range map[string]struct {
		status     int
		key, body  string
		wantInBody string
	}{
		"no key":             {400, "", jdoeAdmin, "header Idempotency-Key"},
		"long key":           {400, strings.Repeat("k", maxKeyBytes+1), jdoeAdmin, "1 to 256 bytes"},
		"no account":         {400, "k", `{"role":"admin"}`, "account must have"},
		"long role":          {400, "k", `{"account":"a","role":"` + long + `"}`, "role must have"},
		"unknown field":      {400, "k", `{"account":"a","role":"b","force":true}`, `unknown field \"force\"`},
		"wrong type":         {400, "k", `{"account":7,"role":"b"}`, "cannot unmarshal number"},
		"malformed":          {400, "k", `{"account":`, "unexpected EOF"},
		"nothing":            {400, "k", ``, "EOF"},
		"two values":         {400, "k", jdoeAdmin + jdoeAdmin, "more than one value"},
		"something after it": {400, "k", jdoeAdmin + "]", "invalid character"},
		"too large":          {413, "k", `{"account":"` + strings.Repeat("x", maxBodyBytes) + `"}`, "larger than 65536 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := h.want(c.status, "POST", "/systems/payroll/revocations", c.key, c.body)
			if !strings.Contains(got, c.wantInBody) {
				t.Errorf("got %s, want %q in it", got, c.wantInBody)
			}
		})
	}
	if c := h.counters(); c.Totals != (totals{}) {
		t.Errorf("refused requests were counted: %+v", c.Totals)
	}
}

func TestRevocationsAreBounded(t *testing.T) {
	h := start(t)
	h.server.mu.Lock()
	for i := range maxRevocations {
		h.server.byKey[strconv.Itoa(i)] = revocation{}
	}
	h.server.mu.Unlock()
	h.want(http.StatusInsufficientStorage, "POST", "/systems/payroll/revocations", "one-more", jdoeAdmin)
}
