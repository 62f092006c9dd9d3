package api

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/auth"
)

// card is an agent card in the specification's JSON. The nouns' own encoding writes
// the scopes of a requirement as an array where the specification's is an object
// with a list (A2A, a2a.proto, StringList), which the Python client insists on. The
// Go client of v2.4.0 reads the array only: it cannot read a card with requirements.
type card struct {
	*a2a.AgentCard

	SecurityRequirements []requirement `json:"securityRequirements,omitempty"`
}

type requirement struct {
	Schemes map[string]scopeList `json:"schemes"`
}

type scopeList struct {
	List []string `json:"list"`
}

// security is what the card tells a client to bring (A2A §4.5, §7): one of the
// schemes is enough. Nothing when nobody is asked.
func security(list []auth.Scheme) (schemes a2a.NamedSecuritySchemes, either []requirement) {
	for _, s := range list {
		if schemes == nil {
			schemes = a2a.NamedSecuritySchemes{}
		}
		name := a2a.SecuritySchemeName(s.Name)
		switch s.Kind {
		case auth.OpenIDConnect:
			schemes[name] = a2a.OpenIDConnectSecurityScheme{Description: s.Description, OpenIDConnectURL: s.DiscoveryURL}
		case auth.HTTPBearer:
			schemes[name] = a2a.HTTPAuthSecurityScheme{Description: s.Description, Scheme: "Bearer"}
		case auth.APIKey:
			schemes[name] = a2a.APIKeySecurityScheme{Description: s.Description, Location: a2a.APIKeySecuritySchemeLocationHeader, Name: s.Header}
		}
		either = append(either, requirement{map[string]scopeList{s.Name: {List: []string{}}}})
	}
	return schemes, either
}
