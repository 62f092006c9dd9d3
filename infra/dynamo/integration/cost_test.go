package integration_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

const (
	lease = 30 * time.Second
	grace = 30 * time.Second
)

// storyteller writes a task's story through a ledger and counts what each act
// costs.
type storyteller struct {
	*testing.T
	auth  *ledger.Authority
	clock *ledgertest.Clock
	meter *dynamo.Meter
	bill  *billed
	names dynamo.Names
	task  lifecycle.Task
}

// newStory begins on tables of its own.
func newStory(t *testing.T) *storyteller {
	t.Helper()
	bill := &billed{API: client}
	m := dynamo.NewMeter(bill)
	clock, names := ledgertest.NewClock(), tables(t)
	return &storyteller{T: t, clock: clock, meter: m, bill: bill, names: names, auth: &ledger.Authority{Ledger: dynamo.New(m, names, quick), Now: clock.Now, NewID: a2a.NewMessageID}}
}

// act does something, and fails when it costs more write units than it did.
func (s *storyteller) act(name string, most float64, do func() (ledger.Result, error)) {
	s.Helper()
	before := s.meter.Spent()
	tables, others, untold := s.bill.spent()
	res, err := do()
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	s.task = res.Task
	s.clock.Advance(time.Second)
	u := s.meter.Spent().Sub(before)
	tablesAfter, othersAfter, untoldAfter := s.bill.spent()
	s.Logf("%-24s %5.1f write units %5.1f read units %2d requests; the server says %.1f and %.1f for the indexes", name, u.Writes, u.Reads, u.Requests, tablesAfter-tables, othersAfter-others)
	// A server that tells the price of the table must agree; some tell that of the
	// indexes alone where it was a transaction.
	if told := tablesAfter - tables; told > 0 && untoldAfter == untold && told+othersAfter-others != u.Writes {
		s.Errorf("%s: the model says %.1f write units, the server %.1f", name, u.Writes, told+othersAfter-others)
	}
	if u.Writes > most {
		s.Errorf("%s costs %.1f write units, it was %.1f: find out why before you raise this", name, u.Writes, most)
	}
}

func (s *storyteller) submit() (ledger.Result, error) { return s.submitUnder("key") }

// submitAnother submits under a key of its own.
func (s *storyteller) submitAnother() (ledger.Result, error) {
	return s.submitUnder(a2a.NewMessageID())
}

func (s *storyteller) submitUnder(key string) (ledger.Result, error) {
	ref := lifecycle.Ref{Tenant: "acme-production", Task: a2a.NewTaskID()}
	policies, err := policy.Shipped()
	if err != nil {
		return ledger.Result{}, err
	}
	judged, err := policies.Find(policy.Default)
	if err != nil {
		return ledger.Result{}, err
	}
	cmd := lifecycle.Submit{
		ContextID: a2a.NewContextID(), Agent: "accessreview", AgentVersion: 3, Step: "gather-grants", Principal: strings.Repeat("f", 32),
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Review who has access to our 40 systems, and revoke what nobody needs.")), RequestDigest: lifecycle.DigestBytes(nil), Policy: judged.Policy(),
	}
	return s.auth.Create(s.Context(), ref, cmd, lifecycle.Source{Producer: "client"}, &ledger.Key{Tenant: ref.Tenant, Hash: lifecycle.DigestBytes([]byte(key))})
}

func (s *storyteller) source() lifecycle.Source {
	return lifecycle.Source{Producer: "runner", Holder: s.task.Holder, Fence: s.task.Fence}
}

func (s *storyteller) do(cmd lifecycle.Command, src lifecycle.Source) (ledger.Result, error) {
	return s.auth.Do(s.Context(), s.task, cmd, src, ledger.Extra{})
}

func (s *storyteller) grant() (ledger.Result, error) {
	holder := string(s.task.Task) + "-g1"
	return s.do(lifecycle.Grant{Holder: holder, Generation: s.task.Generation, Lease: lease, Grace: grace}, lifecycle.Source{Producer: "runner", Holder: holder})
}

func (s *storyteller) renew() (ledger.Result, error) {
	return s.do(lifecycle.Renew{Holder: s.task.Holder, Fence: s.task.Fence, Lease: lease}, s.source())
}

func (s *storyteller) report(r lifecycle.Report) (ledger.Result, error) {
	r.Holder, r.Fence, r.Grace = s.task.Holder, s.task.Fence, grace
	return s.do(r, s.source())
}

func says(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
}

// step moves on within the lease, with a state of ordinary size and a progress
// message.
func (s *storyteller) step() (ledger.Result, error) {
	state, err := json.Marshal(map[string]any{"systems": 40, "revoked": 9, "cursor": "payroll"})
	if err != nil {
		return ledger.Result{}, err
	}
	return s.report(lifecycle.Report{Verb: lifecycle.VerbContinue, Keep: true, Next: "apply-revocations", State: state,
		Updates: []lifecycle.Update{{Message: says("9 of 14 grants revoked.")}}})
}

