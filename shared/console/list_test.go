package console_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

type row struct {
	Task                            a2a.TaskID
	State, Agent, ContextID, Holder string
	AgentVersion                    int
	StatusAt, Deadline, NextAt      time.Time
	Stuck                           []struct{ Reason, Says string }
}

type listing struct {
	Rows   []row
	Next   string
	Looked int
	Short  bool
}

// list reads all pages of a list.
func (w *world) list(query string) (rows []row, pages int) {
	w.Helper()
	for after := ""; ; pages++ {
		var l listing
		w.read("tasks?"+query+"&after="+url.QueryEscape(after), &l)
		rows = append(rows, l.Rows...)
		if after = l.Next; after == "" {
			return rows, pages + 1
		}
		if pages > 1000 {
			w.Fatalf("%s has no end", query)
		}
	}
}

// crowd is some tasks in every state, of several agents, versions and contexts.
func (w *world) crowd() []lifecycle.Head {
	w.Helper()
	dice := rand.New(rand.NewPCG(7, 7))
	var heads []lifecycle.Head
	for i := range 60 {
		w.clock.Advance(time.Duration(dice.IntN(100)) * time.Second)
		t := w.submit(func(s *lifecycle.Submit) {
			s.ContextID, s.AgentVersion = fmt.Sprintf("context-%d", i%5), 1+i%3
			if i%7 == 0 {
				s.Agent, s.AgentVersion, s.Principal = "field", 1, "abc"
			}
		})
		switch i % 6 {
		case 0:
		case 1:
			t = w.do(t, granted(1))
		case 2:
			t = w.do(t, granted(1), asks("Which?"))
		case 3:
			t = w.do(t, granted(1), ends(lifecycle.VerbComplete))
		case 4:
			t = w.do(t, granted(1), ends(lifecycle.VerbFail))
		case 5:
			t = w.do(t, granted(1), waits(w.clock.Now().Add(24*time.Hour)))
		}
		heads = append(heads, t.Head)
	}
	slices.SortFunc(heads, func(a, b lifecycle.Head) int {
		if n := b.StatusAt.Compare(a.StatusAt); n != 0 {
			return n
		}
		return strings.Compare(string(b.Task), string(a.Task))
	})
	return heads
}

// TestList: the list filters by state, by age in the state, by the deadline of an answer,
// by agent and version, by context, by who submitted, and by what is stuck, in pages of any
// size (case 73: operators see every task, also of agents that nobody streams).
func TestList(t *testing.T) {
	w := newWorld(t)
	heads := w.crowd()
	now := w.clock.Now()
	in := func(states ...a2a.TaskState) func(lifecycle.Head) bool {
		return func(h lifecycle.Head) bool { return slices.Contains(states, h.State) }
	}
	for query, wanted := range map[string]func(lifecycle.Head) bool{
		"":                            func(lifecycle.Head) bool { return true },
		"state=live":                  func(h lifecycle.Head) bool { return !h.Terminal() },
		"state=working":               in(lifecycle.Working),
		"state=input-required,failed": in(lifecycle.InputRequired, lifecycle.Failed),
		"state=live,live":             func(h lifecycle.Head) bool { return !h.Terminal() },
		"state=rejected":              in(lifecycle.Rejected),
		"agent=field":                 func(h lifecycle.Head) bool { return h.Agent == "field" },
		"agent=desk&version=2":        func(h lifecycle.Head) bool { return h.Agent == "desk" && h.AgentVersion == 2 },
		"context=context-3":           func(h lifecycle.Head) bool { return h.ContextID == "context-3" },
		"older=20m":                   func(h lifecycle.Head) bool { return now.Sub(h.StatusAt) > 20*time.Minute },
		"older=10m&state=working&agent=desk": func(h lifecycle.Head) bool {
			return now.Sub(h.StatusAt) > 10*time.Minute && h.State == lifecycle.Working && h.Agent == "desk"
		},
		"context=context-1&state=live&version=1": func(h lifecycle.Head) bool { return h.ContextID == "context-1" && !h.Terminal() && h.AgentVersion == 1 },
		"submitter=abc":                          func(h lifecycle.Head) bool { return h.Principal == "abc" },
		"due=24h":                                func(h lifecycle.Head) bool { return h.Pause != nil },
		"due=40m&state=live":                     func(h lifecycle.Head) bool { return h.Pause != nil && h.Pause.DeadlineAt.Sub(now) <= 40*time.Minute },
		"due=1000h&state=working":                func(lifecycle.Head) bool { return false },
		"state=completed&older=1m&agent=nobody":  func(lifecycle.Head) bool { return false },
	} {
		var want []a2a.TaskID
		for _, h := range heads {
			if wanted(h) {
				want = append(want, h.Task)
			}
		}
		for _, limit := range []int{1, 2, 7, 100} {
			rows, pages := w.list(fmt.Sprintf("%s&limit=%d", query, limit))
			var got []a2a.TaskID
			for _, r := range rows {
				got = append(got, r.Task)
			}
			if !slices.Equal(got, want) || pages > len(want)/limit+1 {
				t.Errorf("%q in pages of %d: %d tasks in %d pages, want %d", query, limit, len(got), pages, len(want))
			}
		}
		if !strings.Contains(query, "older") && !strings.Contains(query, "due") && !strings.Contains(query, "submitter") {
			var n struct{ Total int }
			if w.read("count?"+query, &n); n.Total != len(want) {
				t.Errorf("%q: %d are counted, want %d", query, n.Total, len(want))
			}
		}
	}
	for _, query := range []string{"state=sleeping", "version=x", "version=0", "limit=0", "limit=501", "older=soon", "older=-1m", "due=soon", "due=-1m", "after=x", "after=2026-01-01T00:00:00Z~" + strings.Repeat("x", 200)} {
		if a := w.ask(http.MethodGet, "/console/api/tasks?"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, a.status, a.raw)
		}
	}
	for _, query := range []string{"older=1m", "due=1h", "stuck=1"} {
		if a := w.ask(http.MethodGet, "/console/api/count?"+query, ""); a.status != http.StatusBadRequest {
			t.Errorf("count %s: %d %s", query, a.status, a.raw)
		}
	}
}

