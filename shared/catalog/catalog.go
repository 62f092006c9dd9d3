// Package catalog is the table of agents that a server offers, in all the versions
// that tasks may still be running on.
//
// A task ends on the version that it began with. A version may leave the catalog
// when no live task is on it any more; the console shows how many are.
package catalog

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// Catalog finds agents by name and version. Nothing changes it after New.
type Catalog struct {
	names    []string                  // in the order of New
	versions map[string][]*agent.Agent // ascending
}

// New makes a catalog. The first name is that of the default agent; the versions of
// a name may come in any order. No agent at all, and one version of one name twice,
// are errors.
func New(agents ...*agent.Agent) (*Catalog, error) {
	if len(agents) == 0 {
		return nil, errors.New("catalog: no agents")
	}
	c := &Catalog{versions: map[string][]*agent.Agent{}}
	for i, a := range agents {
		if a == nil {
			return nil, fmt.Errorf("catalog: agent %d of %d is nil", i+1, len(agents))
		}
		if _, known := c.versions[a.Name()]; !known {
			c.names = append(c.names, a.Name())
		}
		if _, doubled := c.Lookup(a.Name(), a.Version()); doubled {
			return nil, fmt.Errorf("catalog: agent %s version %d is there twice", a.Name(), a.Version())
		}
		c.versions[a.Name()] = append(c.versions[a.Name()], a)
	}
	for _, list := range c.versions {
		slices.SortFunc(list, func(a, b *agent.Agent) int { return cmp.Compare(a.Version(), b.Version()) })
	}
	return c, nil
}

// Lookup finds the agent of a task that is under way.
func (c *Catalog) Lookup(name string, version int) (*agent.Agent, bool) {
	for _, a := range c.versions[name] {
		if a.Version() == version {
			return a, true
		}
	}
	return nil, false
}

// Current finds the agent that a new task begins with: the highest version.
func (c *Catalog) Current(name string) (*agent.Agent, bool) {
	list := c.versions[name]
	if len(list) == 0 {
		return nil, false
	}
	return list[len(list)-1], true
}

// Known says whether an agent version can run here.
func (c *Catalog) Known(name string, version int) bool {
	_, known := c.Lookup(name, version)
	return known
}

// Outside says whether the tasks of an agent version are worked on outside: no
// execution may be started for them.
func (c *Catalog) Outside(name string, version int) bool {
	a, known := c.Lookup(name, version)
	return known && a.Outside()
}

// Names lists the agents; the default agent is the first.
func (c *Catalog) Names() []string { return slices.Clone(c.names) }

// Versions lists the versions of an agent, ascending; none for an unknown name.
func (c *Catalog) Versions(name string) []int {
	var out []int
	for _, a := range c.versions[name] {
		out = append(out, a.Version())
	}
	return out
}
