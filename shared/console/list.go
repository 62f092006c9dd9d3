package console

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Bounds of a page of the list.
const (
	defaultRows = 100
	maxRows     = 500
	// maxLooks is of how many tasks a page reads the effects, to see whether one is held:
	// those that wait and do not sleep, of which there are few.
	maxLooks = 200
)

// live are the states of tasks that have not ended.
var live = []a2a.TaskState{lifecycle.Submitted, lifecycle.Working, lifecycle.InputRequired, lifecycle.AuthRequired}

// asking are the states of tasks that wait for an answer, until a deadline.
var asking = []a2a.TaskState{lifecycle.InputRequired, lifecycle.AuthRequired}

// filter is what the list is asked for.
type filter struct {
	states  []a2a.TaskState // empty: all
	agent   string
	version int // 0: all
	context string
	older   time.Duration // at least so long in its state
	due     time.Duration // an answer is due at most so long from now
	stuck   bool
	// submitter is the hash of who submitted the task, as its row has it.
	submitter string
	after     *ledger.ListCursor
	limit     int
}

// row is a task in the list.
type row struct {
	Task         a2a.TaskID `json:"task"`
	ContextID    string     `json:"contextId"`
	Agent        string     `json:"agent"`
	AgentVersion int        `json:"agentVersion"`
	Submitter    string     `json:"submitter,omitempty"`
	State        string     `json:"state"`
	StatusAt     time.Time  `json:"statusAt"`
	AcceptedAt   time.Time  `json:"acceptedAt"`
	Step         string     `json:"step"`
	Attempt      int        `json:"attempt,omitempty"`
	Seq          uint64     `json:"seq"`
	Fence        uint64     `json:"fence"`
	Holder       string     `json:"holder,omitempty"`
	LeaseUntil   time.Time  `json:"leaseUntil,omitzero"`
	NextAt       time.Time  `json:"nextAt,omitzero"`
	Deadline     time.Time  `json:"deadline,omitzero"` // of the open pause
	Canceling    bool       `json:"canceling,omitempty"`
	Stuck        []Trouble  `json:"stuck,omitempty"`
}

// listing is a page of the list.
type listing struct {
	At   time.Time `json:"at"`
	Rows []row     `json:"rows"`
	// Next is where the next page begins; empty: there is none.
	Next string `json:"next,omitempty"`
	// Looked is how many tasks were looked at for it. Short: the page is not full because
	// as much as may be was read for it; the next one goes on there.
	Looked int  `json:"looked"`
	Short  bool `json:"short,omitempty"`
}

// tasks answers with a page of the list: the latest status first.
func (c *call) tasks() (any, error) {
	f, err := readFilter(c.r.URL.Query())
	if err != nil {
		return nil, err
	}
	now := c.Now()
	s := c.scan(f, now)
	out := listing{At: now, Rows: []row{}}
	var last ledger.ListCursor
	looks := 0
	for {
		next, goOn, err := s.next(c.ctx())
		if err != nil {
			return nil, err
		}
		if next == nil {
			if out.Short = goOn != nil; out.Short {
				out.Next = writeCursor(*goOn)
			}
			return out, nil
		}
		h := *next
		r := c.row(h, now)
		look := len(r.Stuck) == 0 && waits(h, now)
		if full := len(out.Rows) == f.limit; full || out.Looked >= c.Most || look && looks == maxLooks {
			out.Next, out.Short = writeCursor(last), !full
			return out, nil
		}
		out.Looked++
		last = placeOf(h)
		if look {
			looks++
			effects, err := c.Authority.Ledger.EffectList(c.ctx(), h.Ref())
			if err != nil {
				return nil, err
			}
			r.Stuck = heldOf(effects, h, now)
		}
		if f.picks(r, now) {
			out.Rows = append(out.Rows, r)
		}
	}
}

