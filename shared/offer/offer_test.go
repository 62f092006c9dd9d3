package offer_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/offer"
)

// Everything that an agent declares reaches the door: a field of the door's that stays
// empty here was forgotten.
func TestEverythingIsOffered(t *testing.T) {
	step := agent.Step[struct{}]{Name: "only", Run: func(context.Context, *agent.Task[struct{}]) (agent.Next, error) {
		return agent.Complete("done"), nil
	}}
	card := agent.Card{
		Description: "An agent.", Skills: []a2a.AgentSkill{{ID: "s"}}, InputModes: []string{"text/csv"}, OutputModes: []string{"image/png"},
		ExtendedSkills: []a2a.AgentSkill{{ID: "x"}}, Extensions: []a2a.AgentExtension{{URI: "urn:e"}},
	}
	inside := agent.New("inside", 3, step).Describe(card).Validate(func(*a2a.Message) error { return errors.New("no") }).KeyedByMessageID()
	known, err := catalog.New(inside, agent.Outside("outside", 1, card))
	if err != nil {
		t.Fatal(err)
	}
	agents := offer.Agents(known)
	if len(agents) != 2 || agents[0].Name != "inside" || agents[1].Name != "outside" {
		t.Fatalf("%+v", agents)
	}
	if !agents[1].Outside {
		t.Error("the outside agent is not offered as one")
	}
	v := reflect.ValueOf(agents[0])
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Outside" {
			t.Errorf("%s was not passed on", name)
		}
	}
}
