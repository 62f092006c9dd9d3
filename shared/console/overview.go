package console

import (
	"cmp"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	// window is how far back rates go, in so many steps.
	window = time.Hour
	steps  = 60
)

// ages are the bounds of the classes into which live tasks fall by how long they have
// been in their state; what is older than the last falls in one more.
var ages = []time.Duration{time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// summary is what a tenant's tasks are as a whole, counted in the ledger and not by any
// process: it is the same after a restart, and on every console.
type summary struct {
	At time.Time `json:"at"`
	// Live counts tasks that have not ended. Partial: there are more than were looked at.
	Live int `json:"live"`
	// Stuck counts what heads show. That a task waits for an effect that is held is none of
	// it: the light of effects in doubt counts those.
	Stuck   int  `json:"stuck"`
	Partial bool `json:"partial,omitempty"`
	// Versions are the agent versions with live tasks, and those that can run here.
	Versions []version `json:"versions"`
	// Ages are, for each live state, how many tasks have been in it for how long; Bounds
	// are the classes' bounds in seconds.
	Ages   map[string][]int     `json:"ages"`
	Oldest map[string]time.Time `json:"oldest"` // when the oldest entered its state
	Bounds []int                `json:"bounds"`
	Rates  rates                `json:"rates"`
}

// version is how many live tasks an agent version has. One that has none may leave the
// catalog.
type version struct {
	Agent   string         `json:"agent"`
	Version int            `json:"version"`
	Known   bool           `json:"known"` // it can run here
	Current bool           `json:"current,omitempty"`
	Outside bool           `json:"outside,omitempty"`
	Live    int            `json:"live"`
	Stuck   int            `json:"stuck,omitempty"`
	States  map[string]int `json:"states"`
	Oldest  time.Time      `json:"oldest,omitzero"` // when the oldest was accepted
}

// rates are what happened in each step of the window, oldest first.
type rates struct {
	From        time.Time        `json:"from"`
	StepSeconds int              `json:"stepSeconds"`
	Accepted    []int            `json:"accepted"`
	Ended       map[string][]int `json:"ended"` // by state
	// Since is from when on they are complete: what is older was not looked at.
	Since time.Time `json:"since,omitzero"`
}

// overview answers with the summary.
func (c *call) overview() (any, error) {
	now := c.Now()
	out := summary{At: now, Ages: map[string][]int{}, Oldest: map[string]time.Time{}, Versions: make([]version, 0, len(c.Agents))}
	for _, a := range c.Agents {
		out.Versions = append(out.Versions, version{Agent: a.Name, Version: a.Version, Known: true, Current: a.Current, Outside: a.Outside, States: map[string]int{}})
	}
	for _, a := range ages {
		out.Bounds = append(out.Bounds, int(a/time.Second))
	}
	for _, s := range live {
		out.Ages[short(s)] = make([]int, len(ages)+1)
	}
	s := c.scan(filter{states: live, limit: maxRows - 1}, now)
	for {
		h, goOn, err := s.next(c.ctx())
		if err != nil {
			return nil, err
		}
		if out.Partial = goOn != nil || h != nil && out.Live >= c.Most; h == nil || out.Partial {
			break
		}
		c.tally(&out, *h, now)
	}
	slices.SortFunc(out.Versions, func(a, b version) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(b.Version, a.Version))
	})
	var err error
	out.Rates, err = c.rates(now)
	return out, err
}

// tally adds a live task.
func (c *Console) tally(out *summary, h lifecycle.Head, now time.Time) {
	i := slices.IndexFunc(out.Versions, func(v version) bool { return v.Agent == h.Agent && v.Version == h.AgentVersion })
	if i < 0 {
		i = len(out.Versions)
		out.Versions = append(out.Versions, version{Agent: h.Agent, Version: h.AgentVersion, States: map[string]int{}})
	}
	v, state := &out.Versions[i], short(h.State)
	out.Live++
	v.Live++
	v.States[state]++
	if v.Oldest.IsZero() || h.AcceptedAt.Before(v.Oldest) {
		v.Oldest = h.AcceptedAt
	}
	if len(c.trouble(h, now)) > 0 {
		out.Stuck++
		v.Stuck++
	}
	if oldest := out.Oldest[state]; oldest.IsZero() || h.StatusAt.Before(oldest) {
		out.Oldest[state] = h.StatusAt
	}
	class, old := len(ages), now.Sub(h.StatusAt)
	if i := slices.IndexFunc(ages, func(bound time.Duration) bool { return old < bound }); i >= 0 {
		class = i
	}
	out.Ages[state][class]++
}

// rates looks at what changed within the window. A task that was accepted in it has a
// status of it, whatever became of the task since.
func (c *call) rates(now time.Time) (rates, error) {
	const step = window / steps
	from := now.Truncate(step).Add(step - window)
	r := rates{From: from, StepSeconds: int(step / time.Second), Accepted: make([]int, steps), Ended: map[string][]int{}}
	for _, s := range lifecycle.States() {
		if s.Terminal() {
			r.Ended[short(s)] = make([]int, steps)
		}
	}
	note := func(into []int, at time.Time) {
		if i := int(at.Sub(from) / step); !at.Before(from) && i < steps {
			into[i]++
		}
	}
	q := ledger.ListQuery{Tenant: c.who.Tenant, Since: from, Now: now, Limit: maxRows}
	for looked, sparse := 0, 0; ; {
		page, err := c.Authority.Ledger.List(c.ctx(), q)
		if err != nil {
			return r, err
		}
		for _, h := range page.Heads {
			looked++
			note(r.Accepted, h.AcceptedAt)
			if h.Terminal() {
				note(r.Ended[short(h.State)], h.StatusAt)
			}
		}
		if page.Next == nil {
			return r, nil
		}
		if len(page.Heads) < q.Limit {
			sparse++
		}
		if looked >= c.Most || sparse >= maxSparse {
			r.Since = page.Next.StatusAt
			return r, nil
		}
		q.After = page.Next
	}
}
