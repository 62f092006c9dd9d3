// Package export_test exports tasks from ledgers and checks the files.
//
// Real: the authority, the rules, the embedded ledger, and everything of this package. Faked: the clock, and the model
// ledger of ledgertest where it says so. Tasks are driven by commands, as the door and the runner would. What is asserted
// is exact, but for the seeds' stories, of which only what must hold of every task is asserted.
package export_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

const (
	lease = 30 * time.Second
	grace = 30 * time.Second
)

// document is the policy of the tasks.
const document = `{"name": "review", "version": 1, "owner": "identity governance", "longestLifeSeconds": 7776000, "longestPauseSeconds": 7200,
	"retentionSeconds": {"completed": 2592000, "failed": 7776000, "canceled": 864000, "rejected": 864000, "afterExport": 345600},
	"effects": {"archive": {"compensable": true, "by": "the archive <office>", "units": 5}, "read": {"compensable": false, "units": 1}, "*": {"compensable": true, "by": "the owner"}},
	"billing": {"basis": "effects"}}`

func policies(t testing.TB) *policy.Set {
	t.Helper()
	s, err := policy.Shipped()
	if err == nil {
		err = s.Add("review.json", []byte(document))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// desk drives one task on a ledger.
type desk struct {
	t         testing.TB
	ledger    ledger.Ledger
	authority *ledger.Authority
	ref       lifecycle.Ref
	judged    lifecycle.Policy
	policies  *policy.Set
	now       time.Time
	ops       int
}

func newDesk(t testing.TB, l ledger.Ledger, task a2a.TaskID) *desk {
	t.Helper()
	d := &desk{t: t, ledger: l, ref: lifecycle.Ref{Tenant: "acme", Task: task}, policies: policies(t), now: start}
	found, err := d.policies.Find("review@1")
	d.ok(err)
	d.judged = found.Policy()
	d.authority = &ledger.Authority{Ledger: l, Now: func() time.Time { return d.now }, NewID: func() string {
		d.ops++
		return fmt.Sprintf("op-%d", d.ops)
	}}
	return d
}

func (d *desk) ok(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

// submit creates the task, with an endpoint whose address and secret must not get out.
func (d *desk) submit() {
	d.t.Helper()
	_, err := d.authority.Create(d.t.Context(), d.ref, lifecycle.Submit{
		ContextID: "ctx-1", Agent: "review", AgentVersion: 2, Step: "plan", Message: says(a2a.MessageRoleUser, "Review <the> access & more, please."),
		Principal: "p-hash", RequestDigest: lifecycle.DigestBytes([]byte("request")), Policy: d.judged,
	}, lifecycle.Source{Producer: "client:p-hash", EventID: "m-0"}, nil)
	d.ok(err)
	d.ok(d.ledger.PutEndpoint(d.t.Context(), d.ref, ledger.Endpoint{
		ID: "hook", URL: "https://user:pass-secret@hooks.example:8443/path-secret?token=query-secret", Scheme: "Bearer", Secrets: []byte("sealed-secret"),
		Agent: "review", Base: "https://agent.example", Principal: "p-hash", CreatedAt: d.now, Delivery: ledger.Delivery{Wanted: 1, DueAt: d.now},
	}))
	_, err = d.ledger.Park(d.t.Context(), d.ref, 1, ledger.Token{Value: "callback-secret", Generation: 1, EnteredAt: d.now})
	d.ok(err)
}

// try runs a command; a rejection of a holder is kept, as the runner keeps it.
func (d *desk) try(cmd lifecycle.Command, event string) error {
	d.t.Helper()
	ctx := d.t.Context()
	task, err := d.authority.Load(ctx, d.ref)
	d.ok(err)
	src := lifecycle.Source{Producer: "client:p-hash", EventID: event}
	switch c := cmd.(type) {
	case lifecycle.Report:
		src = lifecycle.Source{Producer: "runner", EventID: event, Holder: c.Holder, Fence: c.Fence}
	case lifecycle.Grant:
		src = lifecycle.Source{Producer: "runner", EventID: event, Holder: c.Holder}
	case lifecycle.Expire:
		src.Producer = "sweep"
	}
	var extra ledger.Extra
	if _, reply := cmd.(lifecycle.Reply); reply && event != "" {
		extra.Receipt = &ledger.Receipt{Producer: src.Producer, EventID: event, Digest: lifecycle.DigestBytes([]byte(event))}
	}
	_, err = d.authority.Do(ctx, task, cmd, src, extra)
	if r, is := errors.AsType[*lifecycle.Rejection](err); is {
		d.ok(d.ledger.Reject(ctx, d.ref, ledger.Rejected{At: d.now, Producer: src.Producer, EventID: event, Reason: r.Reason, Detail: r.Detail, Fence: src.Fence}))
		return err
	}
	d.ok(err)
	return nil
}

func (d *desk) must(cmd lifecycle.Command, event string) {
	d.t.Helper()
	d.ok(d.try(cmd, event))
}

func (d *desk) head() lifecycle.Head {
	d.t.Helper()
	h, err := d.ledger.Head(d.t.Context(), d.ref)
	d.ok(err)
	return h
}

func (d *desk) grant(holder string) lifecycle.Command {
	return lifecycle.Grant{Holder: holder, Generation: d.head().Generation, Lease: lease, Grace: grace}
}

// report is the present holder's.
func (d *desk) report(r lifecycle.Report) lifecycle.Report {
	h := d.head()
	r.Holder, r.Fence, r.Grace, r.State = h.Holder, h.Fence, grace, json.RawMessage(`{"n":9007199254740993}`)
	return r
}

// effect begins an effect and settles it; state empty leaves it in doubt.
func (d *desk) effect(name string, policy lifecycle.EffectPolicy, state lifecycle.EffectState, result string) {
	d.t.Helper()
	h := d.head()
	decision, err := d.authority.BeginEffect(d.t.Context(), d.ref, lifecycle.EffectRequest{
		Visit: h.Visit, Name: name, Policy: policy, RequestDigest: lifecycle.DigestBytes([]byte(name)), Holder: h.Holder, Fence: h.Fence, CallUntil: d.now.Add(time.Minute),
	})
	d.ok(err)
	if state == "" || decision.Act != lifecycle.ActCall {
		return
	}
	var raw json.RawMessage
	if result != "" {
		raw = json.RawMessage(result)
	}
	d.ok(d.authority.SettleCall(d.t.Context(), d.ref, h.Visit, name, decision.Next.Revision, state, raw, "own call"))
}

func says(role a2a.MessageRole, text string) *a2a.Message {
	return &a2a.Message{ID: "m-" + fmt.Sprint(len(text)), Role: role, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

// piece is an update with a chunk.
func piece(id a2a.ArtifactID, part *a2a.Part, more, last bool) lifecycle.Update {
	content, err := lifecycle.PartContent(part)
	if err != nil {
		return lifecycle.Update{}
	}
	return lifecycle.Update{Append: more, Chunk: &lifecycle.Chunk{
		Artifact: id, Name: strings.ToUpper(string(id)), Last: last, Part: part, Bytes: int64(len(content)), Checksum: lifecycle.DigestBytes(content),
	}}
}

func blob(content string) lifecycle.Update {
	d := lifecycle.DigestBytes([]byte(content))
	part := lifecycle.BlobPart(a2a.NewTextPart(content), lifecycle.BlobRef{Digest: d, Bytes: int64(len(content)), Kind: lifecycle.BlobText})
	return lifecycle.Update{Chunk: &lifecycle.Chunk{Artifact: "large", Last: true, Part: part, Bytes: int64(len(content)), Checksum: d}}
}

// t42 is the story of T-42: authorization, an answer, an artifact in three chunks, a repeated and a late event; beside it
// effects in each state, refusals, an incident and an endpoint.
func t42(d *desk) {
	d.t.Helper()
	later := func(by time.Duration) { d.now = d.now.Add(by) }
	d.submit()
	later(time.Second)
	d.must(d.grant("execution-g1"), "")
	first := d.report(lifecycle.Report{Verb: lifecycle.VerbPause, Next: "read", Message: says(a2a.MessageRoleAgent, "May I read the directory?"),
		Pause: &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Timeout: time.Hour, Challenge: &lifecycle.Challenge{Action: "directory.read"}}})
	d.must(first, "E2")
	_ = d.try(first, "E2")
	later(time.Minute)
	d.must(lifecycle.Reply{Message: says(a2a.MessageRoleUser, "Go on."), Grace: grace}, "X1")
	d.ok(d.ledger.Hit(d.t.Context(), d.ref, "client:p-hash", "X1"))
	_ = d.try(d.grant("execution-b"), "")
	_ = d.try(lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: 7, Issuer: "idp.example", KeyID: "k1", JTI: "A9"}, Grace: grace}, "X2")
	d.must(lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: 1, Issuer: "idp.example", KeyID: "k1", JTI: "A4", Digest: lifecycle.DigestBytes([]byte("A4"))}, Grace: grace}, "E3")
	d.must(d.grant("execution-g1"), "")
	d.effect("read", lifecycle.PolicyRetry, lifecycle.EffectDone, `{"grants": 40, "note": "<all>"}`)
	d.effect("archive", lifecycle.PolicyReconcile, lifecycle.EffectDone, `"`+strings.Repeat("x", 5000)+`"`)
	d.effect("notify", lifecycle.PolicyHold, lifecycle.EffectInDoubt, "")
	d.effect("lock", lifecycle.PolicyRetry, lifecycle.EffectFailed, "")
	d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{piece("draft", a2a.NewTextPart("part-0"), false, false)}}), "")
	later(10 * time.Second)
	d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbPause, Next: "publish", Message: says(a2a.MessageRoleAgent, "Publish?"),
		Updates: []lifecycle.Update{piece("draft", a2a.NewTextPart("part-1"), true, false), blob(strings.Repeat("long ", 20_000))},
		Pause:   &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}}), "E4")
	later(20 * time.Minute)
	d.must(lifecycle.Reply{Message: says(a2a.MessageRoleUser, "Yes."), Grace: grace}, "E5")
	d.must(d.grant("execution-g1"), "")
	d.effect("publish", lifecycle.PolicyHold, "", "")
	d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says(a2a.MessageRoleAgent, "Published."),
		Updates: []lifecycle.Update{piece("draft", a2a.NewTextPart("part-2"), true, true)}}), "E6")
	later(time.Second)
	late := first
	late.Verb, late.Pause = lifecycle.VerbFail, nil
	_ = d.try(late, "E7")
	d.ok(d.ledger.Reject(d.t.Context(), d.ref, ledger.Rejected{At: d.now, Producer: "runner", Reason: lifecycle.ConflictingContent, Detail: "chunk 1 of revision 1 of draft again with other bytes", Fence: 2}))
	e, err := d.ledger.Endpoint(d.t.Context(), d.ref, "hook")
	d.ok(err)
	next := e.Delivery
	next.Cursor, next.Delivered, next.Revision = 4, 3, next.Revision+1
	next.NextAt, next.Attempt, next.Failures, next.DueAt = d.now.Add(time.Minute), 1, 1, d.now.Add(time.Minute)
	next = next.Attempted(ledger.Attempt{At: d.now, Seq: 5, Number: 1, Status: 503, Millis: 12, Error: "status"})
	d.ok(d.ledger.Deliver(d.t.Context(), d.ref, "hook", next))
}

