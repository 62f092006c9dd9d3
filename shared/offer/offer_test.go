package offer_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/offer"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

const gold = `{"name": "gold", "version": 3, "owner": "platform team", "longestLifeSeconds": 86400, "longestPauseSeconds": 7200, "billing": {"basis": "none"},
	"retentionSeconds": {"completed": 864000, "failed": 864000, "canceled": 864000, "rejected": 864000, "afterExport": 3600}}`

// An agent that names a policy which nobody has is not offered, and the error says which; a version of it under which no
// task begins any more may name one that is gone.
func TestUnknownPolicy(t *testing.T) {
	policies, err := policy.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	gone := agent.Outside("translator", 1, agent.Card{}).Under("gold@2")
	for what, c := range map[string]struct {
		agents []*agent.Agent
		wrong  bool
	}{
		"the current version": {[]*agent.Agent{gone}, true},
		"an old version":      {[]*agent.Agent{gone, agent.Outside("translator", 2, agent.Card{})}, false},
	} {
		known, err := catalog.New(c.agents...)
		if err != nil {
			t.Fatal(err)
		}
		_, err = offer.Agents(known, policies)
		if unknown, is := errors.AsType[*policy.Unknown](err); is != c.wrong || is && (unknown.ID != "gold@2" || !strings.Contains(err.Error(), "translator")) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

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
	inside := agent.New("inside", 3, step).Describe(card).Validate(func(*a2a.Message) error { return errors.New("no") }).KeyedByMessageID().Under("gold@3")
	policies, err := policy.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	if err := policies.Add("gold.json", []byte(gold)); err != nil {
		t.Fatal(err)
	}
	known, err := catalog.New(inside, agent.Outside("outside", 1, card))
	if err != nil {
		t.Fatal(err)
	}
	agents, err := offer.Agents(known, policies)
	if err != nil {
		t.Fatal(err)
	}
	if len(agents) != 2 || agents[0].Name != "inside" || agents[1].Name != "outside" {
		t.Fatalf("%+v", agents)
	}
	if !agents[1].Outside {
		t.Error("the outside agent is not offered as one")
	}
	if got := agents[0].Policy; got.Version != "gold@3" || got.Terms == nil || got.Terms.Digest == "" {
		t.Errorf("the tasks are judged by %+v", got)
	}
	if got := agents[1].Policy; got.Version != policy.Default || got.Terms == nil {
		t.Errorf("the tasks of an agent that names no policy are judged by %+v", got)
	}
	v := reflect.ValueOf(agents[0])
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Outside" {
			t.Errorf("%s was not passed on", name)
		}
	}
}
