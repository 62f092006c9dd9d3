package ledgertest

import (
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var actTests = []test{
	{"what an operator did is kept beside the task, also after its end", actKept},
	{"acts have places, exports the fewest", actCap},
	{"an act is bounded, and says who did what", actBounds},
	{"acts of several operators at once are all kept", actRace},
	{"an unknown task has no acts and takes none", actUnknown},
}

func (b *bench) act(i int, action ledger.Action) ledger.Acted {
	return ledger.Acted{At: lifecycle.Millis(b.clock.Now()), By: "key:night", Action: action, Detail: "because " + strconv.Itoa(i)}
}

func (b *bench) acts(ref lifecycle.Ref) []ledger.Acted {
	b.Helper()
	all, err := b.ledger.Acts(b.ctx, ref)
	b.ok(err)
	return all
}

func actKept(b *bench) {
	t := b.working("holder")
	first := b.act(1, ledger.ActionResume)
	first.Refused = "holder holds the lease"
	b.ok(b.ledger.Act(b.ctx, t.Ref(), first))
	b.is("the head", b.head(t.Ref()), t.Head)
	b.is("the guard does not see it", b.reported(t, progress()).Seq, t.Seq+1)
	t = b.reported(b.task(t.Ref()), ending(lifecycle.VerbComplete))
	second := b.act(2, ledger.ActionExport)
	second.Detail = ""
	b.ok(b.ledger.Act(b.ctx, t.Ref(), second))
	b.is("the acts, oldest first", b.acts(t.Ref()), []ledger.Acted{first, second})
	b.is("the head", b.head(t.Ref()), t.Head)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Acts: 2})
	b.is("another task's acts", len(b.acts(b.working("holder").Ref())), 0)
}

// actCap: exports leave room for what changes a task, and that leaves room for refusals.
func actCap(b *bench) {
	t := b.working("holder")
	var kept []ledger.Acted
	for _, kind := range []struct {
		action  ledger.Action
		refused string
		places  int
	}{{ledger.ActionExport, "", lifecycle.MaxActs / 2}, {ledger.ActionCancel, "", lifecycle.MaxActs * 3 / 4}, {ledger.ActionCancel, "it has ended", lifecycle.MaxActs}} {
		for len(kept) < kind.places {
			a := b.act(len(kept), kind.action)
			a.Refused = kind.refused
			b.ok(b.ledger.Act(b.ctx, t.Ref(), a))
			kept = append(kept, a)
		}
		more := b.act(len(kept), kind.action)
		more.Refused = kind.refused
		b.want("one more", b.ledger.Act(b.ctx, t.Ref(), more), ledger.ErrActsFull)
	}
	b.is("what is kept, in order", b.acts(t.Ref()), kept)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Acts: lifecycle.MaxActs})
}

func actBounds(b *bench) {
	t := b.working("holder")
	for name, change := range map[string]func(*ledger.Acted){
		"nobody":          func(a *ledger.Acted) { a.By = "" },
		"nothing":         func(a *ledger.Acted) { a.Action = "" },
		"a long name":     func(a *ledger.Acted) { a.By = strings.Repeat("x", lifecycle.MaxOperatorBytes+1) },
		"a long detail":   func(a *ledger.Acted) { a.Detail = strings.Repeat("x", lifecycle.MaxDetailBytes+1) },
		"a long refusal":  func(a *ledger.Acted) { a.Refused = strings.Repeat("x", lifecycle.MaxDetailBytes+1) },
		"what is no text": func(a *ledger.Acted) { a.Detail = "\xff" },
	} {
		a := b.act(1, ledger.ActionCancel)
		change(&a)
		if err := b.ledger.Act(b.ctx, t.Ref(), a); err == nil {
			b.Errorf("%s is taken", name)
		}
	}
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{})
	longest := b.act(1, ledger.ActionCancel)
	longest.By, longest.Detail = strings.Repeat("x", lifecycle.MaxOperatorBytes), strings.Repeat("\u202e", lifecycle.MaxDetailBytes/3)
	b.ok(b.ledger.Act(b.ctx, t.Ref(), longest))
	b.is("the longest", b.acts(t.Ref()), []ledger.Acted{longest})
}

func actRace(b *bench) {
	t := b.working("holder")
	const operators = 8
	var all sync.WaitGroup
	errs := make([]error, operators)
	for i := range operators {
		all.Go(func() { errs[i] = b.ledger.Act(b.ctx, t.Ref(), b.act(i, ledger.ActionReplay)) })
	}
	all.Wait()
	for _, err := range errs {
		b.ok(err)
	}
	seen := map[string]bool{}
	for _, a := range b.acts(t.Ref()) {
		seen[a.Detail] = true
	}
	b.is("how many are kept", len(seen), operators)
	b.is("the counts", b.counts(t.Ref()), ledger.Counts{Acts: operators})
}

func actUnknown(b *bench) {
	ref := b.newRef()
	b.want("an act", b.ledger.Act(b.ctx, ref, b.act(1, ledger.ActionCancel)), ledger.ErrNotFound)
	b.is("the acts", len(b.acts(ref)), 0)
}
