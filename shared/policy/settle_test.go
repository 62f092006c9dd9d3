package policy_test

import (
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// ended is the last entry of a task in a state.
func ended(t *testing.T, state a2a.TaskState) lifecycle.Entry {
	t.Helper()
	ops := 0
	authority := &ledger.Authority{Ledger: ledgertest.NewMemory(), Now: func() time.Time { return noon }, NewID: func() string { ops++; return strconv.Itoa(ops) }}
	src := lifecycle.Source{Producer: "test"}
	res, err := authority.Create(t.Context(), lifecycle.Ref{Tenant: "acme", Task: "t-1"}, lifecycle.Submit{
		ContextID: "c", Agent: "a", AgentVersion: 1, Step: "s", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), Policy: lifecycle.DefaultPolicy(),
	}, src, nil)
	do := func(cmd lifecycle.Command) {
		t.Helper()
		if err == nil {
			res, err = authority.Do(t.Context(), res.Task, cmd, src, ledger.Extra{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if state == lifecycle.Canceled {
		do(lifecycle.RequestCancel{})
	} else {
		verb := map[a2a.TaskState]lifecycle.Verb{lifecycle.Completed: lifecycle.VerbComplete, lifecycle.Failed: lifecycle.VerbFail, lifecycle.Rejected: lifecycle.VerbReject, lifecycle.Working: lifecycle.VerbSubStep}[state]
		do(lifecycle.Grant{Holder: "h", Generation: 1, Lease: time.Minute})
		do(lifecycle.Report{Holder: "h", Fence: 1, Verb: verb, State: []byte("{}")})
	}
	return res.Entries[len(res.Entries)-1]
}

// TestSettle is the whole table: how the task ended, what is known of the effect, whether it can be undone, on which basis
// is billed.
func TestSettle(t *testing.T) {
	const by = "the owner"
	type want struct {
		duty  policy.Duty
		units int64 // on the basis effects
	}
	stands, nothing, undo, ask := want{policy.DutyNone, 2}, want{policy.DutyNone, 0}, want{policy.DutyCompensate, 0}, want{policy.DutyFindOut, 0}
	completed, other := true, false
	rows := map[bool]map[lifecycle.EffectState][2]want{ // compensable, not compensable
		completed: {
			lifecycle.EffectDone: {stands, stands}, lifecycle.EffectFailed: {nothing, nothing},
			lifecycle.EffectInDoubt: {ask, ask}, lifecycle.EffectIntended: {ask, ask},
		},
		other: {
			lifecycle.EffectDone: {undo, stands}, lifecycle.EffectFailed: {nothing, nothing},
			lifecycle.EffectInDoubt: {ask, ask}, lifecycle.EffectIntended: {ask, ask},
		},
	}
	bases := map[lifecycle.Basis]map[a2a.TaskState]int64{ // what the task is, on the bases that bill tasks
		lifecycle.BillNothing:   {},
		lifecycle.BillEffects:   {},
		lifecycle.BillAccepted:  {lifecycle.Completed: 5, lifecycle.Failed: 5, lifecycle.Canceled: 5},
		lifecycle.BillCompleted: {lifecycle.Completed: 5},
	}
	tried := 0
	for _, state := range []a2a.TaskState{lifecycle.Completed, lifecycle.Failed, lifecycle.Canceled, lifecycle.Rejected} {
		end := ended(t, state)
		for effect, wants := range rows[state == lifecycle.Completed] {
			for i, w := range wants {
				terms := lifecycle.EffectTerms{By: by, Units: 2}
				if i == 1 {
					terms.By = ""
				}
				for basis, task := range bases {
					tried++
					e := lifecycle.Effect{Name: "pay", Key: "t-1:1:pay", Visit: 1, State: effect}
					got, err := policy.Settle(policy.Recorded{End: end, Policy: "gold@3", Effects: []lifecycle.Effect{e}, Terms: &lifecycle.Terms{
						Effects: map[string]lifecycle.EffectTerms{"pay": terms}, Billing: lifecycle.Billing{Basis: basis, Units: 5},
					}})
					units := w.units
					if basis != lifecycle.BillEffects {
						units = 0
					}
					expect := policy.Settlement{
						State: state, Receipt: lifecycle.TerminalReceipt{Seq: end.Seq, Chain: end.Chain}, Policy: "gold@3", Basis: basis, Units: units + task[state],
						Effects: []policy.SettledEffect{{Key: "t-1:1:pay", State: effect, Duty: w.duty, By: terms.By, Units: units}},
					}
					if w.duty == policy.DutyCompensate {
						expect.Compensate = 1
					}
					if w.duty == policy.DutyFindOut {
						expect.Open = 1
					}
					if err != nil || !reflect.DeepEqual(got, expect) {
						t.Errorf("%s, effect %s, undone by %q, billed by %q:\n got %+v (%v)\nwant %+v", state, effect, terms.By, basis, got, err, expect)
					}
				}
			}
		}
	}
	if want := 4 * 4 * 2 * 4; tried != want {
		t.Errorf("%d rows were tried, want %d", tried, want)
	}
}

// TestSettleSums: effects are settled one by one and counted together.
func TestSettleSums(t *testing.T) {
	terms := &lifecycle.Terms{Billing: lifecycle.Billing{Basis: lifecycle.BillEffects}, Effects: map[string]lifecycle.EffectTerms{"*": {Units: 1}, "revoke-*": {By: "the owner", Units: 10}, "revoke-9": {Units: 100}}}
	var effects []lifecycle.Effect
	for _, name := range []string{"notify", "revoke-1", "revoke-2", "revoke-9", "revoke-10"} {
		effects = append(effects, lifecycle.Effect{Name: name, Key: name, State: lifecycle.EffectDone})
	}
	effects[2].State = lifecycle.EffectInDoubt
	for state, want := range map[a2a.TaskState][3]int{lifecycle.Completed: {121, 0, 1}, lifecycle.Failed: {101, 2, 1}} {
		s, err := policy.Settle(policy.Recorded{End: ended(t, state), Terms: terms, Effects: effects})
		if err != nil || s.Units != int64(want[0]) || s.Compensate != want[1] || s.Open != want[2] {
			t.Errorf("%s: %d units, %d to be undone, %d open (%v), want %v", state, s.Units, s.Compensate, s.Open, err, want)
		}
	}
}

// TestSettleOld: a task without a document is billed nothing, and nothing of it can be undone.
func TestSettleOld(t *testing.T) {
	s, err := policy.Settle(policy.Recorded{End: ended(t, lifecycle.Failed), Policy: "default@1", Effects: []lifecycle.Effect{{Name: "pay", State: lifecycle.EffectDone}, {Name: "ask", State: lifecycle.EffectInDoubt}}})
	if err != nil || s.Units != 0 || s.Compensate != 0 || s.Open != 1 || s.Effects[0].Duty != policy.DutyNone {
		t.Errorf("%+v (%v)", s, err)
	}
}

// TestSettleEndedOnly: a task that has not ended is not settled.
func TestSettleEndedOnly(t *testing.T) {
	if s, err := policy.Settle(policy.Recorded{End: ended(t, lifecycle.Working)}); err == nil {
		t.Errorf("settled all the same: %+v", s)
	}
	if s, err := policy.Settle(policy.Recorded{}); err == nil {
		t.Errorf("settled nothing: %+v", s)
	}
}

// TestTermsOf: the name counts before its beginning, and a longer beginning before a shorter one.
func TestTermsOf(t *testing.T) {
	all := map[string]lifecycle.EffectTerms{}
	for i, name := range []string{"*", "re*", "revoke-*", "revoke-1", "revoke-1*"} {
		all[name] = lifecycle.EffectTerms{By: name, Units: int64(i)}
	}
	for name, want := range map[string]string{"notify": "*", "read": "re*", "revoke": "re*", "revoke-2": "revoke-*", "revoke-": "revoke-*", "revoke-1": "revoke-1", "revoke-12": "revoke-1*"} {
		if got := policy.TermsOf(all, name).By; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	delete(all, "*")
	if got := policy.TermsOf(all, "notify"); got != (lifecycle.EffectTerms{}) {
		t.Errorf("no name fits: %+v", got)
	}
}
