package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestParity: one story through both adapters leaves the same behind, to the last
// byte of JSON.
func TestParity(t *testing.T) {
	embedded, err := sqlite.Open(t.TempDir(), sqlite.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := embedded.Close(); err != nil {
			t.Error(err)
		}
	})
	want := tell(t, embedded)
	got := tell(t, dynamo.New(client, tables(t), quick))
	for part, w := range want {
		if got[part] != w {
			t.Errorf("%s on DynamoDB:\n%s\nembedded:\n%s", part, got[part], w)
		}
	}
}

// tell goes through a task's life with names and times of its own, and reads
// everything that is left.
func tell(t *testing.T, l ledger.Ledger) map[string]string {
	t.Helper()
	clock := ledgertest.NewClock()
	count := 0
	next := func() string {
		count++
		return fmt.Sprintf("op-%d", count)
	}
	message := func(role a2a.MessageRole, text string) *a2a.Message {
		return &a2a.Message{ID: next(), Role: role, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
	}
	s := &storyteller{T: t, clock: clock, auth: &ledger.Authority{Ledger: l, Now: clock.Now, NewID: next}}
	ref := lifecycle.Ref{Tenant: "tenant <é>", Task: "0195a4b2-1111-7abc-8def-000000000042"}
	do := func(what string, f func() (ledger.Result, error)) {
		t.Helper()
		res, err := f()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if res.Task.Seq > 0 {
			s.task = res.Task
		}
		clock.Advance(1500 * time.Microsecond)
	}
	key := ledger.Key{Tenant: ref.Tenant, Hash: lifecycle.DigestBytes(nil)}
	do("submit", func() (ledger.Result, error) {
		return s.auth.Create(t.Context(), ref, lifecycle.Submit{
			ContextID: "conversation", Agent: "agent", AgentVersion: 1, Step: "first", Message: message(a2a.MessageRoleUser, "do <it> \u2028"), Policy: lifecycle.DefaultPolicy(),
		}, lifecycle.Source{Producer: "client"}, &key)
	})
	do("grant", s.grant)
	do("chunks", func() (ledger.Result, error) {
		var updates []lifecycle.Update
		for i, text := range []string{"part one", "part two"} {
			updates = append(updates, lifecycle.Update{Append: i > 0, Chunk: &lifecycle.Chunk{Artifact: "report", Last: i > 0, Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text))}})
		}
		return s.report(lifecycle.Report{Verb: lifecycle.VerbContinue, Keep: true, Next: "second", State: []byte(`{"n":12345678901234567890}`), Updates: updates})
	})
	do("an effect", func() (ledger.Result, error) {
		req := lifecycle.EffectRequest{Visit: s.task.Visit, Name: "pay", Policy: lifecycle.PolicyRetry, RequestDigest: "digest", Holder: s.task.Holder, Fence: s.task.Fence, CallUntil: clock.Now().Add(lease)}
		if _, err := s.auth.BeginEffect(t.Context(), ref, req); err != nil {
			return ledger.Result{}, err
		}
		return ledger.Result{}, s.auth.SettleCall(t.Context(), ref, s.task.Visit, "pay", 1, lifecycle.EffectDone, []byte(`{"x":1e400}`), "its own call")
	})
	do("pause", func() (ledger.Result, error) {
		return s.report(lifecycle.Report{Verb: lifecycle.VerbPause, Next: "third", Message: message(a2a.MessageRoleAgent, "May I?"), Pause: &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Timeout: time.Hour, Challenge: &lifecycle.Challenge{Action: "delete"}}})
	})
	do("reject", func() (ledger.Result, error) {
		return ledger.Result{}, l.Reject(t.Context(), ref, ledger.Rejected{At: lifecycle.Millis(clock.Now()), Producer: "client", EventID: "m", Reason: lifecycle.ConflictingContent, Detail: "because"})
	})
	do("authorize", func() (ledger.Result, error) {
		return s.do(lifecycle.Authorize{Grace: grace, Receipt: lifecycle.ReceiptRef{Challenge: 1, Issuer: "issuer", JTI: "1"}}, lifecycle.Source{Producer: "client"})
	})
	do("grant", s.grant)
	do("cancel", func() (ledger.Result, error) {
		return s.do(lifecycle.RequestCancel{Principal: "somebody"}, lifecycle.Source{Producer: "client"})
	})
	// In the clock's own zone and to the nanosecond: what is kept must be the same.
	do("configure", func() (ledger.Result, error) {
		e := ledger.Endpoint{ID: "one <é>", URL: "https://example.com/<é>", Secrets: []byte{0, 0xff}, CreatedAt: clock.Now(), Delivery: ledger.Delivery{DueAt: clock.Now()}}
		other := ledger.Endpoint{ID: "other", URL: "https://example.com", CreatedAt: clock.Now()}
		return ledger.Result{}, errors.Join(l.PutEndpoint(t.Context(), ref, e), l.PutEndpoint(t.Context(), ref, other))
	})
	do("deliver", func() (ledger.Result, error) {
		d := ledger.Delivery{Revision: 1, Attempt: 1, NextAt: clock.Now(), DueAt: clock.Now(), LeaseUntil: clock.Now(), Attempts: []ledger.Attempt{{At: clock.Now(), Seq: 1}}}
		return ledger.Result{}, errors.Join(l.Deliver(t.Context(), ref, "one <é>", d), l.Want(t.Context(), ref, "one <é>", 4, clock.Now()), l.Want(t.Context(), ref, "other", 5, clock.Now()))
	})
	do("complete", func() (ledger.Result, error) {
		return s.report(lifecycle.Report{Verb: lifecycle.VerbComplete, Message: message(a2a.MessageRoleAgent, "done")})
	})
	return remains(t, l, ref, key)
}

func remains(t *testing.T, l ledger.Ledger, ref lifecycle.Ref, key ledger.Key) map[string]string {
	t.Helper()
	out := map[string]string{}
	note := func(part string, v any, err error) {
		t.Helper()
		b, encoding := json.Marshal(v)
		if err != nil || encoding != nil {
			t.Fatalf("%s: %v, %v", part, err, encoding)
		}
		out[part] = string(b)
	}
	h, err := l.Head(t.Context(), ref)
	note("the head", h, err)
	entries, err := l.Entries(t.Context(), ref, 0, 0)
	note("the entries", entries, err)
	artifacts, err := l.Artifacts(t.Context(), ref)
	note("the artifacts", artifacts, err)
	effects, err := l.EffectList(t.Context(), ref)
	note("the effects", effects, err)
	rejections, err := l.Rejections(t.Context(), ref)
	note("the rejections", rejections, err)
	counts, err := l.Counts(t.Context(), ref)
	note("the counts", counts, err)
	keyNote, err := l.Key(t.Context(), key)
	note("the key", keyNote, err)
	parked, err := l.Parked(t.Context(), ref, 1)
	note("the pause", parked, err)
	endpoints, err := l.EndpointList(t.Context(), ref)
	note("the endpoints", endpoints, err)
	page, err := l.List(t.Context(), ledger.ListQuery{Tenant: ref.Tenant, Now: h.StatusAt})
	note("the list", page, err)
	return out
}