// count answers with how many tasks a filter selects, of those whose index tells.
func (c *call) count() (any, error) {
	f, err := readFilter(c.r.URL.Query())
	if err != nil {
		return nil, err
	}
	if f.older != 0 || f.due != 0 || f.stuck || f.submitter != "" {
		return nil, refuse(errInvalid, "Only states, agents, versions and contexts are counted.")
	}
	var out struct {
		Total int `json:"total"`
		// More: the ledger counts no further, and there may be more.
		More bool `json:"more,omitempty"`
	}
	for _, q := range f.queries(c.who.Tenant, c.Now()) {
		n, err := c.Authority.Ledger.Count(c.ctx(), q)
		if err != nil {
			return nil, err
		}
		out.Total += n.Tasks
		out.More = out.More || n.More
	}
	return out, nil
}

func (c *call) row(h lifecycle.Head, now time.Time) row {
	r := row{
		Task: h.Task, ContextID: h.ContextID, Agent: h.Agent, AgentVersion: h.AgentVersion, Submitter: h.Principal, State: short(h.State), StatusAt: h.StatusAt, AcceptedAt: h.AcceptedAt,
		Step: h.Step, Attempt: h.Attempt, Seq: h.Seq, Fence: h.Fence, Holder: h.Holder, LeaseUntil: h.LeaseUntil, Canceling: h.Cancel != nil, Stuck: c.trouble(h, now),
	}
	if h.NextAt.After(now) {
		r.NextAt = h.NextAt
	}
	if h.Pause != nil {
		r.Deadline = h.Pause.DeadlineAt
	}
	return r
}

// short is a state without the enumeration's prefix: input-required.
func short(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(string(s), "TASK_STATE_")), "_", "-")
}

func readFilter(values url.Values) (f filter, err error) {
	f = filter{agent: values.Get("agent"), context: values.Get("context"), submitter: values.Get("submitter"), stuck: values.Get("stuck") != "", limit: defaultRows}
	for name := range strings.FieldsFuncSeq(values.Get("state"), func(r rune) bool { return r == ',' }) {
		if name == "live" {
			f.states = append(f.states, live...)
			continue
		}
		i := slices.IndexFunc(lifecycle.States(), func(s a2a.TaskState) bool { return short(s) == name })
		if i < 0 {
			return f, refuse(errInvalid, "state: live, or one of A2A's states such as input-required.")
		}
		f.states = append(f.states, lifecycle.States()[i])
	}
	slices.Sort(f.states)
	f.states = slices.Compact(f.states)
	whole := func(name string, least, most, unset int) int {
		text := values.Get(name)
		if text == "" {
			return unset
		}
		n, wrong := strconv.Atoi(text)
		if wrong != nil || n < least || n > most {
			err = refuse(errInvalid, "%s: a number from %d to %d.", name, least, most)
		}
		return n
	}
	f.version = whole("version", 1, 1<<30, 0)
	f.limit = whole("limit", 1, maxRows, defaultRows)
	for name, into := range map[string]*time.Duration{"older": &f.older, "due": &f.due} {
		text := values.Get(name)
		if text == "" {
			continue
		}
		var wrong error
		if *into, wrong = time.ParseDuration(text); wrong != nil || *into < 0 {
			return f, refuse(errInvalid, "%s: a duration such as 15m.", name)
		}
	}
	if text := values.Get("after"); text != "" {
		if f.after, err = readCursor(text); err != nil {
			return f, err
		}
	}
	return f, err
}

// A cursor is a place in the order of the list: an instant and a task.
func writeCursor(at ledger.ListCursor) string {
	return at.StatusAt.UTC().Format(time.RFC3339Nano) + "~" + string(at.Task)
}

func readCursor(text string) (*ledger.ListCursor, error) {
	at, task, _ := strings.Cut(text, "~")
	when, err := time.Parse(time.RFC3339Nano, at)
	if err != nil || len(task) > lifecycle.MaxIDBytes {
		return nil, refuse(errInvalid, "after: what an earlier page has as next.")
	}
	return &ledger.ListCursor{StatusAt: when, Task: a2a.TaskID(task)}, nil
}

// picks is what no index tells.
func (f filter) picks(r row, now time.Time) bool {
	return (!f.stuck || len(r.Stuck) > 0) && (f.submitter == "" || r.Submitter == f.submitter) && (f.due == 0 || !r.Deadline.IsZero() && r.Deadline.Sub(now) <= f.due)
}

