// Package offer tells the door and the console what the catalog has. They never import one another:
// agents know nothing of how they are reached.
package offer

import (
	"cmp"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Agents are what the door says of the current version of each agent, in the catalog's
// order. An agent that names a policy without a document is an error: *policy.Unknown.
// Versions under which no new task begins need theirs no more, for a task is judged by
// what was recorded of it.
func Agents(known *catalog.Catalog, policies *policy.Set) (out []api.Agent, err error) {
	for _, name := range known.Names() {
		current, _ := known.Current(name)
		judged, err := policies.Find(cmp.Or(current.Policy(), policy.Default))
		if err != nil {
			return nil, fmt.Errorf("agent %s version %d: %w", name, current.Version(), err)
		}
		card := current.Card()
		out = append(out, api.Agent{
			Name: name, Version: current.Version(), FirstStep: current.First(),
			Description: card.Description, Skills: card.Skills, InputModes: card.InputModes, OutputModes: card.OutputModes,
			ExtendedSkills: card.ExtendedSkills, Extensions: card.Extensions, Policy: judged.Policy(),
			Validate: current.Check, KeyedByMessageID: current.Keyed(), Outside: current.Outside(),
		})
	}
	return out, nil
}

// Versions are what the console says of every agent version that can run here, in the
// catalog's order.
func Versions(known *catalog.Catalog) (out []console.Agent) {
	for _, name := range known.Names() {
		current, _ := known.Current(name)
		for _, v := range known.Versions(name) {
			out = append(out, console.Agent{Name: name, Version: v, Current: v == current.Version(), Outside: known.Outside(name, v)})
		}
	}
	return out
}
