package api

import (
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// headerExtensions is the service parameter of §3.2.6, in both directions: what the
// client wants to use, and what of that this agent knows.
const headerExtensions = "A2A-Extensions"

// extensions are those that the agent's card declares; the first is ours.
func (c *call) extensions() []a2a.AgentExtension {
	return append([]a2a.AgentExtension{c.announce()}, c.agent.Extensions...)
}

// activate checks a request's extensions (A2A §3.3.4, §4.6.3): those that it wants and
// we do not know are ignored, those that the agent requires must be among them.
func (c *call) activate() error {
	wanted := map[string]bool{}
	for _, line := range c.r.Header.Values(headerExtensions) {
		for uri := range strings.SplitSeq(line, ",") {
			wanted[strings.TrimSpace(uri)] = true
		}
	}
	if len(wanted) == 0 && !slices.ContainsFunc(c.agent.Extensions, func(e a2a.AgentExtension) bool { return e.Required }) {
		return nil
	}
	var active, missing []string
	for _, e := range c.extensions() {
		switch {
		case wanted[e.URI]:
			active = append(active, e.URI)
		case e.Required:
			missing = append(missing, e.URI)
		}
	}
	if len(missing) > 0 {
		return refuse(a2a.ErrExtensionSupportRequired, "The agent requires extensions: send the header %s with %s.", headerExtensions, strings.Join(missing, ","))
	}
	if len(active) > 0 {
		c.w.Header().Set(headerExtensions, strings.Join(active, ","))
	}
	return nil
}
