package export_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// mutation is a change of an export and the invariant that it breaks.
type mutation struct {
	name, want string
	change     func(f *file)
}

// sub is an object within an object.
func sub(o map[string]any, name string) map[string]any {
	inner, _ := o[name].(map[string]any)
	return inner
}

// clumsy changes leave the rest of the file as it is.
func clumsy() []mutation {
	const entry, artifact, effect, rejection, endpoint, head, trailer, header = export.KindEntry, export.KindArtifact, export.KindEffect, export.KindRejection, export.KindEndpoint, export.KindHead, export.KindTrailer, export.KindHeader
	const document, settled = export.KindPolicy, export.KindSettled
	edit := func(kind export.Kind, n int, pairs ...string) func(*file) {
		return func(f *file) { f.edit(kind, n, pairs...) }
	}
	return []mutation{
		{"an entry's payload", "I1", edit(entry, 0, "Review <the>", "Review <tha>")},
		{"an entry's payload digest", "I1", edit(entry, 1, `"payloadDigest":"`, `"payloadDigest":"0`)},
		{"an entry's chain", "I1", edit(entry, 1, `"chain":"`, `"chain":"0`)},
		{"an entry's number", "I1", edit(entry, 3, `"seq":4`, `"seq":5`)},
		{"an entry's task", "I1", edit(entry, 3, `"task":"T-42"`, `"task":"T-43"`)},
		{"an entry's type", "I1", edit(entry, 3, `"type":"message"`, `"type":"progress"`)},
		{"an entry's producer", "I1", edit(entry, 3, `"producer":"client:p-hash"`, `"producer":"client:other"`)},
		{"an entry's event", "I1", edit(entry, 3, `"eventId":"X1"`, `"eventId":"X9"`)},
		{"an entry's instant", "I1", edit(entry, 3, `"acceptedAt":"2026-03-02T09`, `"acceptedAt":"2026-03-02T08`)},
		{"an entry's fence", "I1", edit(entry, 5, `"fence":2`, `"fence":1`)},
		{"an entry's holder", "I1", edit(entry, 5, `"holder":"execution-g1"`, `"holder":"execution-g2"`)},
		{"an entry's operation", "I1", edit(entry, 5, `"opId":"`, `"opId":"x`)},
		{"an entry dropped", "I1", func(f *file) { f.drop(entry, 4) }},
		{"the first entry dropped", "I1", func(f *file) { f.drop(entry, 0) }},
		{"the last entry dropped", "I1", func(f *file) { f.drop(entry, -1) }},
		{"two entries swapped", "I1", func(f *file) { f.swap(entry, 5, 6) }},
		{"an entry repeated", "I1", func(f *file) { f.repeat(entry, 6) }},
		{"a space in an entry", "I4", edit(entry, 2, `"seq":3`, `"seq": 3`)},
		{"a member added to an entry", "I4", edit(entry, 2, `"seq":3`, `"token":"x","seq":3`)},
		{"an entry behind the artifacts", "I4", func(f *file) {
			f.lines[f.at(entry, -1)], f.lines[f.at(artifact, 0)] = f.lines[f.at(artifact, 0)], f.lines[f.at(entry, -1)]
		}},
		{"an entry that is no JSON", "I4", edit(entry, 2, `{"kind"`, `{kind"`)},
		{"an artifact's bytes", "I6", edit(artifact, 0, `"bytes":18`, `"bytes":19`)},
		{"an artifact's digest", "I6", edit(artifact, 1, `"digest":"`, `"digest":"0`)},
		{"an artifact dropped", "I6", func(f *file) { f.drop(artifact, 0) }},
		{"two artifacts swapped", "I6", func(f *file) { f.swap(artifact, 0, 1) }},
		{"an effect's key", "I7", edit(effect, 0, `"key":"T-42:`, `"key":"T-41:`)},
		{"an effect's fence", "I7", edit(effect, 0, `"fence":2`, `"fence":9`)},
		{"an effect's visit", "I7", edit(effect, 0, `"visit":2`, `"visit":7`, `T-42:2`, `T-42:7`)},
		{"an effect's result", "I7", edit(effect, 3, `"grants":40`, `"grants":41`)},
		{"an effect that was not done, done", "I7", edit(effect, 1, `"state":"failed"`, `"state":"done"`)},
		{"an effect that was done, in doubt", "I4", edit(effect, 3, `"state":"done"`, `"state":"in-doubt"`)},
		{"an effect's policy", "I7", edit(effect, 0, `"policy":"reconcile"`, `"policy":"hope"`)},
		{"an effect's request", "I4", edit(effect, 0, `"requestDigest":"`, `"requestDigest":"0`)},
		{"an effect dropped", "I4", func(f *file) { f.drop(effect, 2) }},
		{"an effect repeated", "I7", func(f *file) { f.repeat(effect, 2) }},
		{"two effects swapped", "I7", func(f *file) { f.swap(effect, 0, 1) }},
		{"the policy's digest", "I4", edit(document, 0, `"digest":"`, `"digest":"0`)},
		{"the policy's document", "I4", edit(document, 0, `"afterExport":345600`, `"afterExport":345601`)},
		{"the policy's owner", "I4", edit(document, 0, "identity governance", "somebody else")},
		{"the policy's name", "I4", edit(document, 0, `"id":"review@1"`, `"id":"review@2"`)},
		{"the policy dropped", "I4", func(f *file) { f.drop(document, 0) }},
		{"the policy repeated", "I4", func(f *file) { f.repeat(document, 0) }},
		{"the settlement's units", "I4", edit(settled, 0, `"units":6`, `"units":7`)},
		{"the settlement's duty", "I4", edit(settled, 0, `"duty":"find-out"`, `"duty":"none"`)},
		{"the settlement's receipt", "I4", edit(settled, 0, `"receipt":{"sequence":12`, `"receipt":{"sequence":11`)},
		{"the settlement dropped", "I4", func(f *file) { f.drop(settled, 0) }},
		{"the settlement repeated", "I4", func(f *file) { f.repeat(settled, 0) }},
		{"a format without settlements", "I4", edit(header, 0, `"format":2`, `"format":1`)},
		{"an expiry beyond the acknowledgement's", "I8", edit(head, 0, `"expiresAt":"2026-03-06`, `"expiresAt":"2026-04-06`)},
		{"an expiry before the acknowledgement's", "I8", edit(head, 0, `"expiresAt":"2026-03-06`, `"expiresAt":"2026-03-05`)},
		{"an acknowledgement before the end", "I8", edit(head, 0, `"acknowledgedAt":"2026-03-02`, `"acknowledgedAt":"2026-03-01`)},
		{"a rejection's reason", "I4", edit(rejection, 0, "fence-lost", "fence-kept")},
		{"a rejection dropped", "I2", func(f *file) { f.drop(rejection, 0) }},
		{"two rejections swapped", "I4", func(f *file) { f.swap(rejection, 0, 1) }},
		{"an incident more", "I6", edit(rejection, 0, "fence-lost", "conflicting-content")},
		{"an endpoint ahead of the task", "I11", edit(endpoint, 0, `"cursor":4`, `"cursor":400`)},
		{"an endpoint's attempt ahead of the task", "I11", edit(endpoint, 0, `"seq":5`, `"seq":500`)},
		{"an endpoint's attempt just ahead of the task", "I11", edit(endpoint, 0, `"seq":5`, `"seq":13`)},
		{"an endpoint's unanswered attempt ahead of the task", "I11", edit(endpoint, 0, `"seq":5`, `"seq":14`, `"status":503`, `"status":0`)},
		{"an endpoint's whole address", "I9", edit(endpoint, 0, `"origin":"https://hooks.example:8443`, `"origin":"https://user:pass@hooks.example:8443/x`)},
		{"an endpoint's secret", "I4", edit(endpoint, 0, `"scheme":"Bearer"`, `"scheme":"Bearer","secrets":"x"`)},
		{"the head's state", "I1", edit(head, 0, "TASK_STATE_COMPLETED", "TASK_STATE_FAILED")},
		{"the head's sequence", "I1", edit(head, 0, `"seq":12`, `"seq":13`)},
		{"the head's fence", "I3", edit(head, 0, `"fence":3`, `"fence":2`)},
		{"a lease on the head of an ended task", "I2", edit(head, 0, `"fence":3`, `"holder":"x","fence":3`)},
		{"an ended task that is due", "I8", edit(head, 0, `"op":`, `"dueAt":"2026-03-02T09:00:00Z","op":`)},
		{"the head's tenant", "I1", edit(head, 0, `"tenant":"acme"`, `"tenant":"other"`)},
		{"the head's counters", "I2", edit(head, 0, `"rejections":5`, `"rejections":6`)},
		{"the head dropped", "I4", func(f *file) { f.drop(head, 0) }},
		{"the head repeated", "I4", func(f *file) { f.repeat(head, 0) }},
		{"the header's task", "I1", edit(header, 0, `"task":"T-42"`, `"task":"T-43"`)},
		{"the header's policy", "I4", edit(header, 0, "review@1", "review@2")},
		{"the header's agent", "I4", edit(header, 0, `"agent":"review"`, `"agent":"other"`)},
		{"the header's time", "I4", edit(header, 0, `"exportedAt":"2026`, `"exportedAt":"2025`)},
		{"the header's scope", "I4", edit(header, 0, `"scope":"operator"`, `"scope":"caller"`)},
		{"the header dropped", "I4", func(f *file) { f.drop(header, 0) }},
		{"the header repeated", "I4", func(f *file) { f.repeat(header, 0) }},
		{"the trailer's digest", "I4", edit(trailer, 0, `"digest":"`, `"digest":"0`)},
		{"the trailer's counts", "I4", edit(trailer, 0, `"entry":12`, `"entry":13`)},
		{"the trailer's chain", "I1", edit(trailer, 0, `"chain":"`, `"chain":"0`)},
		{"the trailer's sequence", "I1", edit(trailer, 0, `"seq":12`, `"seq":11`)},
		{"the trailer dropped", "I4", func(f *file) { f.drop(trailer, 0) }},
		{"the second half dropped", "I4", func(f *file) { f.lines = f.lines[:len(f.lines)/2] }},
		{"something behind the trailer", "I4", func(f *file) { f.lines = append(f.lines, []byte(`{"kind":"trailer"}`)) }},
		{"an empty line", "I4", func(f *file) { f.lines = slices.Insert(f.lines, 3, []byte{}) }},
		{"an unknown kind", "I4", func(f *file) { f.lines = slices.Insert(f.lines, 3, []byte(`{"kind":"note"}`)) }},
		{"a long line", "I4", func(f *file) { f.lines = slices.Insert(f.lines, 3, bytes.Repeat([]byte{' '}, 2<<20)) }},
	}
}

