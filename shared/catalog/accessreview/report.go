package accessreview

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// artifactID is the report: JSON, then the same as a readable table.
const artifactID a2a.ArtifactID = "access-review"

// summary is the report. It holds nothing that depends on when or how often the
// steps ran.
type summary struct {
	AsOf      string         `json:"asOf"`
	Systems   int            `json:"systems"`
	FromFile  int            `json:"systemsFromFile"` // unknown to the API
	Grants    int            `json:"grants"`
	Findings  map[string]int `json:"findings"`
	Revoked   int            `json:"revoked"`
	Kept      int            `json:"kept"`
	Proposals []proposal     `json:"proposals"`
}

func (r *review) summary() summary {
	out := summary{AsOf: r.AsOf, Systems: len(r.Systems), Grants: r.grants(), Findings: map[string]int{}, Revoked: r.count(revoked), Proposals: r.proposals()}
	out.Kept = len(r.Findings) - out.Revoked
	for _, s := range r.Systems {
		if s.FromFile {
			out.FromFile++
		}
	}
	for _, k := range kinds {
		out.Findings[k] = r.count(func(f finding) bool { return f.Kind == k })
	}
	for i, f := range r.Findings {
		out.Proposals[i].Decision, out.Proposals[i].Revocation = "kept", f.Revocation
		if f.Revoked {
			out.Proposals[i].Decision = "revoked"
		}
	}
	return out
}

// table is the summary for people, in Markdown.
func (s summary) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Access review as of %s\n\n", s.AsOf)
	fmt.Fprintf(&b, "%s, %s, %s: %d revoked, %d kept.\n", plural(s.Systems, "system"), plural(s.Grants, "grant"), plural(len(s.Proposals), "finding"), s.Revoked, s.Kept)
	if s.FromFile > 0 {
		fmt.Fprintf(&b, "The API does not know %s; the file was used.\n", plural(s.FromFile, "system"))
	}
	if len(s.Proposals) == 0 {
		return b.String()
	}
	b.WriteString("\n| # | finding | system | account | role | person | because | decision |\n|--:|---|---|---|---|---|---|---|\n")
	cell := strings.NewReplacer("|", `\|`, "\\", `\\`)
	for _, p := range s.Proposals {
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s | %s | %s | %s |\n", p.ID, p.Finding,
			cell.Replace(p.System), cell.Replace(p.Account), p.Role, cell.Replace(p.Person), p.Because, p.Decision)
	}
	return b.String()
}

// report writes the report and ends the task.
func (s steps) report(_ context.Context, t *agent.Task[review]) (agent.Next, error) {
	sum := t.State.summary()
	raw, err := json.MarshalIndent(sum, "", "  ")
	if err != nil {
		return agent.Next{}, agent.Permanent(err)
	}
	chunk := agent.Chunk{Artifact: artifactID, Name: "Access review", Description: "What was found and what was decided: JSON, then a table."}
	chunk.Part = a2a.NewTextPart(string(raw) + "\n")
	chunk.Part.MediaType = mediaJSON
	t.Emit(chunk)
	chunk.Append, chunk.Last = true, true
	chunk.Part = a2a.NewTextPart(sum.table())
	chunk.Part.MediaType = mediaMarkdown
	t.Emit(chunk)
	return agent.Complete(fmt.Sprintf("Reviewed %s in %s: %s, %d revoked, %d kept.",
		plural(sum.Grants, "grant"), plural(sum.Systems, "system"), plural(len(sum.Proposals), "finding"), sum.Revoked, sum.Kept)), nil
}
