package accessreview

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// Without a file the scope is what the API lists; the shipped data set gives the
// same review, and needs no second look.
func TestReviewOfAllSystems(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	agenttest.Start(t, build(w, 1), "Review access for Q3 2026").
		WantReport("Reviewing all 40 systems").
		WantPause("Revoke 14 of 333 grants? As of 2026-09-30:…")
	w.wantFetches(t, 0)
}

// The as-of date is the latest of all grants. A system that was judged by an earlier
// date is fetched again once the date is known.
func TestDateThatIsKnownLate(t *testing.T) {
	const content = header +
		"crm,Olga,ann,Ann,active,viewer,viewer,2025-01-01,2026-06-30\n" + // 92 days before the end
		"crm,Olga,bob,Bob,left,viewer,viewer,2025-01-01,2026-06-30\n" +
		"dns,Olga,ann,Ann,active,viewer,viewer,2025-01-01,2026-09-30\n" +
		"vpn,Olga,ann,Ann,active,viewer,viewer,2025-01-01,2026-08-01\n"
	agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) {
		w := newWorld(t.T, []byte(content))
		r := agenttest.Start(t, build(w, 1), "Review").CrashAt(t).
			WantReport("Fetched crm: 2 grants, 1 finding (1 of 3)").
			WantReport("Fetched crm again, as of 2026-09-30: 2 grants, 2 findings (3 of 3)").
			WantPause("Revoke 2 of 4 grants? As of 2026-09-30:\n1. orphaned: bob in crm …2. stale: ann in crm …").
			Reply("approve all").WantCompleted("…2 revoked, 0 kept.")
		if len(r.Reports()) != 1+4+1+1+2 {
			t.Errorf("reports %q", r.Reports())
		}
		w.wantOnce(t.T, 2)
	})
}

// Accounts are used while the review runs: the date moves no more once all systems
// were fetched, so that the second look is the last one.
func TestDateThatMovesWhileFetching(t *testing.T) {
	w := newWorld(t, []byte(header+row+strings.Replace(row, "crm", "vpn", 1)))
	day := 0
	w.fetching = func(system string) error {
		day++
		w.grants[system][0].LastUsedOn = fmt.Sprintf("2026-10-%02d", day)
		return nil
	}
	agenttest.Start(t, build(w, 1), "Review").WantCompleted("Reviewed 2 grants in 2 systems: …")
	if w.fetches["crm"] != 2 || w.fetches["vpn"] != 1 {
		t.Errorf("fetches %v, want crm twice and vpn once", w.fetches)
	}
}

type odd struct {
	*world
	list []System
}

func (o odd) List(context.Context) ([]System, error) { return o.list, nil }

func TestOddAnswersOfTheAPI(t *testing.T) {
	w := newWorld(t, []byte(header+row))
	many := make([]System, maxSystems+1)
	for i := range many {
		many[i] = System{fmt.Sprint("system-", i), "Olga"}
	}
	agenttest.Start(t, build(odd{w, nil}, 1), "go").WantRejected("There are no systems to review.")
	agenttest.Start(t, build(odd{w, []System{{"", "Olga"}}}, 1), "go").WantFailed("…lists system \"\": column system: it is empty")
	agenttest.Start(t, build(odd{w, []System{{"crm", "Olga"}, {"crm", "Olga"}}}, 1), "go").WantFailed("…lists system \"crm\" twice")
	agenttest.Start(t, build(odd{w, many}, 1), "go").WantFailed("there are 151 systems …")

	gone := newWorld(t, []byte(header+row))
	gone.fetching = func(string) error { return ErrUnknownSystem }
	agenttest.Start(t, build(gone, 1), "go").WantFailed("the systems' API listed system \"crm\" and does not know it now")

	strange := newWorld(t, []byte(header+row))
	strange.grants["crm"][0].Role = "root"
	agenttest.Start(t, build(strange, 1), "go").WantFailed(`system "crm", account "ann": column role: "root" is none of …`)

	doubled := newWorld(t, []byte(header+strings.Replace(row, "active", "left", 1)))
	doubled.grants["crm"] = append(doubled.grants["crm"], doubled.grants["crm"]...)
	agenttest.Start(t, build(doubled, 1), "go").WantPause("Revoke 1 of 1 grant? …")

	empty := newWorld(t, []byte(header+row))
	empty.grants["crm"] = nil
	agenttest.Start(t, build(empty, 1), "go").WantCompleted("Reviewed 0 grants in 1 system: …")

	crowded := newWorld(t, []byte(header+row))
	for i := range maxFindings + 1 {
		g := crowded.grants["crm"][0]
		g.Account, g.Status = fmt.Sprint("account-", i), "left"
		crowded.grants["crm"] = append(crowded.grants["crm"], g)
	}
	agenttest.Start(t, build(crowded, 1), "go").WantFailed("there are more than 100 findings: …")
}