// skilled changes come with a chain and a trailer that were computed anew.
func skilled() []mutation {
	again := func(n int, change func(e *lifecycle.Entry, payload map[string]any)) func(*file) {
		return func(f *file) { f.entry(n, change); f.rechain() }
	}
	sealed := func(change func(f *file)) func(*file) { return func(f *file) { change(f); f.reseal() } }
	behind := func(n int) func(*file) {
		return func(f *file) {
			i := f.at(export.KindEntry, n)
			f.lines = slices.Insert(f.lines, f.at(export.KindEntry, -1)+1, f.lines[i])
			f.rechain()
		}
	}
	payload := func(change func(payload map[string]any)) func(*lifecycle.Entry, map[string]any) {
		return func(_ *lifecycle.Entry, p map[string]any) { change(p) }
	}
	return []mutation{
		{"an entry behind the end", "I2", behind(5)},
		{"an end behind the end", "I2", behind(-1)},
		{"a second submission", "I5", behind(0)},
		{"a lower fence", "I3", again(9, func(e *lifecycle.Entry, _ map[string]any) { e.Fence, e.Holder = 1, "execution-g1" })},
		{"two holders of one fence", "I3", again(6, func(e *lifecycle.Entry, _ map[string]any) { e.Holder = "other" })},
		{"a fence without a holder", "I3", again(2, func(e *lifecycle.Entry, _ map[string]any) { e.Holder = "" })},
		{"a receipt for another challenge", "I12", again(4, payload(func(p map[string]any) { sub(p, "receipt")["challenge"] = 7 }))},
		{"a reply instead of the receipt", "I12", again(4, func(e *lifecycle.Entry, p map[string]any) {
			e.Type = lifecycle.TypeReply
			delete(p, "receipt")
			p["message"] = map[string]any{"role": "ROLE_USER", "messageId": "m", "parts": []any{map[string]any{"text": "yes"}}}
		})},
		{"a pause without a deadline", "I8", again(2, payload(func(p map[string]any) { sub(p, "pause")["deadlineAt"] = "0001-01-01T00:00:00Z" }))},
		{"a pause without an outcome", "I8", again(2, payload(func(p map[string]any) { delete(sub(p, "pause"), "outcome") }))},
		{"a pause for years", "I8", again(2, payload(func(p map[string]any) { sub(p, "pause")["deadlineAt"] = "2036-01-01T00:00:00Z" }))},
		{"a task that is never forgotten", "I8", again(0, payload(func(p map[string]any) { sub(p, "submission")["retainSeconds"] = 0 }))},
		{"a pause longer than the policy's", "I8", again(2, payload(func(p map[string]any) { sub(p, "pause")["deadlineAt"] = "2026-03-02T12:00:00Z" }))},
		{"a recorded term that the document does not say", "I8", again(0, payload(func(p map[string]any) { sub(sub(sub(p, "submission"), "terms"), "seconds")["pause"] = 86_400 }))},
		{"a recorded retention that the document does not say", "I8", again(0, payload(func(p map[string]any) { sub(p, "submission")["retainSeconds"] = 600 }))},
		{"a recorded life that the document does not say", "I8", again(0, payload(func(p map[string]any) { sub(p, "submission")["lifeEndsAt"] = "2026-04-30T09:00:00Z" }))},
		{"a recorded effect that the document does not say", "I8", again(0, payload(func(p map[string]any) { delete(sub(sub(sub(p, "submission"), "terms"), "effects"), "archive") }))},
		{"a recorded digest of another document", "I4", again(0, payload(func(p map[string]any) { sub(sub(p, "submission"), "terms")["digest"] = strings.Repeat("0", 64) }))},
		{"terms that were not recorded", "I4", again(0, payload(func(p map[string]any) { delete(sub(p, "submission"), "terms") }))},
		{"a settlement's units", "I4", sealed(func(f *file) { f.edit(export.KindSettled, 0, `"units":6`, `"units":7`) })},
		{"a settlement's effect", "I4", sealed(func(f *file) {
			f.edit(export.KindSettled, 0, `:archive","state":"done","duty":"none"`, `:archive","state":"done","duty":"compensate"`)
		})},
		{"an effect that becomes done, and its settlement not", "I4", sealed(func(f *file) { f.edit(export.KindEffect, 4, `"state":"intended"`, `"state":"failed"`) })},
		{"a settlement dropped", "I4", sealed(func(f *file) { f.drop(export.KindSettled, 0) })},
		{"a chunk's number", "I6", again(6, payload(func(p map[string]any) { sub(p, "chunk")["number"] = 3 }))},
		{"a chunk's content", "I6", again(5, payload(func(p map[string]any) { sub(sub(p, "chunk"), "part")["text"] = "PART-0" }))},
		{"a chunk's content and checksum", "I6", again(5, payload(func(p map[string]any) {
			sub(sub(p, "chunk"), "part")["text"] = "PART-0"
			sub(p, "chunk")["checksum"] = string(lifecycle.DigestBytes([]byte("PART-0")))
		}))},
		{"an open artifact of a completed task", "I6", again(10, payload(func(p map[string]any) { delete(sub(p, "chunk"), "last") }))},
		{"the manifest's digest", "I6", again(-1, payload(func(p map[string]any) { sub(p, "ending")["manifestDigest"] = "0" }))},
		{"the manifest", "I6", again(-1, payload(func(p map[string]any) { sub(p, "ending")["manifest"] = []any{} }))},
		{"a move that the table does not have", "I1", again(1, payload(func(p map[string]any) { p["state"] = "TASK_STATE_SUBMITTED" }))},
		{"an agent's version", "I4", again(0, payload(func(p map[string]any) { sub(p, "submission")["agentVersion"] = 3 }))},
		{"an entry of a newer build", "I1", again(3, func(e *lifecycle.Entry, _ map[string]any) { e.TypeVersion = 2 })},
		{"an entry dropped", "I1", func(f *file) { f.drop(export.KindEntry, 3); f.rechain() }},
		{"the head's visit", "I1", sealed(func(f *file) { f.edit(export.KindHead, 0, `"visit":3`, `"visit":4`) })},
		{"an artifact's line", "I6", sealed(func(f *file) { f.edit(export.KindArtifact, 0, `"chunks":3`, `"chunks":2`) })},
		{"a rejection dropped", "I2", sealed(func(f *file) { f.drop(export.KindRejection, 2) })},
		{"an effect of a fence that never was", "I7", sealed(func(f *file) { f.edit(export.KindEffect, 1, `"fence":2`, `"fence":4`) })},
		{"an effect under somebody else's fence", "I7", sealed(func(f *file) { f.edit(export.KindEffect, 1, `"holder":"execution-g1"`, `"holder":"execution-g2"`) })},
		{"an effect done without a result", "I7", sealed(func(f *file) {
			f.edit(export.KindEffect, 0, `"resultDigest":"`, `"x":"`)
			f.strip(export.KindEffect, 0)
		})},
		{"output behind a task that was not canceled", "I2", sealed(func(f *file) {
			f.edit(export.KindHead, 0, `"quarantined":0`, `"quarantined":1`)
			late := []byte(`{"kind":"quarantine","quarantine":{"at":"2026-03-02T09:00:00Z","producer":"p","eventId":"e","digest":"d","bytes":1}}`)
			f.lines = slices.Insert(f.lines, f.at(export.KindEndpoint, 0), late)
		})},
		{"an operator's action that nobody counted", "I4", sealed(func(f *file) {
			act := []byte(`{"kind":"act","act":{"at":"2026-03-02T09:00:00Z","by":"key:night","action":"cancel"}}`)
			f.lines = slices.Insert(f.lines, f.at(export.KindEndpoint, 0), act)
		})},
		{"an operator's action dropped", "I4", sealed(func(f *file) { f.edit(export.KindHead, 0, `"quarantined":0`, `"quarantined":0,"acts":1`) })},
		{"a task that moved backwards", "I3", sealed(func(f *file) { f.edit(export.KindHead, 0, `"counts":`, `"moved":{"seq":3,"fence":1},"counts":`) })},
	}
}

