package hello_test

import (
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
)

func TestGreets(t *testing.T) {
	for text, want := range map[string]string{
		"world":       "Hello, world!",
		" Ada ":       "Hello, Ada!",
		"count":       "Hello, count!",
		"count me in": "Hello, count me in!",
		"counting 3":  "Hello, counting 3!",
	} {
		agenttest.Start(t, hello.Agent, text).WantCompleted(want)
	}
}

func TestCounts(t *testing.T) {
	r := agenttest.Start(t, hello.Agent, "Count 3 please").
		WantReport("1").WantSleep(time.Second).
		WantReport("2").WantSleep(time.Second).
		WantCompleted("Counted to 3.")
	if got := r.Reports(); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("reports %v, want 1 2 3", got)
	}
	agenttest.Start(t, hello.Agent, "count 1").WantCompleted("Counted to 1.")
	agenttest.Start(t, hello.Agent, "count 1000").WantCompleted("Counted to 1000.")
}

func TestCountsOnceThroughEveryCrash(t *testing.T) {
	agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) {
		r := agenttest.Start(t, hello.Agent, "count 4").CrashAt(t).WantCompleted("Counted to 4.")
		if got := r.Reports(); !slices.Equal(got, []string{"1", "2", "3", "4"}) {
			t.Errorf("reports %v, want 1 2 3 4", got)
		}
	})
}

func TestCanBeCanceledWhileCounting(t *testing.T) {
	agenttest.Start(t, hello.Agent, "count 10").WantSleep(time.Second).Cancel().WantCanceled()
}

func TestRefusesAtTheDoor(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "send a text: …",
		" \n":                        "send a text: …",
		"count 0":                    "it counts to a number from 1 to 1000, not to 0",
		"count -1":                   "it counts to …",
		"count 1001":                 "it counts to …",
		"count 99999999999999999999": "it counts to …",
	} {
		agenttest.Start(t, hello.Agent, text).WantRefused(want)
	}
	noText := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"a": 1}))
	agenttest.StartWith(t, hello.Agent, noText).WantRefused("send a text: …")
}

func TestIsDescribed(t *testing.T) {
	card := hello.Agent.Card()
	if card.Description == "" || len(card.Skills) != 2 || !hello.Agent.Keyed() {
		t.Errorf("card %+v, keyed %v; want a description, two skills and messageId as the key", card, hello.Agent.Keyed())
	}
	for _, s := range card.Skills {
		if s.ID == "" || s.Name == "" || s.Description == "" || len(s.Tags) == 0 {
			t.Errorf("skill %+v lacks a required field (A2A §4.4.5)", s)
		}
	}
}
