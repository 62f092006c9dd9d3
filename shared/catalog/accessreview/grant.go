package accessreview

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// roles from the least to the most.
var roles = []string{"viewer", "editor", "admin", "owner"}

// statuses of a person, with what each means for the person's grants.
var statuses = map[string]string{
	"active":           "",
	"left":             "the person has left",
	"contractor-ended": "the contract has ended",
}

// maxFieldBytes bounds names: systems, owners, accounts, persons.
const maxFieldBytes = 128

// staleDays is how long a grant may lie unused.
const staleDays = 90

// Findings, the gravest first. A grant has one at most.
var kinds = []string{"orphaned", "stale", "over-privileged"}

// check says what is wrong with a grant, by the name of its column.
func (g Grant) check() error {
	for _, f := range []struct{ column, value string }{{"account", g.Account}, {"person", g.Person}} {
		if err := checkField(f.column, f.value); err != nil {
			return err
		}
	}
	if _, known := statuses[g.Status]; !known {
		return fmt.Errorf("column status: %q is none of active, left, contractor-ended", clip(g.Status))
	}
	for _, f := range []struct{ column, value string }{{"role", g.Role}, {"entitled_role", g.EntitledRole}} {
		if !slices.Contains(roles, f.value) {
			return fmt.Errorf("column %s: %q is none of %s", f.column, clip(f.value), strings.Join(roles, ", "))
		}
	}
	for _, f := range []struct{ column, value string }{{"granted_on", g.GrantedOn}, {"last_used_on", g.LastUsedOn}} {
		if f.column == "last_used_on" && f.value == "" {
			continue
		}
		if _, err := time.Parse(time.DateOnly, f.value); err != nil {
			return fmt.Errorf("column %s: %q is not a date like 2026-09-30", f.column, clip(f.value))
		}
	}
	return nil
}

func checkField(column, value string) error {
	switch {
	case value == "":
		return fmt.Errorf("column %s: it is empty", column)
	case len(value) > maxFieldBytes:
		return fmt.Errorf("column %s: %q… is longer than %d bytes", column, clip(value), maxFieldBytes)
	case strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' }):
		return fmt.Errorf("column %s: %q holds control characters or is not UTF-8", column, clip(value))
	}
	return nil
}

// clip keeps a wrong value from filling an error.
func clip(s string) string {
	const most = 40
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "")
}

// latest is the later one of an as-of date and the dates of some grants. ISO dates
// compare as text.
func latest(asOf string, grants []Grant) string {
	for _, g := range grants {
		asOf = max(asOf, g.GrantedOn, g.LastUsedOn)
	}
	return asOf
}

// judge is a grant's finding as of a date, if it has one.
func (g Grant) judge(asOf string) (kind, because string, found bool) {
	since, how := g.LastUsedOn, "last used "+g.LastUsedOn
	if since == "" {
		since, how = g.GrantedOn, "granted "+g.GrantedOn+" and never used"
	}
	switch {
	case g.Status != "active":
		return kinds[0], statuses[g.Status], true
	case days(since, asOf) > staleDays:
		return kinds[1], how, true
	case g.LastUsedOn != "" && slices.Index(roles, g.Role) > slices.Index(roles, g.EntitledRole):
		return kinds[2], "entitled to " + g.EntitledRole, true
	}
	return "", "", false
}

// days from one date to another. Both were checked.
func days(from, to string) int {
	a, errA := time.Parse(time.DateOnly, from)
	b, errB := time.Parse(time.DateOnly, to)
	if errA != nil || errB != nil {
		return 0
	}
	return int(b.Sub(a).Hours() / 24)
}
