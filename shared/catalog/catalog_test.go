package catalog_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
)

func named(name string, version int) *agent.Agent {
	return agent.New(name, version, agent.Step[int]{Name: "only", Run: func(context.Context, *agent.Task[int]) (agent.Next, error) {
		return agent.Complete("Done"), nil
	}})
}

func TestCatalogOutside(t *testing.T) {
	c, err := catalog.New(named("inside", 1), agent.Outside("moved", 2, agent.Card{}), named("moved", 1))
	if err != nil {
		t.Fatal(err)
	}
	if c.Outside("inside", 1) || c.Outside("moved", 1) || !c.Outside("moved", 2) || c.Outside("moved", 3) || c.Outside("gone", 1) {
		t.Error("only version 2 of moved is worked on outside")
	}
}

func TestCatalog(t *testing.T) {
	hello, old, current, next := named("hello", 1), named("review", 1), named("review", 10), named("review", 9)
	c, err := catalog.New(hello, current, old, next)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Names(); !slices.Equal(got, []string{"hello", "review"}) {
		t.Errorf("names %v, want those of New in its order", got)
	}
	if got := c.Versions("review"); !slices.Equal(got, []int{1, 9, 10}) {
		t.Errorf("versions %v, want 1 9 10", got)
	}
	if got := c.Versions("gone"); got != nil {
		t.Errorf("versions of an unknown agent: %v", got)
	}
	if got, ok := c.Current("hello"); !ok || got != hello {
		t.Error("the only version is not the current one")
	}
	for _, want := range []*agent.Agent{old, next, current} {
		if got, ok := c.Lookup("review", want.Version()); !ok || got != want {
			t.Errorf("version %d was not found", want.Version())
		}
	}
	if got, ok := c.Current("review"); !ok || got != current {
		t.Error("the current version is not the highest")
	}
	for _, name := range []string{"", "gone"} {
		if _, ok := c.Current(name); ok {
			t.Errorf("there is a current %q", name)
		}
	}
	for _, version := range []int{0, 2, 11} {
		if _, ok := c.Lookup("review", version); ok {
			t.Errorf("there is a version %d", version)
		}
	}
	c.Names()[0] = "changed"
	if c.Names()[0] != "hello" {
		t.Error("a caller changed the catalog")
	}
}

func TestCatalogThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		agents []*agent.Agent
		want   string
	}{
		{nil, "catalog: no agents"},
		{[]*agent.Agent{named("a", 1), nil}, "catalog: agent 2 of 2 is nil"},
		{[]*agent.Agent{named("a", 1), named("b", 1), named("a", 1)}, "catalog: agent a version 1 is there twice"},
	} {
		if got, err := catalog.New(c.agents...); got != nil || fmt.Sprint(err) != c.want {
			t.Errorf("got %v and error %v, want %q", got, err, c.want)
		}
	}
}
