package main

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

// asked is a message as the kit sends it: the scene, then what makes it the
// session's own.
func asked(prefix string) *a2a.Message {
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("TCK"))
	m.ID = prefix + "-0a1b2c3d"
	return m
}

func TestScenes(t *testing.T) {
	played := map[string]bool{}
	play := func(prefix string) *agenttest.Run {
		played[prefix] = true
		return agenttest.StartWith(t, Tester, asked(prefix))
	}
	play("tck-complete-task").WantCompleted("Hello from TCK")
	play("tck-message-response").WantCompleted("Direct message response")
	play("tck-reject-task").WantRejected("rejected")
	play("tck-stream-002").WantCompleted("")
	for prefix, want := range map[string]string{
		"tck-artifact-text":           "Generated text content",
		"tck-artifact-file":           "…",
		"tck-artifact-file-url":       "…",
		"tck-artifact-data":           "…",
		"tck-stream-001":              "Stream hello from TCK",
		"tck-stream-003":              "Stream task lifecycle",
		"tck-stream-ordering-001":     "Ordered output",
		"tck-stream-artifact-text":    "Streamed text content",
		"tck-stream-artifact-file":    "…",
		"tck-stream-artifact-chunked": "chunk-1 chunk-2",
	} {
		play(prefix).WantArtifact("output", want).WantCompleted("")
	}
	play("test-resubscribe-message-id").WantSleep(longRun).WantCompleted("")
	play("tck-input-required").WantPause("Which scene comes next?").Cancel().WantCanceled()
	agenttest.StartWith(t, Tester, asked("tck-multi-001")).WantCompleted("No scene begins with …")
	for _, s := range scenes() {
		if !played[s.prefix] {
			t.Errorf("the scene %s is not tested", s.prefix)
		}
	}
}

// A longer prefix stands before the shorter one that it begins with: what a scene
// leaves says which one was played.
func TestPrefixesDoNotHideOneAnother(t *testing.T) {
	for prefix, want := range map[string]func(*a2a.Part) bool{
		"tck-artifact-file": func(p *a2a.Part) bool {
			return string(p.Raw()) == "tck" && p.Filename == "output.txt" && p.MediaType == "text/plain"
		},
		"tck-artifact-file-url": func(p *a2a.Part) bool {
			return p.URL() == "https://example.com/output.txt" && p.Filename == "output.txt"
		},
	} {
		run := agenttest.StartWith(t, Tester, asked(prefix)).WantCompleted("")
		if parts := run.Artifact("output").Parts; len(parts) != 1 || !want(parts[0]) {
			t.Errorf("%s: parts %v", prefix, parts)
		}
	}
}

func TestChunksOnceThroughEveryCrash(t *testing.T) {
	agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) {
		agenttest.StartWith(t, Tester, asked("tck-stream-artifact-chunked")).CrashAt(t).WantArtifact("output", "chunk-1 chunk-2").WantCompleted("")
	})
}
