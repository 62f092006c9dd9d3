package events_test

// The access review's data set, checked against its README. Nothing is faked:
// the files are the ones that ship. The classification below is written from
// the README, apart from the product's, so that the two can disagree.

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/holdfast-a2a/holdfast/events"
)

var update = flag.Bool("update", false, "write accessreview/send.json anew from accessreview/grants.csv")

const sendPath = "accessreview/send.json"

var header = []string{
	"system", "owner", "account", "person", "status", "role", "entitled_role", "granted_on", "last_used_on",
}

// grant is one row of the file. A zero lastUsed means never used.
type grant struct {
	system, owner, account, person, status, role, entitled string
	granted, lastUsed                                      time.Time
}

func readGrants(t *testing.T) []grant {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(events.AccessReviewCSV)).ReadAll()
	if err != nil {
		t.Fatalf("grants.csv: %v", err)
	}
	if len(rows) == 0 || !slices.Equal(rows[0], header) {
		t.Fatalf("grants.csv does not begin with the header %v", header)
	}
	date := func(s string) time.Time {
		day, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatalf("grants.csv: %v", err)
		}
		return day
	}
	var grants []grant
	for _, row := range rows[1:] {
		g := grant{
			system: row[0], owner: row[1], account: row[2], person: row[3], status: row[4],
			role: row[5], entitled: row[6], granted: date(row[7]),
		}
		if row[8] != "" {
			g.lastUsed = date(row[8])
		}
		grants = append(grants, g)
	}
	return grants
}

// asOf is the latest date that occurs in the file.
func asOf(grants []grant) time.Time {
	var latest time.Time
	for _, g := range grants {
		for _, day := range []time.Time{g.granted, g.lastUsed} {
			if day.After(latest) {
				latest = day
			}
		}
	}
	return latest
}

// idleDays counts the days since the grant was last used, or since it was
// granted if it never was.
func idleDays(g grant, asOf time.Time) int {
	since := g.lastUsed
	if since.IsZero() {
		since = g.granted
	}
	return int(asOf.Sub(since).Hours() / 24)
}

var roles = []string{"viewer", "editor", "admin", "owner"}

func rank(role string) int { return slices.Index(roles, role) }

// classify gives a grant's finding, or "" for none.
func classify(g grant, asOf time.Time) string {
	switch {
	case g.status != "active":
		return "orphaned"
	case idleDays(g, asOf) > 90:
		return "stale"
	case !g.lastUsed.IsZero() && rank(g.role) > rank(g.entitled):
		return "over-privileged"
	}
	return ""
}

// wantFindings are the fourteen proposed revocations, in file order.
var wantFindings = []string{
	"payroll/gmarchet/editor orphaned",
	"payroll/splatt/admin over-privileged",
	"crm/dokonkwo/viewer orphaned",
	"crm/idahl/editor stale",
	"data-warehouse/dokonkwo/editor orphaned",
	"vpn/skarlsson/viewer orphaned",
	"erp/cwei/editor stale",
	"hr-core/rabrams/editor over-privileged",
	"source-control/nhaddad/owner over-privileged",
	"treasury/eboateng/editor stale",
	"secrets-vault/hbrandt/admin orphaned",
	"kubernetes-prod/bwhitaker/admin stale",
	"kubernetes-prod/mfuentes/editor over-privileged",
	"dns/ekaya/editor stale",
}

func TestAccessReviewFindings(t *testing.T) {
	grants := readGrants(t)
	day := asOf(grants)
	if got := day.Format(time.DateOnly); got != "2026-09-30" {
		t.Fatalf("as-of date %s, want 2026-09-30, the last day of the quarter", got)
	}
	var found []string
	counts, systems := map[string]int{}, map[string]bool{}
	for _, g := range grants {
		if finding := classify(g, day); finding != "" {
			found = append(found, g.system+"/"+g.account+"/"+g.role+" "+finding)
			counts[finding]++
			systems[g.system] = true
		}
	}
	if !slices.Equal(found, wantFindings) {
		t.Errorf("findings\n%s\nwant\n%s", strings.Join(found, "\n"), strings.Join(wantFindings, "\n"))
	}
	if want := map[string]int{"orphaned": 5, "stale": 5, "over-privileged": 4}; !maps.Equal(counts, want) {
		t.Errorf("findings by kind %v, want %v", counts, want)
	}
	if len(systems) < 9 {
		t.Errorf("findings in %d systems, want at least 9", len(systems))
	}
}

func TestAccessReviewIsConsistent(t *testing.T) {
	grants := readGrants(t)
	if len(grants) < 300 || len(grants) > 500 {
		t.Errorf("%d grants, want 300 to 500", len(grants))
	}
	day := asOf(grants)
	owners, persons, statuses := map[string]string{}, map[string]string{}, map[string]string{}
	seen := map[[3]string]bool{}
	// agree reports whether the key always has the same value.
	agree := func(m map[string]string, key, value string) bool {
		if _, ok := m[key]; !ok {
			m[key] = value
		}
		return m[key] == value
	}
	for i, g := range grants {
		name := [3]string{g.system, g.account, g.role}
		switch {
		case seen[name]:
			t.Errorf("%v: granted twice", name)
		case !agree(owners, g.system, g.owner):
			t.Errorf("%v: a second owner of the system", name)
		case !agree(persons, g.account, g.person):
			t.Errorf("%v: a second person behind the account", name)
		case !agree(statuses, g.person, g.status):
			t.Errorf("%v: a second status of the person", name)
		case !slices.Contains([]string{"active", "left", "contractor-ended"}, g.status):
			t.Errorf("%v: status %q", name, g.status)
		case rank(g.role) < 0 || rank(g.entitled) < 0:
			t.Errorf("%v: role %q, entitled role %q", name, g.role, g.entitled)
		case !g.lastUsed.IsZero() && g.lastUsed.Before(g.granted):
			t.Errorf("%v: used before it was granted", name)
		case g.lastUsed.IsZero() && g.status == "active" && idleDays(g, day) <= 90 && rank(g.role) > rank(g.entitled):
			t.Errorf("%v: new, unused and too high; the rules say nothing about it", name)
		case i > 0 && grants[i-1].system != g.system && len(owners) != countSystems(grants[:i+1]):
			t.Errorf("%v: the system's grants do not stand together", name)
		}
		seen[name] = true
	}
	if len(owners) != 40 {
		t.Errorf("%d systems, want 40", len(owners))
	}
}

