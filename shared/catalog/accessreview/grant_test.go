package accessreview

import "testing"

// The rules of events/accessreview/README.md, at their edges.
func TestJudge(t *testing.T) {
	const asOf = "2026-09-30"
	g := func(status, role, entitled, granted, used string) Grant {
		return Grant{Account: "a", Person: "A", Status: status, Role: role, EntitledRole: entitled, GrantedOn: granted, LastUsedOn: used}
	}
	for _, c := range []struct {
		name          string
		g             Grant
		kind, because string
	}{
		{"in order", g("active", "admin", "admin", "2020-01-01", asOf), "", ""},
		{"less than entitled", g("active", "viewer", "owner", "2020-01-01", asOf), "", ""},
		{"used 90 days before", g("active", "viewer", "viewer", "2020-01-01", "2026-07-02"), "", ""},
		{"used 91 days before", g("active", "viewer", "viewer", "2020-01-01", "2026-07-01"), "stale", "last used 2026-07-01"},
		{"granted 90 days before, never used", g("active", "viewer", "viewer", "2026-07-02", ""), "", ""},
		{"granted 91 days before, never used", g("active", "viewer", "viewer", "2026-07-01", ""), "stale", "granted 2026-07-01 and never used"},
		{"too high", g("active", "editor", "viewer", "2020-01-01", "2026-07-02"), "over-privileged", "entitled to viewer"},
		{"too high, never used", g("active", "editor", "viewer", "2026-09-01", ""), "", ""},
		{"too high and stale", g("active", "owner", "viewer", "2020-01-01", "2026-01-01"), "stale", "last used 2026-01-01"},
		{"left, used today, too high", g("left", "owner", "viewer", "2020-01-01", asOf), "orphaned", "the person has left"},
		{"contract ended, stale", g("contractor-ended", "viewer", "viewer", "2020-01-01", ""), "orphaned", "the contract has ended"},
	} {
		if err := c.g.check(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		kind, because, found := c.g.judge(asOf)
		if kind != c.kind || because != c.because || found != (c.kind != "") {
			t.Errorf("%s: %q because %q, want %q because %q", c.name, kind, because, c.kind, c.because)
		}
	}
}
