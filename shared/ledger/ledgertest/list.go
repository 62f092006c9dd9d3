package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var listTests = []test{
	{"latest status first, tasks of one instant by ID descending", listOrder},
	{"pages join without gap or overlap", listPages},
	{"a page goes on where its task was before it moved", listMoved},
	{"each filter selects", listFilters},
	{"a progress message does not move a task", listProgress},
	{"what has expired is hidden (I8)", listExpired},
	{"a tenant without tasks has none (I10)", listEmpty},
}

// submittedWith creates a task whose submission was changed.
func (b *bench) submittedWith(change func(*lifecycle.Submit)) lifecycle.Task {
	b.Helper()
	cmd := submission()
	change(&cmd)
	res, err := b.auth.Create(b.ctx, b.newRef(), cmd, client(), nil)
	b.ok(err)
	return res.Task
}

// crowd creates tasks of three instants, several of each.
func (b *bench) crowd() []lifecycle.Head {
	b.Helper()
	heads := make([]lifecycle.Head, 0, 12)
	for range 3 {
		for range 4 {
			heads = append(heads, b.submitted().Head)
		}
		b.clock.Advance(time.Millisecond)
	}
	slices.SortFunc(heads, func(x, y lifecycle.Head) int { return latestFirst(x.StatusAt, y.StatusAt, x.Task, y.Task) })
	return heads
}

func (b *bench) query() ledger.ListQuery {
	return ledger.ListQuery{Tenant: b.tenant, Now: b.clock.Now(), Limit: 100}
}

// pages reads a list to its end.
func (b *bench) pages(q ledger.ListQuery) (heads []lifecycle.Head, pages int, err error) {
	for {
		page, err := b.ledger.List(b.ctx, q)
		if err != nil {
			return nil, pages, err
		}
		pages++
		if len(page.Heads) > q.Limit {
			return nil, pages, fmt.Errorf("a page of %d tasks, the limit is %d", len(page.Heads), q.Limit)
		}
		heads = append(heads, page.Heads...)
		if page.Next == nil {
			return heads, pages, nil
		}
		if pages > 1000 {
			return nil, pages, errors.New("a list that does not end")
		}
		q.After = page.Next
	}
}

// wantList waits until a query gives these tasks, in this order, and counts
// them.
func (b *bench) wantList(what string, q ledger.ListQuery, want []lifecycle.Head) {
	b.Helper()
	b.ok(eventually(b.ctx, func() error {
		got, _, err := b.pages(q)
		if err != nil {
			return err
		}
		n, err := b.ledger.Count(b.ctx, q)
		if err != nil {
			return err
		}
		return errors.Join(sameTasks(what, got, want), same(what+": the count", n, ledger.Counted{Tasks: len(want)}))
	}))
}

func sameTasks(what string, got, want []lifecycle.Head) error {
	if len(got)+len(want) == 0 {
		return nil
	}
	return same(what, got, want)
}

func listOrder(b *bench) {
	b.wantList("all tasks", b.query(), b.crowd())
	heads, _, err := b.pages(b.query())
	b.ok(err)
	for i := 1; i < len(heads); i++ {
		x, y := heads[i-1], heads[i]
		if !x.StatusAt.After(y.StatusAt) && (!x.StatusAt.Equal(y.StatusAt) || x.Task <= y.Task) {
			b.Fatalf("%s of %s is listed before %s of %s", x.Task, x.StatusAt, y.Task, y.StatusAt)
		}
	}
}

func listPages(b *bench) {
	all := b.crowd()
	b.wantList("all tasks", b.query(), all)
	for limit := 1; limit <= len(all)+1; limit++ {
		q := b.query()
		q.Limit = limit
		b.wantList(fmt.Sprintf("pages of %d", limit), q, all)
		_, pages, err := b.pages(q)
		b.ok(err)
		b.is(fmt.Sprintf("Next is nil on the last page: pages of %d", limit), pages, (len(all)+limit-1)/limit)
	}
}

