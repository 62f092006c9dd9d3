// Package offer tells the door what the catalog has. The two never import one another:
// agents know nothing of how they are reached.
package offer

import (
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
)

// Agents are what the door says of the current version of each agent, in the catalog's
// order.
func Agents(known *catalog.Catalog) (out []api.Agent) {
	for _, name := range known.Names() {
		current, _ := known.Current(name)
		card := current.Card()
		out = append(out, api.Agent{
			Name: name, Version: current.Version(), FirstStep: current.First(),
			Description: card.Description, Skills: card.Skills, InputModes: card.InputModes, OutputModes: card.OutputModes,
			ExtendedSkills: card.ExtendedSkills, Extensions: card.Extensions,
			Validate: current.Check, KeyedByMessageID: current.Keyed(), Outside: current.Outside(),
		})
	}
	return out
}