// contents is the story of a task whose artifact and messages have a part of every sort.
func contents(d *desk) {
	d.t.Helper()
	d.submit()
	d.must(d.grant("execution-g1"), "")
	named := a2a.NewRawPart([]byte{0, 255, 10})
	named.Filename, named.MediaType = "three.bin", "application/octet-stream"
	described := a2a.NewDataPart(map[string]any{"b": 0.1, "a": []any{"x", nil, true, -1e21}, "": map[string]any{}})
	described.Metadata = map[string]any{"empty": "", "none": nil, "list": []any{}}
	parts := []*a2a.Part{
		a2a.NewTextPart("Zürich \u2028 <b>&amp;</b> \U0001f980\x00"), a2a.NewTextPart(""), named, a2a.NewRawPart([]byte{}), described,
		a2a.NewDataPart(0), a2a.NewDataPart(false), a2a.NewDataPart(""), a2a.NewDataPart([]any{}), a2a.NewFileURLPart("https://x.example/a?b=c&d", "text/plain"),
	}
	var updates []lifecycle.Update
	for i, part := range parts {
		u := piece("all", part, i > 0, i == len(parts)-1)
		u.Chunk.Description = "of every sort"
		updates = append(updates, u)
	}
	unnamed := piece("unnamed", a2a.NewTextPart("x"), false, true)
	unnamed.Chunk.Name = ""
	said := says(a2a.MessageRoleAgent, "Here.")
	said.Parts, said.Extensions, said.ReferenceTasks, said.Metadata = parts, []string{"urn:x"}, []a2a.TaskID{"T-42"}, map[string]any{"k": []any{nil}}
	d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbPause, Next: "end", Message: said, Updates: append(updates, unnamed),
		Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}}), "")
	d.must(lifecycle.Reply{Message: says(a2a.MessageRoleUser, "Thanks."), Grace: grace}, "E1")
	d.must(d.grant("execution-g1"), "")
	d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says(a2a.MessageRoleAgent, "")}), "")
}