// listMoved lets the task at a page's end move while somebody turns the page.
func listMoved(b *bench) {
	all := b.crowd()
	b.wantList("all tasks", b.query(), all)
	q := b.query()
	q.Limit = 5
	page, err := b.ledger.List(b.ctx, q)
	b.ok(err)
	moved := page.Heads[len(page.Heads)-1]
	b.granted(lifecycle.Task{Head: moved}, "holder")
	q.After = page.Next
	b.ok(eventually(b.ctx, func() error {
		rest, _, err := b.pages(q)
		if err != nil {
			return err
		}
		return sameTasks("the rest", rest, all[5:])
	}))
}

func listFilters(b *bench) {
	other := b.submittedWith(func(c *lifecycle.Submit) { c.Agent, c.AgentVersion = "other", 12 }).Head
	b.clock.Advance(time.Second)
	conversation := b.submittedWith(func(c *lifecycle.Submit) { c.ContextID = "another conversation" }).Head
	b.clock.Advance(time.Second)
	working := b.working("holder").Head
	b.clock.Advance(time.Second)
	done := b.reported(b.working("holder"), ending(lifecycle.VerbComplete)).Head

	all := []lifecycle.Head{done, working, conversation, other}
	for what, c := range map[string]struct {
		change func(*ledger.ListQuery)
		want   []lifecycle.Head
	}{
		"all":              {func(*ledger.ListQuery) {}, all},
		"by agent":         {func(q *ledger.ListQuery) { q.Agent = "other" }, all[3:]},
		"by version":       {func(q *ledger.ListQuery) { q.AgentVersion = 12 }, all[3:]},
		"another version":  {func(q *ledger.ListQuery) { q.AgentVersion = 1 }, all[:3]},
		"by agent version": {func(q *ledger.ListQuery) { q.Agent, q.AgentVersion = "other", 1 }, nil},
		"by conversation":  {func(q *ledger.ListQuery) { q.ContextID = "another conversation" }, all[2:3]},
		"by state":         {func(q *ledger.ListQuery) { q.State = lifecycle.Working }, all[1:2]},
		"submitted":        {func(q *ledger.ListQuery) { q.State = lifecycle.Submitted }, all[2:]},
		"since":            {func(q *ledger.ListQuery) { q.Since = working.StatusAt }, all[:2]},
		"since just after": {func(q *ledger.ListQuery) { q.Since = working.StatusAt.Add(time.Millisecond) }, all[:1]},
		"by two":           {func(q *ledger.ListQuery) { q.Agent, q.State = "other", lifecycle.Submitted }, all[3:]},
		"by all": {func(q *ledger.ListQuery) {
			q.Agent, q.ContextID, q.State, q.Since = agentName, "conversation", lifecycle.Completed, other.StatusAt
		}, all[:1]},
		"nothing": {func(q *ledger.ListQuery) { q.Agent, q.State = "other", lifecycle.Working }, nil},
	} {
		q := b.query()
		c.change(&q)
		b.wantList(what, q, c.want)
		q.Limit = 1
		b.wantList(what+", one a page", q, c.want)
	}
}

func listProgress(b *bench) {
	older := b.working("holder")
	b.clock.Advance(time.Second)
	younger := b.working("holder")
	b.clock.Advance(time.Second)
	older = b.reported(older, progress())
	b.wantList("after a progress message", b.query(), []lifecycle.Head{younger.Head, older.Head})
	b.clock.Advance(time.Second)
	older = b.reported(older, ending(lifecycle.VerbComplete))
	b.wantList("after a state change", b.query(), []lifecycle.Head{older.Head, younger.Head})
}

func listExpired(b *bench) {
	live := b.submitted()
	b.clock.Advance(time.Second)
	done := b.reported(b.working("holder"), ending(lifecycle.VerbComplete))
	q := b.query()
	q.Now = done.ExpiresAt.Add(-time.Millisecond)
	b.wantList("before the expiry", q, []lifecycle.Head{done.Head, live.Head})
	q.Now = done.ExpiresAt
	b.wantList("from the expiry on", q, []lifecycle.Head{live.Head})
	q.State = lifecycle.Completed
	b.wantList("from the expiry on, completed", q, nil)
}

func listEmpty(b *bench) {
	b.submitted()
	q := b.query()
	q.Tenant = "tenant-" + a2a.NewContextID()
	b.wantList("a tenant without tasks", q, nil)
}
