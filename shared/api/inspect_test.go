package api_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The ledger's own address: entries with fence and holder after a cursor, also of
// finished tasks (case 35: the late replay that §3.1.6 forbids to streams).
func TestLedger(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	w.must(id, story()...)
	page := func(query string) object {
		a := c.send(c.raw(t.Context(), "GET", "/tasks/"+id+"/ledger?"+query, ""))
		if a.status != 200 || a.header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %d %s %.300s", query, a.status, a.header.Get("Content-Type"), a.raw)
		}
		return a.result
	}
	all := page("")
	entries, _ := all["entries"].([]any)
	if len(entries) != 9 || all["task"] != id || all["next"] != 9.0 {
		t.Fatalf("%d entries, next %v", len(entries), all["next"])
	}
	for i, e := range entries {
		if dig(e, "seq") != float64(i+1) || text(e, "chain") == "" || dig(e, "payload") == nil {
			t.Errorf("entry %v", e)
		}
		if i >= 2 && (dig(e, "fence") != 1.0 || text(e, "holder") != "runner-1") {
			t.Errorf("entry %d: fence %v, holder %q", i+1, dig(e, "fence"), text(e, "holder"))
		}
	}
	head, _ := all["head"].(object)
	if head["state"] != "TASK_STATE_COMPLETED" || head["seq"] != 9.0 || head["fence"] != 1.0 || head["generation"] != 1.0 || head["statusAt"] != "2026-03-01T10:00:00.000Z" {
		t.Errorf("head %v", head)
	}
	var seen []any
	for after := 0.0; ; {
		p := page(fmt.Sprintf("limit=4&after=%v", after))
		list, _ := p["entries"].([]any)
		seen = append(seen, list...)
		if after, _ = p["next"].(float64); after == dig(p, "head.seq") {
			break
		}
	}
	if encode(t, seen) != encode(t, entries) {
		t.Error("the pages are not the whole")
	}
	if end := page("after=9"); end["next"] != 9.0 || encode(t, end["entries"]) != "[]" {
		t.Errorf("after the end: %v", end)
	}
	for _, query := range []string{"after=x", "after=-1", "limit=0", "limit=1001", "limit=x"} {
		if a := c.send(c.raw(t.Context(), "GET", "/tasks/"+id+"/ledger?"+query, "")); a.err == nil || a.err.reason != "INVALID_PARAMS" {
			t.Errorf("%s: %.200s", query, a.raw)
		}
	}
}

// What a task has called outside.
func TestEffects(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	effects := func() answer { return c.send(c.raw(t.Context(), "GET", "/tasks/"+id+"/effects", "")) }
	if a := effects(); string(a.raw) != `{"task":"`+id+`","effects":[]}`+"\n" {
		t.Errorf("%s", a.raw)
	}
	w.must(id, grant())
	h := w.head(id)
	record := lifecycle.Effect{Visit: 1, Name: "revoke", Key: lifecycle.EffectKey(a2a.TaskID(id), 1, "revoke"), State: lifecycle.EffectIntended,
		Policy: lifecycle.PolicyHold, Holder: h.Holder, Fence: h.Fence, IntendedAt: w.clock.Now(), CallUntil: w.clock.Now().Add(time.Minute), Calls: 1, Revision: 1}
	if err := w.ledger.Intend(t.Context(), h.Ref(), record); err != nil {
		t.Fatal(err)
	}
	if a := effects(); text(a.result, "effects.0.name") != "revoke" || text(a.result, "effects.0.state") != "intended" {
		t.Errorf("%s", a.raw)
	}
}

// Blobs belong to their task; what is no digest is none of its parts.
func TestBlobs(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	id := c.submit(message("m-1", "do it"))
	for _, item := range []string{string(lifecycle.DigestBytes([]byte("x"))), "x", "..", "%2e%2e", "A" + string(lifecycle.DigestBytes(nil))[1:]} {
		if a := c.send(c.raw(t.Context(), "GET", "/tasks/"+id+"/blobs/"+item, "")); a.err == nil || a.err.reason != "NOT_FOUND" || a.status != http.StatusNotFound {
			t.Errorf("%s: %d %.200s", item, a.status, a.raw)
		}
	}
}

// The lights are an operator's, of the tenant who asks, and never kept by anybody. A
// report that cannot be made is a fault; a door that watches nothing has no such address.
func TestLights(t *testing.T) {
	var fails error
	w := newWorld(t, func(w *world) {
		w.config.Health = func(_ context.Context, tenant string) (any, error) {
			return object{"lights": tenant}, fails
		}
	})
	c := w.client(t, false)
	ask := func(token string) answer {
		r := c.raw(t.Context(), "GET", "/health", "")
		r.Header.Del("A2A-Version")
		r.Header.Set("Authorization", "Bearer "+token)
		return c.send(r)
	}
	if a := ask("acme/ann/operator:read"); a.status != 200 || string(a.raw) != `{"lights":"acme"}`+"\n" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d %s %v", a.status, a.raw, a.header)
	}
	if a := ask("acme/ann/caller"); a.status != 403 || a.err == nil {
		t.Errorf("a caller: %d %s", a.status, a.raw)
	}
	fails = ledger.ErrUnavailable
	if a := ask("acme/ann/operator:read"); a.status != 503 {
		t.Errorf("without a ledger: %d %s", a.status, a.raw)
	}
	w = newWorld(t)
	if a := w.client(t, false).send(w.client(t, false).raw(t.Context(), "GET", "/health", "")); a.status != 404 {
		t.Errorf("a door that watches nothing: %d %s", a.status, a.raw)
	}
}

// watcher is told of faults.
type watcher struct{ told []string }

func (w *watcher) RequestFailed(_ context.Context, ref lifecycle.Ref, operation, incident string, err error) {
	w.told = append(w.told, fmt.Sprintf("%s %s %t %v", ref.Tenant, operation, incident != "", err))
}

// Who watches is told of each fault once, and logs it instead of the door; of refusals
// nobody is told.
func TestFaultsAreWatched(t *testing.T) {
	told := &watcher{}
	w := newWorld(t, func(w *world) {
		process := &ledgertest.Faults{Plan: ledgertest.Always("Head", ledgertest.FailBefore)}
		authority := *w.authority
		authority.Ledger = process.Ledger(w.ledger)
		w.config.Authority, w.config.Watch = &authority, told
	})
	c := w.client(t, false)
	if a := c.send(c.raw(t.Context(), "GET", "/tasks/x", "")); a.status != 503 {
		t.Fatalf("%d %s", a.status, a.raw)
	}
	if len(told.told) != 1 || !strings.HasPrefix(told.told[0], tenant+" GetTask true ") {
		t.Errorf("%q", told.told)
	}
	if logs := w.logged(); strings.Contains(logs, "request failed") {
		t.Errorf("logged as well: %s", logs)
	}
	if a := c.send(c.raw(t.Context(), "GET", "/nowhere", "")); a.status != 404 || len(told.told) != 1 {
		t.Errorf("%d, %q", a.status, told.told)
	}
}
