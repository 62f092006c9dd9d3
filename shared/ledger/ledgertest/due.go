package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var dueTests = []test{
	{"what is due comes earliest first, of all tenants", dueOrder},
	{"pages join, also among tasks that are due at one instant", duePages},
	{"due is what is not after the instant (I8)", dueInstant},
	{"a task is due again as its head says", dueMoves},
	{"an ended task is never due (I8)", dueEnded},
}

// dueCrowd creates tasks of two tenants that are due at three instants.
func (b *bench) dueCrowd() []lifecycle.Head {
	b.Helper()
	heads := make([]lifecycle.Head, 0, 24)
	other := &bench{T: b.T, desk: newDesk(b.ledger), ctx: b.ctx}
	for _, wait := range []time.Duration{3 * time.Second, time.Second, 2 * time.Second} {
		for range 4 {
			for _, tenant := range []*bench{b, other} {
				heads = append(heads, tenant.submittedWith(func(c *lifecycle.Submit) { c.Policy.Grace = wait }).Head)
			}
		}
	}
	return heads
}

// dueOf reads everything that is due, and keeps what belongs to the tenants of
// the wanted tasks: the ledger may hold others.
func (b *bench) dueOf(want []lifecycle.Head, before time.Time, limit int) ([]lifecycle.Head, error) {
	var got []lifecycle.Head
	var after *ledger.DueCursor
	for {
		page, err := b.ledger.Due(b.ctx, before, after, limit)
		if err != nil {
			return nil, err
		}
		if len(page.Heads) > limit {
			return nil, fmt.Errorf("a page of %d tasks, the limit is %d", len(page.Heads), limit)
		}
		for _, h := range page.Heads {
			ours := h.Tenant == b.tenant || slices.ContainsFunc(want, func(w lifecycle.Head) bool { return w.Tenant == h.Tenant })
			if ours {
				got = append(got, h)
			}
		}
		if page.Next == nil {
			return got, nil
		}
		if after != nil && *after == *page.Next {
			return nil, errors.New("a cursor that stands still")
		}
		after = page.Next
	}
}

// wantDue waits until exactly these tasks are due. Those of one instant may
// come in any order.
func (b *bench) wantDue(what string, before time.Time, limit int, want ...lifecycle.Head) {
	b.Helper()
	byName := func(x, y lifecycle.Head) int { return earliestFirst(x.DueAt, y.DueAt, x.Ref(), y.Ref()) }
	want = slices.SortedFunc(slices.Values(want), byName)
	b.ok(eventually(b.ctx, func() error {
		got, err := b.dueOf(want, before, limit)
		if err != nil {
			return err
		}
		if !slices.IsSortedFunc(got, func(x, y lifecycle.Head) int { return x.DueAt.Compare(y.DueAt) }) {
			return fmt.Errorf("%s: not the earliest first", what)
		}
		slices.SortFunc(got, byName)
		return sameTasks(what, got, want)
	}))
}

func dueOrder(b *bench) {
	all := b.dueCrowd()
	b.wantDue("all tasks", b.clock.Now().Add(time.Minute), 1000, all...)
}

func duePages(b *bench) {
	all := b.dueCrowd()
	for _, limit := range []int{1, 2, 3, 5, 7, 8, 23, 24, 25} {
		b.wantDue(fmt.Sprintf("pages of %d", limit), b.clock.Now().Add(time.Minute), limit, all...)
	}
}

func dueInstant(b *bench) {
	t := b.submitted()
	b.wantDue("at the instant", t.DueAt, 10, t.Head)
	b.wantDue("just before", t.DueAt.Add(-time.Millisecond), 10)
	b.wantDue("long after", t.DueAt.Add(10*365*24*time.Hour), 10, t.Head)
}

func dueMoves(b *bench) {
	t := b.submitted()
	first := t.DueAt
	b.clock.Advance(time.Second)
	t = b.granted(t, "holder")
	b.wantDue("at the old instant, after a grant", first, 10)
	b.wantDue("when the lease and its grace are over", t.DueAt, 10, t.Head)
	t = b.reported(t, lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "second", Until: b.clock.Now().Add(time.Hour)})
	b.wantDue("while it sleeps", t.DueAt.Add(-time.Millisecond), 10)
	b.wantDue("when it should be awake", t.DueAt, 10, t.Head)
}

func dueEnded(b *bench) {
	t := b.working("holder")
	b.wantDue("while it works", t.DueAt, 10, t.Head)
	t = b.reported(t, ending(lifecycle.VerbComplete))
	b.wantDue("for ever after", t.ExpiresAt.Add(time.Hour), 10)
}
