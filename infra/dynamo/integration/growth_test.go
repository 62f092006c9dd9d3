package integration_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestCostDoesNotGrow: what an act on one task costs is the same however many other
// tasks there are; a page of a list costs by its own length. Counting alone grows, by a
// read unit for some 40 tasks, up to its bound.
func TestCostDoesNotGrow(t *testing.T) {
	s := newStory(t)
	cost := func(do func() (ledger.Result, error)) dynamo.Units {
		t.Helper()
		before := s.meter.Spent()
		res, err := do()
		if err != nil {
			t.Fatal(err)
		}
		s.task = res.Task
		return s.meter.Spent().Sub(before)
	}
	page := func(state ledger.ListQuery) func() (ledger.Result, error) {
		return func() (ledger.Result, error) {
			state.Tenant, state.Agent, state.Now, state.Limit = s.task.Tenant, s.task.Agent, s.clock.Now(), 5
			found, err := s.auth.Ledger.List(t.Context(), state)
			if err == nil && len(found.Heads) != 5 {
				t.Errorf("a page of %d tasks", len(found.Heads))
			}
			return ledger.Result{Task: s.task}, err
		}
	}
	acts := []struct {
		name string
		do   func() (ledger.Result, error)
	}{
		{"create", s.submitAnother}, {"grant, started", s.grant}, {"step", s.step}, {"renewal", s.renew},
		{"head and entries", func() (ledger.Result, error) {
			_, err := s.auth.Load(t.Context(), s.task.Ref())
			if err == nil {
				_, err = s.auth.Ledger.Entries(t.Context(), s.task.Ref(), 0, 0)
			}
			return ledger.Result{Task: s.task}, err
		}},
		{"complete", s.complete},
		{"a page", page(ledger.ListQuery{})},
		{"a page of completed tasks", page(ledger.ListQuery{State: lifecycle.Completed})},
	}
	const few, many = 10, 200
	measured := map[int]map[string]dynamo.Units{}
	made := 0
	for _, n := range []int{few, many} {
		for ; made < n; made++ {
			for _, a := range acts[:3] {
				cost(a.do)
			}
			cost(s.complete)
		}
		measured[n] = map[string]dynamo.Units{}
		for _, a := range acts {
			measured[n][a.name] = cost(a.do)
		}
	}
	for _, a := range acts {
		x, y := measured[few][a.name], measured[many][a.name]
		t.Logf("%-26s with %3d tasks %5.1f write units %5.1f read units %2d requests; with %3d %5.1f, %5.1f, %2d", a.name, few, x.Writes, x.Reads, x.Requests, many, y.Writes, y.Reads, y.Requests)
		if y.Writes > x.Writes || y.Requests > x.Requests || y.Reads > x.Reads {
			t.Errorf("%s grows with the number of tasks", a.name)
		}
	}
}