// acknowledged is the story of T-42, whose caller then acknowledges the export.
func acknowledged(d *desk) {
	d.t.Helper()
	t42(d)
	d.now = d.now.Add(time.Minute)
	_, err := d.authority.Acknowledge(d.t.Context(), d.ref, d.head().TerminalReceipt())
	d.ok(err)
}

// quarantined is a task whose worker went on after it was canceled.
func quarantined(d *desk) {
	d.t.Helper()
	d.submit()
	d.must(lifecycle.RequestCancel{Principal: "p-hash"}, "")
	d.late("w-1")
	d.late("w-2")
	for _, a := range []ledger.Acted{
		{At: d.now, By: "key:night", Action: ledger.ActionResume, Refused: "the task has ended"},
		{At: d.now, By: "key:night", Action: ledger.ActionExport, Detail: "<b>for the record</b>"},
	} {
		d.ok(d.ledger.Act(d.t.Context(), d.ref, a))
	}
}

// late brings output after a cancellation.
func (d *desk) late(event string) {
	d.t.Helper()
	sent := json.RawMessage(`{"text":"a late-secret"}`)
	digest := lifecycle.DigestBytes(sent)
	d.ok(d.ledger.Refuse(d.t.Context(), d.ref, ledger.Refusal{
		Rejected: ledger.Rejected{At: d.now, Producer: "worker", EventID: event, Reason: lifecycle.PostTerminal, Detail: "the task has ended"},
		Receipt:  ledger.Receipt{Producer: "worker", EventID: event, Digest: digest, Reason: lifecycle.PostTerminal, Op: event},
		Late:     &ledger.Quarantined{At: d.now, Producer: "worker", EventID: event, Digest: digest, Bytes: len(sent), Payload: sent},
	}))
}

