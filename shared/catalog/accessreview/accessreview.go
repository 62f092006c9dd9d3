// Package accessreview is the worked example: a quarterly review of who can do what
// in some forty systems.
//
// It plans the review from a file of grants (or from what the systems' API lists),
// fetches the grants of one system after the other, finds those that should go,
// asks the owners, revokes what they approve, and reports. What a review finds, and
// the format of the file, is described in events/accessreview/README.md.
//
// The first message holds the file as its one text/csv part, inline, with any text
// beside it; or text only, which reviews every system that the API lists. The
// question lists numbered proposals, as text and as data. These answers are read,
// in capitals or not:
//
//	approve all
//	approve none
//	approve 1,2,5
//	{"approve":"all"}  {"approve":"none"}  {"approve":[1,2,5]}   (a data part)
//
// Anything else revokes nothing and is asked again, a few times.
//
// # What makes it durable
//
// Each system is a visit of its own: a crash while one is fetched fetches that one
// again and no other. Each revocation is an effect whose key goes along as
// Idempotency-Key, and a sub-step: after an error, what was revoked is not revoked
// again. The state keeps findings and counters, never grants. The report holds no
// time, no key and no task ID, so that it is the same whatever happened meanwhile.
//
// # Versions
//
// Built with the tag next, the package ships a second version besides the first,
// whose step "fetch" is called "collect": a deploy in the middle of a task, to try
// that the task ends on the version that it began with.
package accessreview

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// Name is the agent's name.
const Name = "access-review"

// Policy is what reviews are accepted under: its document says who undoes a revocation,
// and that reviews are billed by revocations (shared/policy/documents).
const Policy = "access-review@1"

// Times of the steps. A step that waits for the API gets longer than one call.
const (
	fetchTimeout  = 30 * time.Second
	applyTimeout  = 10 * time.Minute
	revokeTimeout = 20 * time.Second
	answerTime    = 7 * 24 * time.Hour
)

// steps are the functions of the table, with what they need.
type steps struct {
	api   Systems
	fetch string // name of the step that fetches
}

// New makes the agent in all versions that this build ships, the oldest first.
func New(api Systems) []*agent.Agent {
	var out []*agent.Agent
	for version := 1; version <= shipped; version++ {
		out = append(out, build(api, version))
	}
	return out
}

func build(api Systems, version int) *agent.Agent {
	s := steps{api: api, fetch: "fetch"}
	if version > 1 {
		s.fetch = "collect"
	}
	return agent.New(Name, version,
		agent.Step[review]{Name: "plan", Run: s.plan},
		agent.Step[review]{Name: s.fetch, Run: s.fetchNext, Timeout: fetchTimeout},
		agent.Step[review]{Name: "analyse", Run: s.analyse},
		agent.Step[review]{Name: "ask", Run: s.ask},
		agent.Step[review]{Name: "answer", Run: s.answer},
		agent.Step[review]{Name: "apply", Run: s.apply, Timeout: applyTimeout},
		agent.Step[review]{Name: "report", Run: s.report},
	).Describe(agent.Card{
		Description: "Reviews who can do what: finds orphaned, stale and over-privileged grants, asks which to revoke, and revokes them.",
		Skills: []a2a.AgentSkill{{
			ID: "access-review", Name: "Access review",
			Description: "Send a file of grants as a text/csv part, or only a text to review all systems. Answers a question with \"approve all\", \"approve none\" or \"approve 1,2,5\".",
			Tags:        []string{"access", "compliance", "human in the loop"},
			Examples:    []string{"Review access for Q3 2026"},
			InputModes:  []string{"text/plain", mediaCSV},
			OutputModes: []string{"text/plain", mediaJSON, mediaMarkdown},
		}},
		InputModes:  []string{"text/plain", mediaCSV, mediaJSON},
		OutputModes: []string{"text/plain", mediaJSON, mediaMarkdown},
	}).Validate(validate).KeyedByMessageID().Under(Policy)
}

// Media types.
const (
	mediaCSV      = "text/csv"
	mediaJSON     = "application/json"
	mediaMarkdown = "text/markdown"
)