// countSystems counts the runs of rows that name the same system.
func countSystems(grants []grant) int {
	n := 0
	for i, g := range grants {
		if i == 0 || grants[i-1].system != g.system {
			n++
		}
	}
	return n
}

func TestAccessReviewHasNearMisses(t *testing.T) {
	grants := readGrants(t)
	day := asOf(grants)
	kinds := map[string]func(grant) bool{
		"used 89 days ago":                  func(g grant) bool { return !g.lastUsed.IsZero() && idleDays(g, day) == 89 },
		"used 90 days ago":                  func(g grant) bool { return !g.lastUsed.IsZero() && idleDays(g, day) == 90 },
		"granted 89 days ago, never used":   func(g grant) bool { return g.lastUsed.IsZero() && idleDays(g, day) == 89 },
		"granted 90 days ago, never used":   func(g grant) bool { return g.lastUsed.IsZero() && idleDays(g, day) == 90 },
		"granted on the as-of date":         func(g grant) bool { return g.granted.Equal(day) },
		"lower than entitled":               func(g grant) bool { return rank(g.role) < rank(g.entitled) },
		"owner and entitled to it":          func(g grant) bool { return g.role == "owner" && g.entitled == "owner" },
		"a name with a comma":               func(g grant) bool { return strings.Contains(g.person, ",") },
		"a name beyond ASCII":               func(g grant) bool { return strings.ContainsFunc(g.person, func(r rune) bool { return r > 127 }) },
		"namesake of a person who has left": func(g grant) bool { return g.person == "Gianluca Marchetti" },
	}
	for kind, matches := range kinds {
		if !slices.ContainsFunc(grants, func(g grant) bool { return classify(g, day) == "" && matches(g) }) {
			t.Errorf("no grant without a finding is: %s", kind)
		}
	}
	precedence := map[string]func(grant) bool{
		"orphaned, stale too":           func(g grant) bool { return g.status != "active" && idleDays(g, day) > 90 },
		"orphaned, over-privileged too": func(g grant) bool { return g.status != "active" && rank(g.role) > rank(g.entitled) },
		"stale, over-privileged too": func(g grant) bool {
			return classify(g, day) == "stale" && rank(g.role) > rank(g.entitled)
		},
		"stale by one day":        func(g grant) bool { return classify(g, day) == "stale" && idleDays(g, day) == 91 },
		"stale, never used":       func(g grant) bool { return classify(g, day) == "stale" && g.lastUsed.IsZero() },
		"orphaned, recently used": func(g grant) bool { return g.status != "active" && !g.lastUsed.IsZero() && idleDays(g, day) <= 90 },
	}
	for kind, matches := range precedence {
		if !slices.ContainsFunc(grants, matches) {
			t.Errorf("no grant is: %s", kind)
		}
	}
}

// TestAccessReviewSend proves that the file which the project's README sends is
// a SendMessage body as the SDK reads it, and carries grants.csv unchanged.
func TestAccessReviewSend(t *testing.T) {
	if *update {
		writeSend(t)
	}
	body, err := os.ReadFile(sendPath)
	if err != nil {
		t.Fatal(err)
	}
	var req a2a.SendMessageRequest
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&req); err != nil {
		t.Fatalf("%s: %v", sendPath, err)
	}
	if req.Config == nil || !req.Config.ReturnImmediately {
		t.Error("configuration.returnImmediately is not set")
	}
	msg := req.Message
	if msg == nil {
		t.Fatal("no message")
	}
	if msg.ID != "access-review-2026-q3" || msg.Role != a2a.MessageRoleUser || len(msg.Parts) != 2 {
		t.Fatalf("message %q from %q with %d parts", msg.ID, msg.Role, len(msg.Parts))
	}
	if got := msg.Parts[0].Text(); got != "Review access for Q3 2026" {
		t.Errorf("text %q", got)
	}
	file := msg.Parts[1]
	if file.MediaType != "text/csv" || file.Filename != "grants.csv" {
		t.Errorf("file part %q with media type %q", file.Filename, file.MediaType)
	}
	if !bytes.Equal(file.Raw(), events.AccessReviewCSV) {
		t.Error("the file part differs from grants.csv; run: go test ./events -run AccessReviewSend -update")
	}
}

func writeSend(t *testing.T) {
	t.Helper()
	file := a2a.NewRawPart(events.AccessReviewCSV)
	file.MediaType, file.Filename = "text/csv", "grants.csv"
	body, err := json.MarshalIndent(a2a.SendMessageRequest{
		Message: &a2a.Message{
			ID:    "access-review-2026-q3",
			Role:  a2a.MessageRoleUser,
			Parts: a2a.ContentParts{a2a.NewTextPart("Review access for Q3 2026"), file},
		},
		Config: &a2a.SendMessageConfig{ReturnImmediately: true},
	}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sendPath, append(body, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}