// TestMutations: each change of an export is found, and names the invariant that it breaks. What is not found is what
// nobody could: see TestRecomputed.
func TestMutations(t *testing.T) {
	d := newDesk(t, ledgertest.NewMemory(), "T-42")
	acknowledged(d)
	raw := d.exported(export.Operator)
	if f := open(t, raw); f.resealed() != string(raw) {
		t.Fatal("the test computes another trailer than the export")
	}
	names := map[string]bool{}
	for kind, list := range map[string][]mutation{"clumsy": clumsy(), "skilled": skilled()} {
		for _, m := range list {
			name := kind + "/" + m.name
			if names[name] {
				t.Errorf("%s is there twice", name)
			}
			names[name] = true
			t.Run(name, func(t *testing.T) {
				f := open(t, raw)
				m.change(f)
				report, err := export.Verify(bytes.NewReader(f.bytes()))
				if err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(report.Violations, func(v export.Violation) bool { return v.Invariant == m.want }) {
					t.Errorf("%v, want %s", report.Violations, m.want)
				}
				for _, v := range report.Violations {
					if v.Line < 1 || v.Line > len(f.lines)+1 || !strings.HasPrefix(v.Error(), fmt.Sprintf("line %d: %s: ", v.Line, v.Invariant)) {
						t.Errorf("violation %q", v)
					}
				}
				if got, _, err := export.Replay(bytes.NewReader(f.bytes()), nil); got != nil || err != nil {
					t.Errorf("it was rebuilt all the same: %v", err)
				}
			})
		}
	}
	t.Logf("%d changes, each found", len(names))
}

