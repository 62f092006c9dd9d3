package policy_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Real in these tests: everything of this package and the rules of lifecycle. Faked: nothing.

const day = 24 * time.Hour

// whole says all that a document can say.
const whole = `{
  "name": "gold", "version": 3, "owner": "platform team",
  "leaseSeconds": 45, "longestLifeSeconds": 86400, "longestPauseSeconds": 7200,
  "retentionSeconds": {"completed": 864000, "failed": 7776000, "canceled": 864000, "rejected": 259200, "afterExport": 3600},
  "effects": {"revoke-*": {"compensable": true, "by": "the owner", "units": 2}, "notify": {"compensable": false}, "*": {"compensable": false, "units": 1}},
  "billing": {"basis": "effects"}
}`

func parsed(t *testing.T, raw string) policy.Document {
	t.Helper()
	d, err := policy.Parse("test.json", []byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDocument: what a document says is what tasks are judged by.
func TestDocument(t *testing.T) {
	d := parsed(t, whole)
	if d.ID() != "gold@3" || d.Owner != "platform team" {
		t.Errorf("%s of %s", d.ID(), d.Owner)
	}
	p := d.Policy()
	if p.Version != "gold@3" || p.Life != day || p.Retention != 10*day || p.Grace != lifecycle.DefaultGrace || p.Terms.Digest != d.Digest() {
		t.Errorf("%+v", p)
	}
	want := lifecycle.Spans{Lease: 45, Pause: 7200, Failed: 7776000, Rejected: 259200, Exported: 3600}
	if p.Terms.Seconds != want {
		t.Errorf("%+v, want %+v: what is as for all is not said again", p.Terms.Seconds, want)
	}
	effects, err := json.Marshal(p.Terms.Effects)
	if err != nil || string(effects) != `{"*":{"units":1},"notify":{},"revoke-*":{"by":"the owner","units":2}}` {
		t.Errorf("%s (%v)", effects, err)
	}
	if p.Terms.Billing != (lifecycle.Billing{Basis: lifecycle.BillEffects}) {
		t.Errorf("%+v", p.Terms.Billing)
	}
}

// TestDigest: the digest is over what a document says, not over how it is written; what it says is given back.
func TestDigest(t *testing.T) {
	d := parsed(t, whole)
	for what, raw := range map[string]string{
		"spaces":      strings.ReplaceAll(whole, " ", "\t"),
		"escapes":     strings.ReplaceAll(whole, "gold", `go\u006cd`),
		"in one line": string(d.JSON()),
		"another order": strings.Replace(strings.Replace(whole, `"name": "gold", `, "", 1), `"billing": {"basis": "effects"}`,
			`"billing": {"basis": "effects"}, "name": "gold"`, 1),
	} {
		raw = strings.ReplaceAll(raw, "platform\tteam", "platform team")
		raw = strings.ReplaceAll(raw, "the\towner", "the owner")
		if got := parsed(t, raw).Digest(); got != d.Digest() {
			t.Errorf("%s: digest %s, want %s", what, got, d.Digest())
		}
	}
	if got := parsed(t, strings.Replace(whole, "7200", "7201", 1)).Digest(); got == d.Digest() {
		t.Error("two documents have one digest")
	}
	if lifecycle.DigestBytes(d.JSON()) != d.Digest() {
		t.Errorf("%s does not have the digest %s", d.JSON(), d.Digest())
	}
}

// TestInvalid: what is wrong is named by its field, whatever else is right.
func TestInvalid(t *testing.T) {
	long := strings.Repeat("x", 129)
	var many strings.Builder
	many.WriteString(`"effects": {`)
	for i := range lifecycle.MaxEffectTerms + 1 {
		many.WriteString(`"e` + strings.Repeat("x", i) + `": {"compensable": false}, `)
	}
	for _, c := range []struct{ field, from, to string }{
		{"name", `"name": "gold", `, ``}, {"name", `"gold"`, `"Gold"`}, {"name", `"gold"`, `""`}, {"name", `"gold"`, `7`}, {"name", `"gold"`, `null`}, {"name", `"gold"`, `"gold@2"`},
		{"name", `"gold"`, `"` + strings.Repeat("g", 55) + `"`},
		{"version", `"version": 3`, `"version": 0`}, {"version", `"version": 3`, `"version": "3"`}, {"version", `"version": 3`, `"version": 3.5`}, {"version", `"version": 3`, `"version": 1000000000`},
		{"owner", `"owner": "platform team",`, ``}, {"owner", `"platform team"`, `" "`}, {"owner", `"platform team"`, `"a\nb"`}, {"owner", `"platform team"`, `"` + long + `"`},
		{"leaseSeconds", `"leaseSeconds": 45`, `"leaseSeconds": 0`}, {"leaseSeconds", `"leaseSeconds": 45`, `"leaseSeconds": 901`}, {"leaseSeconds", `"leaseSeconds": 45`, `"leaseSeconds": -1`},
		{"longestLifeSeconds", `"longestLifeSeconds": 86400`, `"longestLifeSeconds": 31536001`}, {"longestLifeSeconds", `"longestLifeSeconds": 86400, `, ``},
		{"longestPauseSeconds", `"longestPauseSeconds": 7200`, `"longestPauseSeconds": 2592001`}, {"longestPauseSeconds", `"longestPauseSeconds": 7200`, `"longestPauseSeconds": 1e99`},
		{"retentionSeconds", `"retentionSeconds": {"completed": 864000, "failed": 7776000, "canceled": 864000, "rejected": 259200, "afterExport": 3600},`, ``},
		{"retentionSeconds", `{"completed": 864000, "failed": 7776000, "canceled": 864000, "rejected": 259200, "afterExport": 3600}`, `2592000`},
		{"retentionSeconds.completed", `"completed": 864000`, `"completed": 259199`}, {"retentionSeconds.failed", `"failed": 7776000, `, ``},
		{"retentionSeconds.canceled", `"canceled": 864000`, `"canceled": 315360001`}, {"retentionSeconds.rejected", `"rejected": 259200`, `"rejected": "3 days"`},
		{"retentionSeconds.afterExport", `"afterExport": 3600`, `"afterExport": 3599`}, {"retentionSeconds.afterExport", `"afterExport": 3600`, `"afterExport": 259201`},
		{"retentionSeconds.expired", `"afterExport": 3600`, `"afterExport": 3600, "expired": 1`},
		{"billing", `,
  "billing": {"basis": "effects"}`, ``}, {"billing.basis", `"basis": "effects"`, `"basis": "hope"`}, {"billing.units", `"basis": "effects"`, `"basis": "completed"`},
		{"billing.units", `"basis": "effects"`, `"basis": "effects", "units": 2`}, {"billing.units", `"basis": "effects"`, `"basis": "accepted", "units": 0`}, {"billing.basis", `{"basis": "effects"}`, `{}`},
		{"effects.Revoke", `"notify"`, `"Revoke"`}, {"effects.a*b", `"notify"`, `"a*b"`}, {"effects.", `"notify"`, `""`}, {"effects", `"effects": {`, many.String()},
		{"effects.notify", `"notify": {"compensable": false}`, `"notify": true`}, {"effects.notify.compensable", `"notify": {"compensable": false}`, `"notify": {}`},
		{"effects.notify.compensable", `"notify": {"compensable": false}`, `"notify": {"compensable": null}`},
		{"effects.notify.by", `"notify": {"compensable": false}`, `"notify": {"compensable": false, "by": "x"}`}, {"effects.revoke-*.by", `, "by": "the owner"`, ``},
		{"effects.revoke-*.units", `"units": 2`, `"units": -2`}, {"effects.*.units", `"basis": "effects"`, `"basis": "none"`}, {"effects.notify.cost", `"notify": {"compensable": false}`, `"notify": {"compensable": false, "cost": 1}`},
		{"name", `"name": "gold"`, `"name": "gold", "name": "gold"`}, {"retentionSeconds.failed", `"failed": 7776000`, `"failed": 7776000, "failed": 7776000`},
		{"effects.notify", `"notify": {"compensable": false}`, `"notify": {"compensable": false}, "notify": {"compensable": false}`},
		{"comment", `"name": "gold"`, `"comment": "x", "name": "gold"`}, {"Name", `"name": "gold"`, `"Name": "gold"`},
		{"", `"basis": "effects"}
}`, `"basis": "effects"}
} {}`}, {"", `{
  "name"`, `[{
  "name"`}, {"", `"owner":`, `owner:`}, {"", "platform", "\xff"}, {"", "platform", strings.Repeat("x", 40<<10)},
	} {
		if strings.Count(whole, c.from) != 1 {
			t.Fatalf("%q is in the document %d times", c.from, strings.Count(whole, c.from))
		}
		_, err := policy.Parse("gold.json", []byte(strings.Replace(whole, c.from, c.to, 1)))
		if !names(err, c.field) {
			t.Errorf("%q for %q: %v, want a problem of %q", c.to, c.from, err, c.field)
		}
	}
	_, err := policy.Parse("none.json", []byte(`{}`))
	for _, field := range []string{"name", "version", "owner", "longestLifeSeconds", "longestPauseSeconds", "retentionSeconds", "billing"} {
		if !names(err, field) {
			t.Errorf("an empty document: %v, want every problem at once, %q too", err, field)
		}
	}
	const want = `policy short.json: retentionSeconds.failed must be a whole number from 259200 to 315360000: the task must outlive the deliveries to its webhooks`
	if _, err := policy.Parse("short.json", []byte(strings.Replace(whole, "7776000", "60", 1))); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
}

// names says whether an error has an *Invalid of a field in it.
func names(err error, field string) bool {
	if joined, is := err.(interface{ Unwrap() []error }); is {
		for _, one := range joined.Unwrap() {
			if invalid, is := errors.AsType[*policy.Invalid](one); is && invalid.Field == field {
				return true
			}
		}
	}
	return false
}

// FuzzParse: no bytes upset the reader, and what it takes is a policy that the rules take, and again the same document.
func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(`{"name":"a","name":1}`))
	f.Add([]byte(`{"effects":{"*":{"by":null}}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		d, err := policy.Parse("fuzz", raw)
		if err != nil {
			if _, is := errors.AsType[*policy.Invalid](err); !is {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		again, err := policy.Parse("again", d.JSON())
		if err != nil || again.Digest() != d.Digest() {
			t.Fatalf("%s: %v, digest %s, then %s", d.JSON(), err, d.Digest(), again.Digest())
		}
		for name, e := range d.Effects {
			if name == "" || e.Units < 0 {
				t.Fatalf("effect %q: %+v", name, e)
			}
		}
		p := d.Policy()
		if p.Retention < lifecycle.MinRetention || p.Life < time.Minute || p.Terms.Seconds.Exported == 0 || len(d.ID()) > lifecycle.MaxNameBytes {
			t.Fatalf("%+v", p)
		}
	})
}