// queries are the questions to the index: one for each state, or one for all.
func (f filter) queries(tenant string, now time.Time) []ledger.ListQuery {
	q := ledger.ListQuery{Tenant: tenant, Agent: f.agent, AgentVersion: f.version, ContextID: f.context, Now: now, After: f.after}
	if f.older > 0 {
		// Whoever has been in a state for so long comes behind that instant.
		if cut := (&ledger.ListCursor{StatusAt: now.Add(-f.older)}); q.After == nil || cut.StatusAt.Before(q.After.StatusAt) {
			q.After = cut
		}
	}
	states := f.states
	if len(states) == 0 && f.stuck {
		states = live // what has ended is not stuck
	}
	if f.due > 0 { // whoever waits for nobody has no deadline
		states = slices.DeleteFunc(slices.Clone(asking), func(s a2a.TaskState) bool { return len(f.states) > 0 && !slices.Contains(f.states, s) })
	}
	if len(states) == 0 && f.due == 0 {
		return []ledger.ListQuery{q}
	}
	out := make([]ledger.ListQuery, len(states))
	for i, s := range states {
		out[i] = q
		out[i].State = s
	}
	return out
}

// maxSparse is how many pages of the index may not be full, though there are more, while a
// question of the list is answered: each has passed many thousands of tasks.
const maxSparse = 2

// scan reads tasks in the order of the list, over several questions to the index.
type scan struct {
	ledger ledger.Index
	parts  []part
}

// part is one question, and what of its answer was not taken yet.
type part struct {
	query ledger.ListQuery // its After is how far the index was looked at
	heads []lifecycle.Head
	ended bool
	// sparse counts the pages that were not full, though there are more.
	sparse int
}

func (c *call) scan(f filter, now time.Time) *scan {
	s := &scan{ledger: c.Authority.Ledger}
	for _, q := range f.queries(c.who.Tenant, now) {
		// One more than is shown says that there is a next page.
		if q.Limit = f.limit + 1; f.stuck || f.due > 0 {
			q.Limit = maxRows
		}
		s.parts = append(s.parts, part{query: q})
	}
	return s
}

// next is the next task. There is none at the end; before it, when the index brought too
// little for too long, there is a place where another question goes on.
func (s *scan) next(ctx context.Context) (h *lifecycle.Head, goOn *ledger.ListCursor, err error) {
	var first *part
	for i := range s.parts {
		p := &s.parts[i]
		if err := s.fill(ctx, p); err != nil {
			return nil, nil, err
		}
		switch {
		case len(p.heads) > 0:
			if first == nil || before(placeOf(p.heads[0]), placeOf(first.heads[0])) {
				first = p
			}
		case !p.ended && (goOn == nil || before(*p.query.After, *goOn)):
			goOn = p.query.After // nothing of this question comes before that place
		}
	}
	switch {
	case first == nil:
		return nil, goOn, nil
	case goOn != nil && before(*goOn, placeOf(first.heads[0])):
		return nil, goOn, nil
	}
	h = &first.heads[0]
	first.heads = first.heads[1:]
	return h, nil, nil
}

// fill reads on where nothing is left.
func (s *scan) fill(ctx context.Context, p *part) error {
	for len(p.heads) == 0 && !p.ended && p.sparse < maxSparse {
		page, err := s.ledger.List(ctx, p.query)
		if err != nil {
			return err
		}
		if p.heads, p.ended = page.Heads, page.Next == nil; p.ended {
			return nil
		}
		if p.query.After = page.Next; len(p.heads) < p.query.Limit {
			p.sparse++
		}
	}
	return nil
}

func placeOf(h lifecycle.Head) ledger.ListCursor {
	return ledger.ListCursor{StatusAt: h.StatusAt, Task: h.Task}
}

// before says whether a place comes before another one in the list.
func before(a, b ledger.ListCursor) bool {
	return cmp.Or(b.StatusAt.Compare(a.StatusAt), strings.Compare(string(b.Task), string(a.Task))) < 0
}
