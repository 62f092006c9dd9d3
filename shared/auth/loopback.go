package auth

import (
	"fmt"
	"net"
	"net/http"
)

// Loopback takes everybody on this machine for one principal with every scope. It
// is for a server on a laptop.
type Loopback struct{ principal Principal }

var _ Authenticator = (*Loopback)(nil)

// NewLoopback refuses an address that others can reach: without authentication a
// server on it would be everybody's.
func NewLoopback(addr, tenant string) (*Loopback, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil || !loopback(host) {
		return nil, fmt.Errorf("without authentication only a loopback address is served, such as 127.0.0.1:8080, not %q", addr)
	}
	if !named(tenant) {
		return nil, fmt.Errorf("the tenant needs 1 to %d printable characters", maxNameBytes)
	}
	return &Loopback{Principal{Tenant: tenant, Name: tenant, Scopes: scopes}}, nil
}

// Authenticate implements Authenticator. It checks again what NewLoopback was told:
// a request that came another way is refused, and so is one for another host's name,
// as a web page can send it after pointing its own name here (DNS rebinding).
func (l *Loopback) Authenticate(r *http.Request) (Principal, error) {
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err != nil || !loopback(host) {
		return Principal{}, refuse(ErrUnauthenticated, "not from this machine")
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	if !loopback(host) {
		return Principal{}, refuse(ErrUnauthenticated, "addressed to another host")
	}
	return l.principal, nil
}

// Schemes implements Authenticator: a card without any says that nothing is asked.
func (l *Loopback) Schemes() []Scheme { return nil }

func loopback(host string) bool {
	if len(host) > 2 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