// TestListBounded: a question that finds little looks at no more than it may, and goes on
// where it stopped.
func TestListBounded(t *testing.T) {
	w := newWorld(t)
	w.crowd()
	want, _ := w.list("stuck=1&limit=100")
	w.config.Most = 7
	w.open()
	var l listing
	if w.read("tasks?stuck=1&limit=100", &l); l.Looked != 7 || !l.Short || l.Next == "" {
		t.Errorf("looked at %d, short %v, next %q", l.Looked, l.Short, l.Next)
	}
	rows, pages := w.list("stuck=1&limit=100")
	same := slices.EqualFunc(rows, want, func(a, b row) bool { return a.Task == b.Task })
	if !same || len(want) == 0 || pages < 3 {
		t.Errorf("%d tasks in %d pages, want %d", len(rows), pages, len(want))
	}
	var all struct {
		Live    int
		Partial bool
	}
	if w.read("overview", &all); all.Live != 7 || !all.Partial {
		t.Errorf("%+v", all)
	}
}

// sparse is an index that passes few tasks at a time, whether they are asked for or not.
type sparse struct{ ledger.Ledger }

// List implements ledger.Index.
func (l sparse) List(ctx context.Context, q ledger.ListQuery) (ledger.Page, error) {
	wanted := q
	q.State, q.Agent, q.AgentVersion, q.ContextID, q.Limit = "", "", 0, "", 4
	page, err := l.Ledger.List(ctx, q)
	page.Heads = slices.DeleteFunc(page.Heads, func(h lifecycle.Head) bool {
		return wanted.State != "" && h.State != wanted.State || wanted.Agent != "" && h.Agent != wanted.Agent || wanted.AgentVersion != 0 && h.AgentVersion != wanted.AgentVersion ||
			wanted.ContextID != "" && h.ContextID != wanted.ContextID
	})
	return page, err
}

