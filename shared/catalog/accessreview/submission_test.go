package accessreview

import (
	"fmt"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

const (
	header = "system,owner,account,person,status,role,entitled_role,granted_on,last_used_on\n"
	row    = "crm,Olga,ann,Ann,active,viewer,viewer,2026-01-01,2026-09-30\n"
)

// Whatever is wrong with a file is said at the door, with its line and column, and
// nothing is written.
func TestFilesThatAreRefused(t *testing.T) {
	change := func(old, changed string) string {
		return header + row + strings.Replace(strings.Replace(row, "ann", "bob", 1), old, changed, 1)
	}
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", "the file is empty: its first line names the columns system, owner, …"},
		{"only a header", header, "the file has a header and no grants"},
		{"a missing column", strings.Replace(header, "entitled_role,", "", 1) + row, "line 1: missing column entitled_role; the file needs …"},
		{"two missing columns", "system,account,person,status,role,granted_on,last_used_on,entitled_role2\n", "line 1: missing column owner, entitled_role; …"},
		{"a column twice", "system," + header, "line 1: column system is there twice"},
		{"too few fields", header + row + "crm,Olga\n", "record on line 3: wrong number of fields"},
		{"a stray quote", header + "crm,Ol\"ga,ann,Ann,active,viewer,viewer,2026-01-01,\n", "parse error on line 2, column …"},
		{"a grant twice", header + row + row, `line 3: column account: duplicate grant: system "crm", account "ann", role "viewer" is on line 2 already`},
		{"a system twice", header + row + strings.Replace(row, "crm", "vpn", 1) + change("", "")[len(header+row):], `line 4: column system: duplicate system "crm", which began on line 2: …`},
		{"two owners", change("Olga", "Omar"), `line 3: column owner: "Omar", but line 2 names "Olga" as the owner of system "crm"`},
		{"no system", change("crm", ""), "line 3: column system: it is empty"},
		{"a system that is no name", change("crm", ".."), `line 3: column system: ".." cannot be a system's name`},
		{"no owner", change("Olga", ""), "line 3: column owner: it is empty"},
		{"no account", change("bob", ""), "line 3: column account: it is empty"},
		{"no person", change("Ann", ""), "line 3: column person: it is empty"},
		{"a long account", change("bob", strings.Repeat("b", 129)), "line 3: column account: …is longer than 128 bytes"},
		{"a control character", change("bob", "b\x00b"), "line 3: column account: …control characters…"},
		{"not UTF-8", change("bob", "b\xff"), "line 3: column account: …"},
		{"another status", change("active", "gone"), `line 3: column status: "gone" is none of active, left, contractor-ended`},
		{"another role", change("viewer,viewer", "root,viewer"), `line 3: column role: "root" is none of viewer, editor, admin, owner`},
		{"another entitlement", change("viewer,viewer", "viewer,"), `line 3: column entitled_role: "" is none of …`},
		{"no date", change("2026-01-01", ""), `line 3: column granted_on: "" is not a date like 2026-09-30`},
		{"a wrong date", change("2026-09-30", "30.9.2026"), `line 3: column last_used_on: "30.9.2026" is not a date …`},
		{"a date that there is not", change("2026-09-30", "2026-09-31"), `line 3: column last_used_on: "2026-09-31" is not …`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, events.AccessReviewCSV)
			agenttest.StartWith(t, build(w, 1), submission([]byte(c.file))).WantRefused("part 2, text/csv: " + c.want)
		})
	}
}