func (s *storyteller) complete() (ledger.Result, error) {
	return s.report(lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says("Done: 14 grants revoked.")})
}

// TestCost counts a task of six steps, and what else may happen to it. Aim for
// the six steps: 50 write units.
func TestCost(t *testing.T) {
	s := newStory(t)
	s.act("create", 9, s.submit)
	s.act("grant, started", 10, s.grant)
	for range 5 {
		s.act("step", 4, s.step)
	}
	s.act("complete", 11, s.complete)
	const aim = 50
	if u := s.meter.Spent(); u.Writes > aim {
		t.Errorf("a task of six steps costs %.1f write units, the aim is %d", u.Writes, aim)
	} else {
		t.Logf("%-24s %5.1f write units %5.1f read units %d requests", "six steps in all", u.Writes, u.Reads, u.Requests)
	}

	s = newStory(t)
	s.act("create", 9, s.submit)
	s.act("grant, started", 10, s.grant)
	s.act("renewal", 1, s.renew)
	s.act("pause", 10, func() (ledger.Result, error) {
		return s.report(lifecycle.Report{Verb: lifecycle.VerbPause, Next: "second", Message: says("May I?"), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}})
	})
	s.act("park", 1, func() (ledger.Result, error) {
		token := ledger.Token{Value: strings.Repeat("t", 600), Generation: 1, EnteredAt: lifecycle.Millis(s.clock.Now())}
		_, err := s.auth.Ledger.Park(s.Context(), s.task.Ref(), 1, token)
		return ledger.Result{Task: s.task}, err
	})
	s.act("reply", 14, func() (ledger.Result, error) {
		return s.auth.Do(s.Context(), s.task, lifecycle.Reply{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("yes")), Grace: grace},
			lifecycle.Source{Producer: "client"}, ledger.Extra{Receipt: &ledger.Receipt{Producer: "client", EventID: a2a.NewMessageID(), Digest: lifecycle.DigestBytes(nil)}})
	})
	s.act("grant", 3, s.grant)
	s.act("intent", 4, func() (ledger.Result, error) {
		_, err := s.auth.BeginEffect(s.Context(), s.task.Ref(), lifecycle.EffectRequest{
			Visit: s.task.Visit, Name: "revoke", Policy: lifecycle.PolicyRetry, RequestDigest: lifecycle.DigestBytes(nil), Holder: s.task.Holder, Fence: s.task.Fence, CallUntil: s.clock.Now().Add(lease)})
		return ledger.Result{Task: s.task}, err
	})
	s.act("its result", 1, func() (ledger.Result, error) {
		err := s.auth.SettleCall(s.Context(), s.task.Ref(), s.task.Visit, "revoke", 1, lifecycle.EffectDone, []byte(`{"ok":true}`), "its own call")
		return ledger.Result{Task: s.task}, err
	})
	s.act("chunk, sealed", 8, func() (ledger.Result, error) {
		text := "part one"
		chunk := &lifecycle.Chunk{Artifact: "report", Last: true, Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text))}
		return s.report(lifecycle.Report{Verb: lifecycle.VerbContinue, Keep: true, Next: "third", Updates: []lifecycle.Update{{Chunk: chunk}}})
	})
	s.act("mark", 1, func() (ledger.Result, error) {
		return s.auth.Do(s.Context(), s.task, lifecycle.RequestCancel{Principal: "somebody"}, lifecycle.Source{Producer: "client"}, ledger.Extra{})
	})
	s.act("canceled", 13, func() (ledger.Result, error) {
		return s.report(lifecycle.Report{Verb: lifecycle.VerbSubStep})
	})
	s.act("rejection", 4, func() (ledger.Result, error) {
		err := s.auth.Ledger.Reject(s.Context(), s.task.Ref(), ledger.Rejected{At: s.clock.Now(), Producer: "client", Reason: lifecycle.PostTerminal, Detail: "the task has ended"})
		return ledger.Result{Task: s.task}, err
	})
	s.act("acknowledged", 8, func() (ledger.Result, error) {
		h, err := s.auth.Acknowledge(s.Context(), s.task.Ref(), s.task.TerminalReceipt())
		return ledger.Result{Task: lifecycle.Task{Head: h}}, err
	})
	s.act("list", 0, func() (ledger.Result, error) {
		_, err := s.auth.Ledger.List(s.Context(), ledger.ListQuery{Tenant: s.task.Tenant, Now: s.clock.Now(), Limit: 50})
		return ledger.Result{Task: s.task}, err
	})
	s.act("what is due", 0, func() (ledger.Result, error) {
		_, err := s.auth.Ledger.Due(s.Context(), s.clock.Now(), nil, 100)
		return ledger.Result{Task: s.task}, err
	})
}