// told is the story of a seed.
func told(d *desk, seed uint64) {
	d.t.Helper()
	switch seed {
	case 0:
		t42(d)
	case 1:
		quarantined(d)
	case 2:
		acknowledged(d)
	case 3: // as it was before there were documents
		d.judged = lifecycle.DefaultPolicy()
		t42(d)
	default:
		random(d, seed)
	}
}

// random drives a task by a seed, until it has ended or the commands are used up.
func random(d *desk, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 42))
	d.submit()
	for range 10 + r.IntN(40) {
		d.now = d.now.Add([]time.Duration{0, time.Second, 40 * time.Second, 10 * time.Minute}[r.IntN(4)])
		if r.IntN(60) == 0 {
			d.now = d.now.Add(2 * time.Hour)
		}
		h := d.head()
		const cancel, expire = 0, 1
		now := r.IntN(40)
		switch {
		case now == cancel:
			_ = d.try(lifecycle.RequestCancel{Principal: "p-hash"}, "")
		case now == expire:
			_ = d.try(lifecycle.Expire{}, "")
		case lifecycle.Interrupted(h.State) && r.IntN(12) == 0:
			return // it waits on
		case h.State == lifecycle.InputRequired:
			_ = d.try(lifecycle.Reply{Message: says(a2a.MessageRoleUser, "Yes."), Grace: grace}, "")
		case h.State == lifecycle.AuthRequired:
			_ = d.try(lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: h.Pauses - r.IntN(3)/2, Issuer: "idp", JTI: "j"}, Grace: grace}, "")
		case h.Holder == "" || r.IntN(8) == 0:
			_ = d.try(d.grant([]string{"a", "b"}[r.IntN(2)]), "")
		case r.IntN(3) == 0 && h.Cancel == nil && !h.Terminal():
			states := []lifecycle.EffectState{"", lifecycle.EffectDone, lifecycle.EffectFailed, lifecycle.EffectInDoubt}
			d.effect(fmt.Sprint("call-", r.IntN(3)), lifecycle.PolicyRetry, states[r.IntN(4)], `{"n":1}`)
		default:
			_ = d.try(d.report(randomReport(r, d.now)), "")
		}
	}
}