// TestEveryByte: whichever byte of an export is changed or missing, it is found.
func TestEveryByte(t *testing.T) {
	d := newDesk(t, ledgertest.NewMemory(), "T-42")
	t42(d)
	raw := d.exported(export.Operator)
	const step = 17 // every byte takes half a minute
	for at := 0; at < len(raw); at += step {
		changed := slices.Clone(raw)
		changed[at] ^= 1
		for what, content := range map[string][]byte{"changed": changed, "missing": slices.Delete(slices.Clone(raw), at, at+1), "the end": raw[:at]} {
			if report, err := export.Verify(bytes.NewReader(content)); err == nil && report.OK() {
				t.Fatalf("byte %d of %d %s: not found", at, len(raw), what)
			}
		}
	}
}

// TestRecomputed: a history that was changed and recomputed as a whole passes. Only a receipt from elsewhere tells.
func TestRecomputed(t *testing.T) {
	d := newDesk(t, ledgertest.NewMemory(), "T-42")
	t42(d)
	raw := d.exported(export.Operator)
	receipt := sound(t, "the true one", raw)
	f := open(t, raw)
	f.entry(3, func(_ *lifecycle.Entry, p map[string]any) { sub(p, "message")["messageId"] = "another" })
	f.rechain()
	forged := sound(t, "the forged one", f.bytes())
	if err := receipt.Against(receipt.Chain); err != nil {
		t.Error(err)
	}
	v, is := errors.AsType[export.Violation](forged.Against(receipt.Chain))
	if !is || v.Invariant != "I1" || v.Line != 13 {
		t.Errorf("against the receipt: %v", v)
	}
}

