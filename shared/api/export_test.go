package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// exported asks for a task's export, whose lines are no one JSON document.
func (c client) exported(id string) answer {
	c.t.Helper()
	resp, err := c.http.Do(c.raw(c.t.Context(), "GET", "/tasks/"+id+"/export", ""))
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer{status: resp.StatusCode, header: resp.Header, raw: raw}
}

// A task's export can be checked without the server, also when the task is over (case 35). Operators get everything,
// callers neither effects nor what was refused, and nobody a secret (I9).
func TestExport(t *testing.T) {
	w := newWorld(t)
	me := w.client(t, false)
	id := me.submit(message("m-1", "do it"))
	w.must(id, story()...)
	if err := w.ledger.Reject(t.Context(), w.ref(id), ledger.Rejected{At: w.clock.Now(), Producer: "late", Reason: lifecycle.PostTerminal}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]struct {
		token string
		scope export.Scope
	}{
		"all scopes": {"", export.Operator},
		"operator":   {"Bearer local/op/operator:read", export.Operator},
		"caller":     {"Bearer local/me/caller", export.Caller},
	} {
		c := me
		if want.token != "" {
			c = me.with("Authorization", want.token)
		}
		a := c.exported(id)
		if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson" || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") {
			t.Fatalf("%s: %d %v %.200s", name, a.status, a.header, a.raw)
		}
		report, err := export.Verify(bytes.NewReader(a.raw))
		if err != nil || !report.OK() || report.Header.Scope != want.scope || report.Seq != w.head(id).Seq || report.Chain != w.head(id).Chain {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		refused := 0
		if want.scope == export.Operator {
			refused = 1
		}
		if report.Counts.Rejection != refused || (report.Head.Counts != nil) != (refused == 1) {
			t.Errorf("%s: %d rejections, counters %v", name, report.Counts.Rejection, report.Head.Counts)
		}
	}
	if a := me.send(me.raw(t.Context(), "HEAD", "/tasks/"+id+"/export", "")); a.status != http.StatusOK || len(a.raw) > 0 {
		t.Errorf("HEAD: %d %q", a.status, a.raw)
	}
}

// Whose task it is not learns nothing (I10), and a producer reads no tasks.
func TestExportIsRefused(t *testing.T) {
	w := newWorld(t)
	me := w.client(t, false)
	id := me.submit(message("m-1", "do it"))
	for name, c := range map[string]struct {
		client client
		id     string
		reason string
	}{
		"unknown":           {me, "nothing", "TASK_NOT_FOUND"},
		"another tenant's":  {me.with("Authorization", "Bearer other/me"), id, "TASK_NOT_FOUND"},
		"another agent's":   {me.at("keyed"), id, "TASK_NOT_FOUND"},
		"a producer":        {me.with("Authorization", "Bearer local/p/producer"), id, "UNAUTHORIZED"},
		"not authenticated": {me.with("Authorization", "Bearer bad/x"), id, "UNAUTHENTICATED"},
	} {
		if a := c.client.send(c.client.raw(t.Context(), "GET", "/tasks/"+c.id+"/export", "")); a.err == nil || a.err.reason != c.reason {
			t.Errorf("%s: %d %.200s", name, a.status, a.raw)
		}
	}
}

// breaking is a ledger whose effects cannot be read.
type breaking struct{ ledger.Ledger }

// EffectList implements ledger.Effects.
func (breaking) EffectList(context.Context, lifecycle.Ref) ([]lifecycle.Effect, error) {
	return nil, errors.New("the disk is gone")
}

// An export that cannot be read is refused; one that was begun is cut, and shows it.
func TestExportIsCut(t *testing.T) {
	w := newWorld(t, func(w *world) {
		authority := *w.authority
		authority.Ledger = breaking{w.ledger}
		w.config.Authority = &authority
	})
	me := w.client(t, false)
	short := me.exported(me.submit(message("m-1", "do it")))
	if short.status != http.StatusInternalServerError || !strings.Contains(string(short.raw), `"incident"`) || short.header.Get("Content-Disposition") != "" {
		t.Errorf("nothing was sent: %d %v %.300s", short.status, short.header, short.raw)
	}
	id := me.submit(message("m-2", "do it"))
	grown := []lifecycle.Command{lifecycle.Grant{Holder: "e", Generation: 1, Lease: time.Hour}}
	for range 4 {
		grown = append(grown, lifecycle.Report{Holder: "e", Fence: 1, Verb: lifecycle.VerbProgress, Updates: []lifecycle.Update{{Message: &a2a.Message{
			Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(strings.Repeat("long ", 5000))},
		}}}})
	}
	w.must(id, grown...)
	a := me.exported(id)
	report, err := export.Verify(bytes.NewReader(a.raw))
	if err != nil || a.status != http.StatusOK || !strings.Contains(fmt.Sprint(report.Violations), "the trailer is missing: the export was cut") {
		t.Errorf("%d %.300s: %v, %v", a.status, a.raw, report.Violations, err)
	}
	if !strings.Contains(w.logged(), "export was cut") {
		t.Errorf("logged %s", w.logged())
	}
}