func randomReport(r *rand.Rand, now time.Time) lifecycle.Report {
	verbs := []lifecycle.Verb{lifecycle.VerbSubStep, lifecycle.VerbSubStep, lifecycle.VerbContinue, lifecycle.VerbContinue, lifecycle.VerbPause, lifecycle.VerbSleep, lifecycle.VerbRetry,
		lifecycle.VerbComplete, lifecycle.VerbFail, lifecycle.VerbReject}
	report := lifecycle.Report{Verb: verbs[r.IntN(len(verbs))], Next: fmt.Sprint("step-", r.IntN(3)), Until: now.Add(time.Second), Reason: "because", Keep: r.IntN(2) == 0}
	if r.IntN(2) == 0 {
		report.Message = says(a2a.MessageRoleAgent, "a\u2028b <&> \x00")
	}
	if report.Verb == lifecycle.VerbPause {
		report.Pause = &lifecycle.PauseTerms{State: []a2a.TaskState{lifecycle.InputRequired, lifecycle.AuthRequired}[r.IntN(2)], Timeout: time.Hour, Challenge: &lifecycle.Challenge{Action: "act"}}
	}
	parts := []*a2a.Part{a2a.NewTextPart("text é <>"), a2a.NewRawPart([]byte{0, 255, 10}), a2a.NewDataPart(map[string]any{"b": 1.5, "a": []any{"x", nil}}), a2a.NewFileURLPart("https://x.example/a?b=c", "text/plain")}
	for range r.IntN(4) {
		if r.IntN(6) == 0 {
			report.Updates = append(report.Updates, blob("blob"))
			continue
		}
		report.Updates = append(report.Updates, piece(a2a.ArtifactID(fmt.Sprint("art-", r.IntN(2))), parts[r.IntN(len(parts))], r.IntN(3) > 0, r.IntN(3) == 0))
	}
	return report
}

// exported exports the desk's task.
func (d *desk) exported(scope export.Scope) []byte {
	d.t.Helper()
	var b bytes.Buffer
	if _, err := export.Write(context.Background(), &b, d.ledger, d.ref, export.Options{Scope: scope, At: d.now.Add(time.Hour), Policies: d.policies}); err != nil {
		d.t.Fatal(err)
	}
	return b.Bytes()
}
