package catalog

import (
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/accessreview"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
)

// Shipped are the agents of this build, on a laptop and on AWS alike: add yours here.
// The first is the default one; each other's address is its name. A version leaves the
// list when no live task is on it any more.
//
// The worked example reviews the systems at an address, and is left out without one.
// More are what a server is told of when it starts.
func Shipped(systemsURL string, more ...*agent.Agent) (*Catalog, error) {
	list := []*agent.Agent{hello.Agent}
	if systemsURL != "" {
		list = append(list, accessreview.New(accessreview.HTTP{BaseURL: systemsURL})...)
	}
	return New(append(list, more...)...)
}
