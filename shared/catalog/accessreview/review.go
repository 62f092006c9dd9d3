package accessreview

import (
	"cmp"
	"slices"
)

// review is the agent's state: what a later step needs, and nothing that can be
// fetched again.
type review struct {
	// AsOf is the date by which grants are judged: the latest of the file, or the
	// latest one fetched so far.
	AsOf string `json:"asOf,omitempty"`
	// Dated says that AsOf moves no more.
	Dated    bool      `json:"dated,omitempty"`
	Systems  []scope   `json:"systems,omitempty"`
	Findings []finding `json:"findings,omitempty"` // from analyse on: the proposals, by number
	// Unread counts the answers that could not be read, Complaint says what was wrong
	// with the last one.
	Unread    int    `json:"unread,omitempty"`
	Complaint string `json:"complaint,omitempty"`
}

// scope is one system of the review.
type scope struct {
	Name    string `json:"n"`
	Owner   string `json:"o"`
	Grants  int    `json:"g,omitempty"`
	Fetched bool   `json:"f,omitempty"`
	AsOf    string `json:"a,omitempty"` // the date by which its grants were judged; gone from analyse on
	// FromFile says that the API does not know the system.
	FromFile bool `json:"l,omitempty"`
}

// finding is a grant that should go.
type finding struct {
	System     int    `json:"s"` // index into Systems
	Account    string `json:"a"`
	Person     string `json:"p"`
	Role       string `json:"r"`
	Kind       string `json:"k"`
	Because    string `json:"b"`
	Approved   bool   `json:"y,omitempty"`
	Revoked    bool   `json:"d,omitempty"`
	Revocation string `json:"i,omitempty"`
}

// next finds the system to fetch next: one that was not fetched yet; then, when the
// date is known at last, one that was judged by an earlier date.
func (r *review) next() (int, bool) {
	i := slices.IndexFunc(r.Systems, func(s scope) bool { return !s.Fetched })
	if i < 0 {
		r.Dated = true
		i = slices.IndexFunc(r.Systems, func(s scope) bool { return s.AsOf != r.AsOf })
	}
	return i, i >= 0
}

// take judges the grants of system i. Grants that were taken before are forgotten.
func (r *review) take(i int, grants []Grant, fromFile bool) {
	if !r.Dated {
		r.AsOf = latest(r.AsOf, grants)
	}
	r.Findings = slices.DeleteFunc(r.Findings, func(f finding) bool { return f.System == i })
	type name struct{ account, role string }
	seen := map[name]bool{}
	for _, g := range grants {
		if seen[name{g.Account, g.Role}] {
			continue
		}
		seen[name{g.Account, g.Role}] = true
		if kind, because, found := g.judge(r.AsOf); found {
			r.Findings = append(r.Findings, finding{System: i, Account: g.Account, Person: g.Person, Role: g.Role, Kind: kind, Because: because})
		}
	}
	s := &r.Systems[i]
	s.Fetched, s.Grants, s.AsOf, s.FromFile = true, len(seen), r.AsOf, fromFile
}

// rank puts the gravest findings first, then in the order of the systems; within
// one system they keep their order.
func (r *review) rank() {
	slices.SortStableFunc(r.Findings, func(a, b finding) int {
		return cmp.Or(cmp.Compare(slices.Index(kinds, a.Kind), slices.Index(kinds, b.Kind)), cmp.Compare(a.System, b.System))
	})
}

// grants counts those that were reviewed.
func (r *review) grants() int {
	n := 0
	for _, s := range r.Systems {
		n += s.Grants
	}
	return n
}

// count counts the findings that are as a function says.
func (r *review) count(is func(finding) bool) int {
	n := 0
	for _, f := range r.Findings {
		if is(f) {
			n++
		}
	}
	return n
}

func approved(f finding) bool { return f.Approved }
func revoked(f finding) bool  { return f.Revoked }
