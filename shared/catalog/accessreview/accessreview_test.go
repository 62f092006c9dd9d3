package accessreview

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// wantProposals are the findings of the shipped file, as its README lists them.
var wantProposals = []string{
	"orphaned payroll/gmarchet/editor", "orphaned crm/dokonkwo/viewer", "orphaned data-warehouse/dokonkwo/editor",
	"orphaned vpn/skarlsson/viewer", "orphaned secrets-vault/hbrandt/admin",
	"stale crm/idahl/editor", "stale erp/cwei/editor", "stale treasury/eboateng/editor",
	"stale kubernetes-prod/bwhitaker/admin", "stale dns/ekaya/editor",
	"over-privileged payroll/splatt/admin", "over-privileged hr-core/rabrams/editor",
	"over-privileged source-control/nhaddad/owner", "over-privileged kubernetes-prod/mfuentes/editor",
}

func told14(proposals []proposal) []string {
	out := make([]string, len(proposals))
	for i, p := range proposals {
		out[i] = fmt.Sprintf("%s %s/%s/%s", p.Finding, p.System, p.Account, p.Role)
	}
	return out
}

// Both versions, whatever this build ships.
func TestReview(t *testing.T) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			w := newWorld(t, events.AccessReviewCSV)
			r := start(t, build(w, version)).
				WantPause("Revoke 14 of 333 grants? As of 2026-09-30:\n1. orphaned: gmarchet in payroll as editor (Giulia Marchetti; the person has left; owner Ingrid Halvorsen)…").
				WantReport("Reviewing 40 systems of the file as of 2026-09-30").
				WantReport("Fetched payroll: 11 grants, 2 findings (1 of 40)").
				WantReport("…(40 of 40)").
				WantReport("Analysed 333 grants: 14 findings")
			if n := r.StateBytes(); n > 8<<10 {
				t.Errorf("the state has %d bytes while the review waits, want far below 32 KiB", n)
			}
			r.Reply("approve all").
				WantReport("Approved 14 of 14 proposals").
				WantReport("Revoked 14 of 14: mfuentes in kubernetes-prod as editor").
				WantCompleted("Reviewed 333 grants in 40 systems: 14 findings, 14 revoked, 0 kept.")
			w.wantOnce(t, 14)
			w.wantFetches(t, 0)
			s := reported(t, r)
			if got := told14(s.Proposals); !slices.Equal(got, wantProposals) {
				t.Errorf("proposals\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantProposals, "\n"))
			}
			if s.AsOf != "2026-09-30" || s.Systems != 40 || s.Grants != 333 || s.Revoked != 14 || s.Kept != 0 || s.FromFile != 0 ||
				s.Findings["orphaned"] != 5 || s.Findings["stale"] != 5 || s.Findings["over-privileged"] != 4 {
				t.Errorf("report %+v", s)
			}
			if p := s.Proposals[0]; p.Decision != "revoked" || p.Revocation != "rev-52a6dfc27bc8-1" {
				t.Errorf("first proposal %+v, want it revoked, with the revocation's ID", p)
			}
			if len(r.Reports()) != 1+40+1+1+14 {
				t.Errorf("%d reports, want one for each thing that happened", len(r.Reports()))
			}
		})
	}
}

func TestVersionsOfThisBuild(t *testing.T) {
	agents := New(newWorld(t, events.AccessReviewCSV))
	if len(agents) != shipped {
		t.Fatalf("%d versions, want %d", len(agents), shipped)
	}
	for i, a := range agents {
		want := []string{"fetch", "collect"}[i]
		if a.Name() != Name || a.Version() != i+1 || !slices.Contains(a.Steps(), want) || !a.Keyed() {
			t.Errorf("agent %s version %d with steps %v; want version %d with step %s, keyed by messageId", a.Name(), a.Version(), a.Steps(), i+1, want)
		}
		card := a.Card()
		if card.Description == "" || !slices.Contains(card.InputModes, mediaCSV) || len(card.Skills) != 1 {
			t.Errorf("card %+v lacks something", card)
		}
	}
}

func TestQuestionIsDataToo(t *testing.T) {
	r := start(t, build(newWorld(t, events.AccessReviewCSV), 1)).WantPause("…")
	q := r.Question()
	if len(q.Parts) != 2 {
		t.Fatalf("question has %d parts, want text and data", len(q.Parts))
	}
	got, ok := q.Parts[1].Data().(map[string]any)
	if !ok || got["asOf"] != "2026-09-30" {
		t.Fatalf("data %v, want the as-of date", got)
	}
	proposals, ok := got["proposals"].([]any)
	if !ok || len(proposals) != 14 {
		t.Fatalf("data %v, want 14 proposals", got)
	}
	first, ok := proposals[0].(map[string]any)
	if !ok || first["id"] != 1.0 || first["system"] != "payroll" || first["account"] != "gmarchet" || first["role"] != "editor" || first["finding"] != "orphaned" {
		t.Errorf("first proposal %v", first)
	}
	if !strings.Contains(agent.Text(q), `14. over-privileged: mfuentes in kubernetes-prod as editor (Mateo Fuentes; entitled to viewer; owner `) {
		t.Errorf("the text does not list proposal 14:\n%s", agent.Text(q))
	}
}