// TestNewer: a format of tomorrow is refused, and said to be one.
func TestNewer(t *testing.T) {
	d := newDesk(t, ledgertest.NewMemory(), "T-42")
	d.submit()
	f := open(t, d.exported(export.Operator))
	f.edit(export.KindHeader, 0, `"format":2`, `"format":3`)
	if _, err := export.Verify(bytes.NewReader(f.bytes())); !errors.Is(err, export.ErrNewer) {
		t.Errorf("error %v", err)
	}
}

// FuzzVerify: no bytes upset the reader, and what it finds sound can be rebuilt.
func FuzzVerify(f *testing.F) {
	d := newDesk(f, ledgertest.NewMemory(), "T-42")
	t42(d)
	raw := d.exported(export.Operator)
	f.Add(raw)
	f.Add(d.exported(export.Caller))
	f.Add([]byte("{\"kind\":\"header\",\"header\":{}}\n{\"kind\":\"head\",\"head\":{}}\n{\"kind\":\"trailer\",\"trailer\":{}}\n"))
	f.Add(raw[:len(raw)/2])
	f.Fuzz(func(t *testing.T, content []byte) {
		report, err := export.Verify(bytes.NewReader(content))
		got, _, again := export.Replay(bytes.NewReader(content), nil)
		if (err == nil) != (again == nil) || err == nil && report.OK() != (got != nil) {
			t.Fatalf("verified: %v, %v; rebuilt: %v, %v", report.Violations, err, got, again)
		}
	})
}

// A sender that died after everything was taken leaves an attempt at what comes next,
// which is not there and was not sent.
func TestAttemptAtNothing(t *testing.T) {
	d := newDesk(t, ledgertest.NewMemory(), "T-42")
	acknowledged(d)
	f := open(t, d.exported(export.Operator))
	f.edit(export.KindEndpoint, 0, `"seq":5`, `"seq":13`, `"status":503`, `"status":0`)
	if report, err := export.Verify(strings.NewReader(f.resealed())); err != nil || !report.OK() {
		t.Errorf("%v %v", err, report.Violations)
	}
}
