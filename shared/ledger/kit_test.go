// The ledger below the authority is the model (ledgertest.Memory); what fails is
// ledgertest.Faults. Both are real in what they keep and answer: only the disk
// and the network are missing. Time is fake: every test runs in a bubble.
package ledger_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	lease = 30 * time.Second
	grace = 10 * time.Second
)

// kit is a process whose ledger has faults, beside one whose ledger has none.
type kit struct {
	*testing.T
	ctx    context.Context //nolint:containedctx // the test's own
	memory *ledgertest.Memory
	clock  *ledgertest.Clock
	crash  *ledgertest.Crash
	faulty *ledger.Authority
	sound  *ledger.Authority
	ref    lifecycle.Ref
}

// bubble runs a test in fake time, with a plan for the faulty process.
func bubble(t *testing.T, plan ledgertest.Plan, run func(k *kit)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		k := &kit{
			T: t, ctx: t.Context(), memory: ledgertest.NewMemory(), clock: ledgertest.NewClock(), crash: &ledgertest.Crash{},
			ref: lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()},
		}
		faults := &ledgertest.Faults{Plan: plan, Crash: k.crash}
		k.faulty = &ledger.Authority{Ledger: faults.Ledger(k.memory), Now: k.clock.Now, NewID: a2a.NewMessageID}
		k.sound = &ledger.Authority{Ledger: k.memory, Now: k.clock.Now, NewID: a2a.NewMessageID}
		run(k)
		k.verify()
	})
}

func says(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))
}

func submission() lifecycle.Submit {
	return lifecycle.Submit{
		ContextID: "conversation", Agent: "agent", AgentVersion: 1, Step: "first", Message: says("do it"),
		RequestDigest: lifecycle.DigestBytes(nil), Policy: lifecycle.DefaultPolicy(),
	}
}

func source(producer string) lifecycle.Source { return lifecycle.Source{Producer: producer} }

func grant(generation uint64) lifecycle.Grant {
	return lifecycle.Grant{Holder: "holder", Generation: generation, Lease: lease, Grace: grace}
}

func report(t lifecycle.Task, verb lifecycle.Verb) lifecycle.Report {
	r := lifecycle.Report{Holder: t.Holder, Fence: t.Fence, Verb: verb, Next: "next", Grace: grace}
	switch verb {
	case lifecycle.VerbSubStep:
		r.Updates = []lifecycle.Update{{Message: says("one")}, {Message: says("two")}}
	case lifecycle.VerbPause:
		r.Message = says("may I?")
		r.Pause = &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}
	}
	return r
}

// must stops the test at an error.
func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

func (k *kit) rejected(err error, reason lifecycle.Reason) {
	k.Helper()
	if !lifecycle.RejectedFor(err, reason) {
		k.Fatalf("error %v, want a rejection for %s", err, reason)
	}
}

// do runs a command on the task as it is now. Goroutines may call it.
func (k *kit) do(a *ledger.Authority, cmd lifecycle.Command) (ledger.Result, error) {
	t, err := k.sound.Load(k.ctx, k.ref)
	if err != nil {
		return ledger.Result{}, err
	}
	return a.Do(k.ctx, t, cmd, source("test"), ledger.Extra{})
}

func (k *kit) load() lifecycle.Task {
	k.Helper()
	t, err := k.sound.Load(k.ctx, k.ref)
	k.must(err)
	return t
}

// working submits the kit's task and grants its first lease, without faults.
func (k *kit) working() lifecycle.Task {
	k.Helper()
	_, err := k.sound.Create(k.ctx, k.ref, submission(), source("client"), nil)
	k.must(err)
	res, err := k.do(k.sound, grant(1))
	k.must(err)
	return res.Task
}

// paused lets the kit's task wait for input.
func (k *kit) paused() lifecycle.Task {
	k.Helper()
	res, err := k.do(k.sound, report(k.working(), lifecycle.VerbPause))
	k.must(err)
	return res.Task
}

func (k *kit) entries() []lifecycle.Entry {
	k.Helper()
	entries, err := k.memory.Entries(k.ctx, k.ref, 0, 0)
	k.must(err)
	return entries
}

// calls counts the faulty process's calls of a method.
func (k *kit) calls(method string) int {
	n := 0
	for _, name := range k.crash.Names() {
		if name == method {
			n++
		}
	}
	return n
}

func (k *kit) equal(what string, got, want any) {
	k.Helper()
	if got != want {
		k.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// verify holds the task against the invariants, if it was ever created.
func (k *kit) verify() {
	k.Helper()
	t, err := k.sound.Load(k.ctx, k.ref)
	if errors.Is(err, ledger.ErrNotFound) {
		return
	}
	k.must(err)
	folded, err := lifecycle.Fold(k.ref, k.entries())
	k.must(err)
	got, err := lifecycle.DigestJSON(t.Folded())
	k.must(err)
	want, err := lifecycle.DigestJSON(folded.Folded())
	k.must(err)
	k.equal("I1: the digest of the head's folded part", got, want)
	for _, broken := range lifecycle.Check(t) {
		k.Error(broken)
	}
}