func TestNobodyAnswers(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	start(t, build(w, 1)).Expire().WantFailed("Nobody answered …")
	w.wantOnce(t, 0)
}

// The process dies at each point where it can: the report is the same to the byte,
// each grant is revoked once, and only what was under way is fetched again.
func TestEveryCrash(t *testing.T) {
	content := onlyWithFindings(t)
	plain := newWorld(t, content)
	want := agenttest.StartWith(t, build(plain, 1), submission(content)).Reply("approve all").WantCompleted("…").Artifact(artifactID).Text()
	n := agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) {
		w := newWorld(t.T, content)
		r := agenttest.StartWith(t, build(w, 1), submission(content)).CrashAt(t).Reply("approve all").
			WantCompleted("Reviewed 114 grants in 11 systems: 14 findings, 14 revoked, 0 kept.")
		if got := r.Artifact(artifactID).Text(); got != want {
			t.Errorf("another report:\n%s", got)
		}
		if got := len(r.Reports()); got != 28 {
			t.Errorf("%d reports, want 28: none lost, none twice", got)
		}
		w.wantOnce(t.T, 14)
		w.wantFetches(t.T, 1)
	})
	// 31 commits with two points each (plan, 11 systems, analyse, ask, answer, 14
	// revocations, apply, report), and three points of each revocation's effect.
	if n != 2*31+3*14 {
		t.Errorf("%d crash points, want 104", n)
	}
	t.Logf("%d crash points", n)
}

func TestNetworkBreaksAfterNineRevocations(t *testing.T) {
	for _, c := range []struct {
		name     string
		err      error
		after    bool
		requests int
	}{
		{"as an error", agent.NotDone(errBroken), false, 15},
		{"broken on the way", errBroken, false, 15},
		{"acted and unanswered", errBroken, true, 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, events.AccessReviewCSV)
			w.revoking = func(n int) (error, bool) {
				if n == 10 {
					return c.err, c.after
				}
				return nil, false
			}
			r := start(t, build(w, 1)).Reply("approve all").WantCompleted("…14 revoked, 0 kept.")
			w.wantOnce(t, 14)
			if w.revokes != c.requests {
				t.Errorf("%d requests, want %d: the nine that were recorded are not made again", w.revokes, c.requests)
			}
			r.WantCalls("revoke-9", 1).WantCalls("revoke-10", 2).WantCalls("revoke-11", 1)
		})
	}
}

func TestFetchErrorsAreTriedAgain(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	broken := map[string]int{"crm": 3, "dns": 1}
	w.fetching = func(system string) error {
		if broken[system] > 0 {
			broken[system]--
			return errBroken
		}
		return nil
	}
	start(t, build(w, 1)).WantPause("Revoke 14 of 333 …")
	if w.fetches["crm"] != 4 || w.fetches["dns"] != 2 || w.fetches["payroll"] != 1 {
		t.Errorf("fetches %v, want only what failed again", w.fetches)
	}
}

func TestRefusedRevocationFailsTheTask(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	w.revoking = func(n int) (error, bool) {
		if n == 3 {
			return agent.Permanent(agent.NotDone(errBroken)), false
		}
		return nil, false
	}
	start(t, build(w, 1)).Reply("approve all").WantFailed("the network broke")
	w.wantOnce(t, 2)
}

func TestNothingFound(t *testing.T) {
	const clean = "system,owner,account,person,status,role,entitled_role,granted_on,last_used_on\n" +
		"crm,Olga,ann,Ann,active,viewer,viewer,2026-01-01,2026-09-30\n"
	w := newWorld(t, []byte(clean))
	r := agenttest.StartWith(t, build(w, 1), submission([]byte(clean))).
		WantCompleted("Reviewed 1 grant in 1 system: 0 findings, 0 revoked, 0 kept.")
	if s := reported(t, r); len(s.Proposals) != 0 || !strings.Contains(r.Artifact(artifactID).Text(), `"proposals": []`) {
		t.Errorf("report %+v, want an empty list", s)
	}
}

func TestReportReadsLikeThis(t *testing.T) {
	const small = "system,owner,account,person,status,role,entitled_role,granted_on,last_used_on\n" +
		"crm,Olga,a|b,Ann,active,viewer,viewer,2026-01-01,2026-09-30\n" +
		"crm,Olga,bob,\"Bob, Jr.\",left,editor,editor,2026-01-01,2026-09-30\n" +
		"vpn,Omar,a|b,Ann,active,owner,viewer,2026-01-01,2026-09-30\n"
	w := newWorld(t, []byte(small))
	r := agenttest.StartWith(t, build(w, 1), submission([]byte(small))).Reply("approve 2").WantCompleted("…1 revoked, 1 kept.")
	want := `# Access review as of 2026-09-30

2 systems, 3 grants, 2 findings: 1 revoked, 1 kept.

| # | finding | system | account | role | person | because | decision |
|--:|---|---|---|---|---|---|---|
| 1 | orphaned | crm | bob | editor | Bob, Jr. | the person has left | kept |
| 2 | over-privileged | vpn | a\|b | owner | Ann | entitled to viewer | revoked |
`
	if got := r.Artifact(artifactID).Parts[1].Text(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestReviewIsCanceledWhilePaused(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	start(t, build(w, 1)).WantPause("…").Cancel().WantCanceled()
	w.wantOnce(t, 0)
}
