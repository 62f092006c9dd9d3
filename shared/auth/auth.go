// Package auth says who is calling. It verifies what a request brings and stores
// nothing: no credential is kept, logged, or part of an error (I9).
//
// There are three ways, and a server has the first, the second, both, or the last:
//
//   - [Tokens]: JSON Web Tokens (RFC 7519) of one OpenID Connect issuer, checked
//     against its published keys.
//   - [Keys]: API keys, of which the configuration holds the SHA-256.
//   - [Loopback]: nobody is asked, and only this machine is served.
//
// What comes out is a [Principal]. Its tenant decides whose tasks a request can see,
// and comes from the verified credential alone; nothing else of a request can widen it
// (I10). A refused request learns that it was refused and no more: [Reason] is for
// logs.
package auth

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

var (
	// ErrUnauthenticated: the request does not prove who sends it.
	ErrUnauthenticated = errors.New("unauthenticated")
	// ErrForbidden: it is known who sends the request, and it may not.
	ErrForbidden = errors.New("forbidden")
	// ErrUnavailable: who sends it cannot be found out now, as when the issuer's keys
	// cannot be fetched. The request may be good; it may be tried again.
	ErrUnavailable = errors.New("authentication unavailable")
)

// Scope is something that a principal may do.
type Scope string

// Scopes.
const (
	// Caller speaks A2A: creates, reads, answers and cancels its tenant's tasks.
	Caller Scope = "caller"
	// Producer reports events about tasks from outside.
	Producer Scope = "producer"
	// OperatorRead sees how tasks run: ledger, effects, console.
	OperatorRead Scope = "operator:read"
	// OperatorAct settles what is in doubt, and restarts.
	OperatorAct Scope = "operator:act"
)

// scopes are all there are.
var scopes = []Scope{Caller, Producer, OperatorRead, OperatorAct}

// ParseScopes reads names of scopes, separated by spaces or commas.
func ParseScopes(text string) ([]Scope, error) {
	var out []Scope
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ' ' || r == ',' }) {
		if !slices.Contains(scopes, Scope(name)) {
			return nil, errors.New("unknown scope: the scopes are caller, producer, operator:read, operator:act")
		}
		out = append(out, Scope(name))
	}
	return out, nil
}

// Principal is who calls.
type Principal struct {
	// Tenant is whose data the request concerns.
	Tenant string
	// Name is unique within the tenant; it says which way it was proven.
	Name   string
	Scopes []Scope
}

// May says whether the principal has a scope.
func (p Principal) May(s Scope) bool { return slices.Contains(p.Scopes, s) }

// Hash stands for the principal where its name must not: in what callers can read. It
// has 128 bits, so that names made of it stay short.
func (p Principal) Hash() string {
	const chars = 32
	h := sha256.New()
	for _, field := range []string{"holdfast-principal-1", p.Tenant, p.Name} {
		fmt.Fprintf(h, "%d:%s", len(field), field)
	}
	return hex.EncodeToString(h.Sum(nil))[:chars]
}

// Authenticator finds out who sends a request.
type Authenticator interface {
	// Authenticate fails with ErrUnauthenticated, ErrForbidden or ErrUnavailable.
	Authenticate(r *http.Request) (Principal, error)
	// Schemes are what the agent card says of it.
	Schemes() []Scheme
}

// refused is an error whose text holds nothing of the request.
type refused struct {
	kind   error
	reason string
}

// Error implements error.
func (r *refused) Error() string { return r.kind.Error() + ": " + r.reason }

// Unwrap makes the kind known.
func (r *refused) Unwrap() error { return r.kind }

func refuse(kind error, reason string) error { return &refused{kind, reason} }

// Reason is why a request was refused, in words that are ours: for logs and counts,
// not for the caller. It is empty for other errors.
func Reason(err error) string {
	if r, ok := errors.AsType[*refused](err); ok {
		return r.reason
	}
	return ""
}

// maxNameBytes bounds tenants and principals' names: they become parts of keys.
const maxNameBytes = 128

// named says whether a tenant or a name can be used.
func named(s string) bool {
	return s != "" && len(s) <= maxNameBytes && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\uFFFD' })
}
