package main

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// What the clients are tried against shows what it promises, also after a crash.
func TestShows(t *testing.T) {
	agenttest.Start(t, shows, "ask").WantPause("Which city?").Reply("Oslo").WantCompleted("You said Oslo").WantArtifact("answer", "Oslo")
	agenttest.Start(t, shows, "count 3").CrashBeforeCommit("count").CrashAfterCommit("count").WantCompleted("Counted to 3").WantArtifact("numbers", "123")
	agenttest.Start(t, shows, "write").CrashAfterCommit("write").CrashBeforeCommit("write").CrashAfterCommit("write").
		WantCompleted("Written").WantArtifact("draft", "one\ntwo\nthree\nfour\nfive\n")
}

func TestValidate(t *testing.T) {
	for text, fine := range map[string]bool{"ask": true, "count 3": true, "count": false, "quiet x": false, "echo": false, "sing": false, "": false} {
		if err := shows.Check(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))); (err == nil) != fine {
			t.Errorf("%q: %v", text, err)
		}
	}
}