// TestListSparse: where the index ends its pages early, even empty ones, no task is lost
// and none comes twice.
func TestListSparse(t *testing.T) {
	w := newWorld(t)
	w.crowd()
	queries := []string{"", "state=live", "state=input-required,failed", "agent=field", "context=context-3&state=live", "stuck=1", "state=rejected", "version=3", "older=20m&state=live"}
	want := map[string][]row{}
	for _, q := range queries {
		want[q], _ = w.list(q + "&limit=7")
	}
	w.config.Authority = &ledger.Authority{Ledger: sparse{w.memory}, Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.open()
	for _, q := range queries {
		if got, _ := w.list(q + "&limit=7"); !slices.EqualFunc(got, want[q], func(a, b row) bool { return a.Task == b.Task }) {
			t.Errorf("%q: %d tasks, want %d", q, len(got), len(want[q]))
		}
	}
}

// TestStuck: each way to be stuck is seen, said, and found by the filter; what only takes
// its time is not.
func TestStuck(t *testing.T) {
	w := newWorld(t)
	day := 24 * time.Hour
	fine := map[string]lifecycle.Task{
		"waits for an answer": w.do(w.submit(), granted(1), lifecycle.Report{Verb: lifecycle.VerbPause, Next: "n", Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: 30 * day}}),
		"sleeps":              w.do(w.submit(), granted(1), lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "n", Until: w.clock.Now().Add(30 * day)}),
		"waits for attempt 2": w.do(w.submit(), granted(1), waits(w.clock.Now().Add(30*day))),
		"has ended":           w.do(w.submit(), granted(1), ends(lifecycle.VerbFail)),
	}
	stuck := map[string]lifecycle.Task{
		"past-due":        w.do(w.submit(), granted(1)),
		"pause-past-due":  w.do(w.submit(), granted(1), asks("Which?")),
		"unknown-version": w.submit(func(s *lifecycle.Submit) { s.AgentVersion = 9 }),
		"unclaimed":       w.submit(func(s *lifecycle.Submit) { s.Agent, s.AgentVersion = "field", 1 }),
		"life-over": w.submit(func(s *lifecycle.Submit) {
			s.Policy = lifecycle.Policy{Version: "short", Life: time.Hour, Retention: day, Grace: grace}
		}),
	}
	unmet := w.do(w.submit(), granted(1))
	w.act(unmet.Task, "cancel", `{"note":""}`)
	stuck["cancel-unmet"] = unmet
	w.clock.Advance(30 * time.Minute)
	untaken := w.submit()
	for range 3 {
		w.do(untaken, lifecycle.Restart{Grace: grace})
	}
	stuck["untaken"] = untaken
	w.clock.Advance(40 * time.Minute)
	// A lease that is renewed counts, though its task was due long ago.
	long := w.do(w.submit(), granted(1))
	for range 10 {
		w.clock.Advance(lease / 2)
		long = w.do(long, lifecycle.Renew{Holder: "g1", Fence: 1, Lease: lease})
	}
	fine["is worked on"] = long
	looping := w.submit()
	for g := range 4 {
		looping = w.do(looping, granted(uint64(g+1)), lifecycle.Release{Holder: fmt.Sprintf("g%d", g+1), Fence: uint64(g + 1), Grace: grace}, lifecycle.Restart{Grace: grace})
	}
	stuck["no-progress"] = looping
	stuck["effect-held"], _ = w.held()

	rows, _ := w.list("stuck=1")
	found := map[a2a.TaskID][]string{}
	for _, r := range rows {
		for _, s := range r.Stuck {
			found[r.Task] = append(found[r.Task], s.Reason)
			if !strings.HasSuffix(s.Says, ".") {
				t.Errorf("%s says %q", s.Reason, s.Says)
			}
		}
	}
	for reason, task := range stuck {
		if !slices.Contains(found[task.Task], reason) {
			t.Errorf("%s: found %v", reason, found[task.Task])
		}
		var sheet struct{ Stuck []struct{ Reason string } }
		w.read("tasks/"+string(task.Task), &sheet)
		if !slices.ContainsFunc(sheet.Stuck, func(s struct{ Reason string }) bool { return s.Reason == reason }) {
			t.Errorf("%s: its sheet has %v", reason, sheet.Stuck)
		}
	}
	for name, task := range fine {
		if found[task.Task] != nil {
			t.Errorf("a task that %s is stuck: %v", name, found[task.Task])
		}
	}
}

// TestOverview: live tasks are counted by version, state and age, and what happened by the
// minute, from the ledger alone.
func TestOverview(t *testing.T) {
	w := newWorld(t)
	w.submit(func(s *lifecycle.Submit) { s.AgentVersion = 9 })
	w.clock.Advance(2 * time.Hour)
	w.do(w.submit(), granted(1), ends(lifecycle.VerbComplete))
	w.clock.Advance(10 * time.Minute)
	w.do(w.submit(), granted(1), asks("Which?"))
	w.do(w.submit(), granted(1), ends(lifecycle.VerbReject))
	var all struct {
		Live, Stuck int
		Versions    []struct {
			Agent          string
			Version, Live  int
			Known, Current bool
			States         map[string]int
		}
		Ages   map[string][]int
		Bounds []int
		Rates  struct {
			Accepted []int
			Ended    map[string][]int
		}
	}
	w.read("overview", &all)
	if all.Live != 2 || all.Stuck != 1 || len(all.Versions) != 4 {
		t.Errorf("%+v", all)
	}
	for _, v := range all.Versions {
		want := map[string]int{"desk@9": 1, "desk@2": 1}[fmt.Sprintf("%s@%d", v.Agent, v.Version)]
		if v.Live != want || v.Known != (v.Version != 9) {
			t.Errorf("%+v, want %d live", v, want)
		}
	}
	if got := all.Ages["input-required"]; got[0] != 1 || len(got) != len(all.Bounds)+1 {
		t.Errorf("ages %v", all.Ages)
	}
	if got := all.Ages["submitted"]; got[4] != 1 { // between an hour and six
		t.Errorf("ages %v", all.Ages)
	}
	sum := func(list []int) (n int) {
		for _, v := range list {
			n += v
		}
		return n
	}
	if r := all.Rates; sum(r.Accepted) != 3 || sum(r.Ended["completed"]) != 1 || sum(r.Ended["rejected"]) != 1 || r.Ended["rejected"][59] != 1 || r.Ended["completed"][49] != 1 {
		t.Errorf("rates %+v", r)
	}
}
