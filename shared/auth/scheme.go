package auth

// Scheme is one entry of an agent card's securitySchemes (A2A §4.5), of which any
// suffices.
type Scheme struct {
	// Name is its key in the card.
	Name string
	// Kind says which of the fields below count.
	Kind        SchemeKind
	Description string
	// DiscoveryURL is of OpenIDConnect.
	DiscoveryURL string
	// Header is of APIKey.
	Header string
}

// SchemeKind is what a client must do.
type SchemeKind string

// Kinds of schemes.
const (
	OpenIDConnect SchemeKind = "openIdConnect" // get a token of the issuer
	HTTPBearer    SchemeKind = "http"          // Authorization: Bearer
	APIKey        SchemeKind = "apiKey"        // a header of its own
)

// keySchemes are the two places of an API key.
var keySchemes = []Scheme{
	{Name: "bearerKey", Kind: HTTPBearer, Description: "An API key as bearer token."},
	{Name: "apiKey", Kind: APIKey, Header: HeaderKey, Description: "An API key in a header of its own."},
}
