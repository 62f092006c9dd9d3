package accessreview

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// maxUnread is how many answers that nobody can read end the review.
const maxUnread = 5

// proposal is a finding as callers see it, in the question and in the report.
type proposal struct {
	ID         int    `json:"id"`
	System     string `json:"system"`
	Owner      string `json:"owner"`
	Account    string `json:"account"`
	Person     string `json:"person"`
	Role       string `json:"role"`
	Finding    string `json:"finding"`
	Because    string `json:"because"`
	Decision   string `json:"decision,omitempty"` // in the report
	Revocation string `json:"revocation,omitempty"`
}

// proposals are the findings, numbered from 1.
func (r *review) proposals() []proposal {
	out := make([]proposal, len(r.Findings))
	for i, f := range r.Findings {
		s := r.Systems[f.System]
		out[i] = proposal{
			ID: i + 1, System: s.Name, Owner: s.Owner, Account: f.Account, Person: f.Person,
			Role: f.Role, Finding: f.Kind, Because: f.Because,
		}
	}
	return out
}

// ask asks which proposals are approved.
func (s steps) ask(_ context.Context, t *agent.Task[review]) (agent.Next, error) {
	var b strings.Builder
	if t.State.Complaint != "" {
		fmt.Fprintf(&b, "That answer could not be read: %s. Nothing was revoked.\n\n", t.State.Complaint)
	}
	proposals := t.State.proposals()
	fmt.Fprintf(&b, "Revoke %d of %s? As of %s:\n", len(proposals), plural(t.State.grants(), "grant"), t.State.AsOf)
	for _, p := range proposals {
		fmt.Fprintf(&b, "%d. %s: %s in %s as %s (%s; %s; owner %s)\n", p.ID, p.Finding, p.Account, p.System, p.Role, p.Person, p.Because, p.Owner)
	}
	b.WriteString("\nAnswer \"approve all\", \"approve none\" or the numbers, as in \"approve 1,2,5\".")
	data := a2a.NewDataPart(map[string]any{"asOf": t.State.AsOf, "proposals": proposals})
	data.MediaType = mediaJSON
	question := &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(b.String()), data}}
	return agent.PauseWith(question, "answer", agent.For(answerTime), agent.ByName()), nil
}

// answer reads the reply. One that cannot be read approves nothing.
func (s steps) answer(_ context.Context, t *agent.Task[review]) (agent.Next, error) {
	ids, err := readAnswer(t.Message, len(t.State.Findings))
	if err != nil {
		t.State.Unread++
		t.State.Complaint = err.Error()
		if t.State.Unread >= maxUnread {
			return agent.Reject(fmt.Sprintf("%d answers could not be read, the last one because %s. Nothing was revoked. Submit the review anew to start over.", maxUnread, err)), nil
		}
		return agent.Continue("ask"), nil
	}
	t.State.Complaint = ""
	for _, id := range ids {
		t.State.Findings[id-1].Approved = true
	}
	t.Report(fmt.Sprintf("Approved %d of %s", len(ids), plural(len(t.State.Findings), "proposal")))
	return agent.Continue("apply"), nil
}
