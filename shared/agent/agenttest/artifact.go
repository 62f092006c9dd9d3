package agenttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// Artifact is an artifact as callers see it: its latest revision.
type Artifact struct {
	ID       a2a.ArtifactID
	Name     string
	Revision int
	Parts    []*a2a.Part // one for each chunk
	Sealed   bool
}

// Text is the text of the chunks, joined without anything between.
func (a Artifact) Text() string {
	var out strings.Builder
	for _, p := range a.Parts {
		out.WriteString(p.Text() + string(p.Raw()))
	}
	return out.String()
}

// artifacts of a task. Values are never changed: with returns new ones.
type artifacts map[a2a.ArtifactID]Artifact

// with is the artifacts after the chunks of one commit, or why they are refused.
// Nothing is created, dropped or mixed silently.
func (as artifacts) with(updates []agent.Update) (artifacts, error) {
	if len(updates) > agent.MaxUpdates {
		return nil, refuse(limitReached, "%d updates in one commit, the limit is %d", len(updates), agent.MaxUpdates)
	}
	out := maps.Clone(as)
	touched := map[a2a.ArtifactID]bool{}
	chunks := 0
	for _, u := range updates {
		if u.Chunk == nil {
			continue
		}
		a, err := out.grown(*u.Chunk)
		if err != nil {
			return nil, err
		}
		chunks++
		touched[a.ID] = true
		if chunks > agent.MaxChunks || len(touched) > agent.MaxArtifactsPerCommit {
			return nil, refuse(limitReached, "a commit takes %d chunks of %d artifacts: commit sub-steps", agent.MaxChunks, agent.MaxArtifactsPerCommit)
		}
		out[a.ID] = a
	}
	return out, nil
}

// grown is a chunk's artifact with the chunk.
func (as artifacts) grown(c agent.Chunk) (Artifact, error) {
	a, known := as[c.Artifact]
	switch {
	case c.Artifact == "" || len(c.Artifact) > agent.MaxArtifactIDBytes:
		return a, refuse(limitReached, "an artifact ID has 1 to %d bytes", agent.MaxArtifactIDBytes)
	case !known && !c.Append && len(as) >= agent.MaxArtifacts:
		return a, refuse(limitReached, "a task has at most %d artifacts", agent.MaxArtifacts)
	case c.Append && !known:
		return a, refuse(unknownArtifact, "append to artifact %q, which does not exist: open it first (append=false)", c.Artifact)
	case c.Append && a.Sealed:
		return a, refuse(unknownArtifact, "append to artifact %q, whose revision %d is sealed: open a new revision (append=false)", c.Artifact, a.Revision)
	case !c.Append:
		a = Artifact{ID: c.Artifact, Name: c.Name, Revision: a.Revision + 1}
	}
	raw, err := json.Marshal(c.Part)
	if err != nil {
		return a, err
	}
	part := &a2a.Part{}
	if err := json.Unmarshal(raw, part); err != nil {
		return a, err
	}
	a.Parts = append(slices.Clone(a.Parts), part)
	a.Sealed = c.Last
	return a, nil
}

// open finds an artifact that is not sealed.
func (as artifacts) open() (a2a.ArtifactID, bool) {
	for _, id := range slices.Sorted(maps.Keys(as)) {
		if !as[id].Sealed {
			return id, true
		}
	}
	return "", false
}

// tell describes a chunk on one line of the transcript.
func tell(c agent.Chunk) string {
	verb := "opens"
	if c.Append {
		verb = "appends to"
	}
	if c.Last {
		verb += " and seals"
	}
	return fmt.Sprintf("%s artifact %s: %s", verb, c.Artifact, clipped(c.Part.Text()+string(c.Part.Raw())))
}
