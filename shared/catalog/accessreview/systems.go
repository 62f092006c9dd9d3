package accessreview

import (
	"context"
	"errors"
)

// ErrUnknownSystem is what Grants returns for a system that the API does not know.
var ErrUnknownSystem = errors.New("the systems' API does not know this system")

// Systems is the API of the systems under review.
type Systems interface {
	// List returns the systems that there are.
	List(ctx context.Context) ([]System, error)
	// Grants returns the grants of one system. Fetching has no effect.
	Grants(ctx context.Context, system string) ([]Grant, error)
	// Revoke revokes a grant and returns the revocation's ID. The same key again
	// revokes nothing and returns the same ID. An error for which nothing was surely
	// done is marked by agent.NotDone, one that no repetition can mend by
	// agent.Permanent.
	Revoke(ctx context.Context, key string, g Revocation) (string, error)
}

// System is a system under review.
type System struct {
	Name  string `json:"name"`
	Owner string `json:"owner"` // approves revocations
}

// Grant is what an account may do in a system.
type Grant struct {
	Account      string `json:"account"`
	Person       string `json:"person"`
	Status       string `json:"status"`
	Role         string `json:"role"`
	EntitledRole string `json:"entitledRole"`
	GrantedOn    string `json:"grantedOn"`
	LastUsedOn   string `json:"lastUsedOn"` // empty: never
}

// Revocation names the grant to revoke.
type Revocation struct {
	System  string `json:"system"`
	Account string `json:"account"`
	Role    string `json:"role"`
}