func TestSubmissionsThatAreRefused(t *testing.T) {
	user := func(parts ...*a2a.Part) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, parts...) }
	csvPart := func() *a2a.Part {
		p := a2a.NewRawPart([]byte(header + row))
		p.MediaType = "text/csv; charset=utf-8"
		return p
	}
	pdf := a2a.NewRawPart([]byte("%PDF"))
	pdf.MediaType = "application/pdf"
	var systems, findings strings.Builder
	systems.WriteString(header)
	findings.WriteString(header + row)
	for i := range maxSystems + 1 {
		systems.WriteString(strings.Replace(row, "crm", fmt.Sprint("system-", i), 1))
	}
	for i := range maxFindings + 1 {
		findings.WriteString(strings.NewReplacer("ann", fmt.Sprint("account-", i), "active", "left").Replace(row))
	}
	var long strings.Builder
	long.WriteString(header + strings.Replace(row, "crm", strings.Repeat("a", 128), 1))
	for i := range 80 {
		long.WriteString(strings.Replace(row, "crm", fmt.Sprintf("%0128d", i), 1))
	}
	for _, c := range []struct {
		name string
		m    *a2a.Message
		want string
	}{
		{"no text", user(a2a.NewTextPart(" ")), "send a file of grants as a text/csv part, or a text to review all systems"},
		{"two files", user(csvPart(), csvPart()), "part 2 is a second file: send one"},
		{"another media type", user(a2a.NewTextPart("go"), pdf), `part 2 has media type "application/pdf": a file of grants is text/csv`},
		{"no media type", user(a2a.NewRawPart([]byte(header + row))), `part 1 has media type "": …`},
		{"an address", user(a2a.NewFileURLPart("https://example.com/grants.csv", mediaCSV)), "part 1 is an address: send the bytes of the file"},
		{"data", data(map[string]any{"a": 1}), "part 1 is neither text nor a file"},
		{"too many systems", submission([]byte(systems.String())), "there are 151 systems and one review takes 150: …"},
		{"too many findings", submission([]byte(findings.String())), "the file has 101 findings and one review takes 100: …"},
		{"too long names", submission([]byte(long.String())), "the names of systems and owners have … bytes and one review takes 8192: …"},
	} {
		t.Run(c.name, func(t *testing.T) {
			agenttest.StartWith(t, build(newWorld(t, events.AccessReviewCSV), 1), c.m).WantRefused(c.want)
		})
	}
	// What is right passes: as text, with a BOM, with columns in another order.
	asText := a2a.NewTextPart("\ufeffnote," + header + strings.ReplaceAll(row, "crm", "x,crm"))
	asText.MediaType = "TEXT/CSV; header=present"
	w := newWorld(t, []byte(header+row))
	agenttest.StartWith(t, build(w, 1), user(asText)).WantCompleted("Reviewed 1 grant …")
}

// A review that is as large as one may be fits into its state.
func TestLargestReviewFitsIntoItsState(t *testing.T) {
	var b strings.Builder
	b.WriteString(header)
	for i := range maxSystems {
		status := "active"
		if i < maxFindings {
			status = "contractor-ended"
		}
		fmt.Fprintf(&b, "system-number-%03d,The Owner of %03d,an.account.of.some.length.%03d@example.com,Somebody With A Name %03d,%s,owner,owner,2026-01-01,2026-09-30\n", i, i, i, i, status)
	}
	w := newWorld(t, []byte(b.String()))
	r := agenttest.StartWith(t, build(w, 1), submission([]byte(b.String()))).WantPause("Revoke 100 of 150 …")
	asked := r.StateBytes()
	r.Reply("approve all").WantCompleted("…100 revoked, 0 kept.")
	if n := r.StateBytes(); n > agent.MaxStateBytes*95/100 || asked >= n {
		t.Errorf("the state has %d bytes, %d when the question is asked: too little is left of %d", n, asked, agent.MaxStateBytes)
	}
	t.Logf("%d bytes at the end, %d when the question is asked", r.StateBytes(), asked)
}

// A system that the API does not know is reviewed as the file has it.
func TestSystemThatTheAPIDoesNotKnow(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	w.fetching = func(system string) error {
		if system == "crm" {
			return fmt.Errorf("%w: status 404", ErrUnknownSystem)
		}
		return nil
	}
	r := start(t, build(w, 1)).
		WantReport("Fetched crm from the file: 14 grants, 2 findings (2 of 40)").
		Reply("approve all").
		WantCompleted("Reviewed 333 grants in 40 systems: 14 findings, 14 revoked, 0 kept.")
	if s := reported(t, r); s.FromFile != 1 {
		t.Errorf("%d systems from the file, want 1", s.FromFile)
	}
	if !strings.Contains(r.Artifact(artifactID).Text(), "The API does not know 1 system; the file was used.") {
		t.Error("the table does not say that the file was used")
	}
	w.wantOnce(t, 14)
}

// The API may know more than the file says, and more recently: grants are those of
// the API, the date is that of the file.
func TestGrantsAreThoseOfTheAPI(t *testing.T) {
	w := newWorld(t, []byte(header+row+strings.NewReplacer("ann", "bob", "active", "left", "2026-09-30", "2026-12-31").Replace(row)))
	agenttest.StartWith(t, build(w, 1), submission([]byte(header+row))).
		WantPause("Revoke 1 of 2 grants? As of 2026-09-30:\n1. orphaned: bob in crm …")
}
