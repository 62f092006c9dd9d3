package integration_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The console in the compiled API function, behind API Gateway's front: its page is for
// everybody and its routes are for operators, one finds a task and cancels it, and the
// task's table has who it was.
func TestConsole(t *testing.T) {
	t.Parallel()
	sum := func(key string) string { b := sha256.Sum256([]byte(key)); return hex.EncodeToString(b[:]) }
	const reader, operator = "reader-0123456789abcdefghijklmnopqrst", "operator-0123456789abcdefghijklmnopqr"
	s := newStack(t, plan{env: []string{fmt.Sprintf(`HOLDFAST_API_KEYS=[{"tenant":%q,"name":"tests","sha256":%q},{"tenant":%q,"name":"reader","sha256":%q,"scopes":["operator:read"]},`+
		`{"tenant":%q,"name":"night","sha256":%q,"scopes":["operator:read","operator:act"]},{"tenant":%q,"name":"night","sha256":%q,"scopes":["operator:read","operator:act"]}]`,
		tenant, sum(apiKey), tenant, sum(reader), tenant, sum(operator), stranger, sum(strangerKey))}})
	for path, want := range map[string]string{"/console": "<!doctype html>", "/console/app.js": "import ", "/console/page.css": ":root"} {
		a, err := call(t.Context(), http.MethodGet, s.url+path, "")
		if err != nil || a.status != http.StatusOK || !strings.Contains(string(a.body), want) {
			t.Errorf("%s: %s, %v", path, a, err)
		}
	}
	h, err := newHolder(t, s.auth)
	if err == nil {
		err = h.report(t.Context(), lifecycle.Report{Verb: lifecycle.VerbPause, Next: "greet", Message: says("May I?"), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}})
	}
	if err != nil {
		t.Fatal(err)
	}
	ref := h.task.Ref()
	address := s.url + "/console/api/tasks"
	for key, want := range map[string]int{"": http.StatusUnauthorized, apiKey: http.StatusForbidden, reader: http.StatusOK} {
		if a, err := call(t.Context(), http.MethodGet, address, "", "Authorization", "Bearer "+key); err != nil || a.status != want {
			t.Errorf("the list, with the key %q: %s, %v; want %d", key, a, err, want)
		}
	}
	var list struct {
		Rows []struct{ Task, State string }
	}
	if err := ask(t.Context(), &list, http.MethodGet, address+"?state=input-required", "", "Authorization", "Bearer "+reader); err != nil || len(list.Rows) != 1 || list.Rows[0].Task != string(ref.Task) {
		t.Fatalf("%+v, %v", list, err)
	}
	cancel := address + "/" + string(ref.Task) + "/cancel"
	for key, want := range map[string]int{reader: http.StatusForbidden, strangerKey: http.StatusNotFound, operator: http.StatusOK} {
		if a, err := call(t.Context(), http.MethodPost, cancel, `{"note":"nobody answers"}`, "Authorization", "Bearer "+key, "Content-Type", "application/json"); err != nil || a.status != want {
			t.Errorf("a cancellation, with the key %q: %s, %v; want %d", key, a, err, want)
		}
	}
	s.reaches(ref, lifecycle.Canceled)
	acts, err := s.ledger.Acts(t.Context(), ref)
	if err != nil || len(acts) != 1 || acts[0].By != "key:night" || acts[0].Action != ledger.ActionCancel || acts[0].Detail != "nobody answers" {
		t.Errorf("on record is %+v, %v", acts, err)
	}
}
