package agent_test

import (
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

func TestOutside(t *testing.T) {
	a := agent.Outside("translator", 2, agent.Card{Description: "Translates."}).KeyedByMessageID()
	if !a.Outside() || a.Name() != "translator" || a.Version() != 2 || a.First() == "" || len(a.Steps()) != 0 || a.Card().Description != "Translates." || !a.Keyed() {
		t.Errorf("the agent is %+v", a)
	}
	if err := a.Check(&a2a.Message{}); err == nil {
		t.Error("a message without parts was accepted")
	}
	if err := a.Check(a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("Hei"))); err != nil {
		t.Error(err)
	}
	for _, bad := range []func(){
		func() { agent.Outside("No Name", 1, agent.Card{}) }, func() { agent.Outside("translator", 0, agent.Card{}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("an agent that could never be served was made")
				}
			}()
			bad()
		}()
	}
}
