package runner_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What an agent's author is told is what the rules enforce.
func TestLimitsAgree(t *testing.T) {
	for name, pair := range map[string][2]int{
		"state":                {agent.MaxStateBytes, lifecycle.MaxCheckpointBytes},
		"updates":              {agent.MaxUpdates, lifecycle.MaxEntriesPerCommit - 2},
		"chunks":               {agent.MaxChunks, lifecycle.MaxChunksPerCommit},
		"artifacts per commit": {agent.MaxArtifactsPerCommit, lifecycle.MaxArtifactsPerCommit},
		"artifacts":            {agent.MaxArtifacts, lifecycle.MaxArtifacts},
		"artifact ID":          {agent.MaxArtifactIDBytes, lifecycle.MaxNameBytes},
		"effect result":        {agent.MaxEffectResultBytes, lifecycle.MaxEffectResultBytes},
		"entries":              {agent.MaxEntries, lifecycle.MaxEntries},
		"grants":               {agent.MaxGrants, lifecycle.MaxGrants},
		"longest pause":        {int(agent.MaxPause), int(lifecycle.MaxPause)},
		"default pause":        {int(agent.DefaultPause), int(lifecycle.DefaultPause)},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: package agent says %d, package lifecycle %d", name, pair[0], pair[1])
		}
	}
}
