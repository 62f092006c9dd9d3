package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	"code.dny.dev/ssrf"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// ErrAddress is about an address that is not called. The message says why and does not
// repeat it, for it may hold a secret.
var ErrAddress = errors.New("not an address for a webhook")

var public = ssrf.New(ssrf.WithAnyPort())

// Guard decides whom we call: public addresses on port 443, with https, and where
// AllowHTTP says so with http on port 80. The lists of what is not public are IANA's
// registries of special purposes, as package ssrf has them: loopback, private, link-local
// with the clouds' metadata, shared, multicast, reserved, documentation, tunnels, and IPv4
// within IPv6.
type Guard struct {
	// Allow are networks that are called all the same, on any port: receivers on one's
	// own machine. Empty in production, where loopback has the runtime's own services.
	Allow []netip.Prefix
	// AllowHTTP lets http pass too: on port 80, and on any within Allow.
	AllowHTTP bool
	// Resolver looks names up; nil for the system's.
	Resolver *net.Resolver
}

// CheckURL refuses what can be seen to be wrong before any connection. Errors are
// ErrAddress. That it passes says nothing about where its name leads: that is checked
// for each connection.
func (g Guard) CheckURL(address string) error {
	if len(address) > ledger.MaxURLBytes {
		return refuse("longer than %d bytes", ledger.MaxURLBytes)
	}
	u, err := url.Parse(address)
	switch {
	case err != nil:
		return refuse("not a URL") // url's error repeats it
	case u.Scheme != "https" && (u.Scheme != "http" || !g.AllowHTTP):
		return refuse("its scheme is none of those that are taken: %s", g.schemes())
	case u.User != nil:
		return refuse("a name or a password stands in it: use the authentication of the configuration")
	case u.Fragment != "" || strings.Contains(address, "#"):
		return refuse("it has a fragment")
	case u.Opaque != "" || u.Hostname() == "":
		return refuse("it names no host")
	}
	port := uint16(443)
	if u.Scheme == "http" {
		port = 80
	}
	if u.Port() != "" || strings.HasSuffix(u.Host, ":") {
		n, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil {
			return refuse("not a port")
		}
		port = uint16(n)
	}
	return g.checkHost(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port)
}

func (g Guard) checkHost(host string, port uint16) error {
	if ip, err := netip.ParseAddr(host); err == nil {
		return g.check(netip.AddrPortFrom(ip, port))
	}
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	switch {
	case err == nil, last == "", strings.Contains(host, ":"):
		return refuse("the host is neither a name nor an IP address") // 127.1, 0x7f000001
	case len(g.Allow) > 0:
		return nil // the name may lead into an allowed network
	case last == "localhost":
		return refuse("localhost is not public; " + howToAllow)
	case !g.port(port):
		return refuse("port %d is not called, but %s", port, g.ports())
	}
	return nil
}

// howToAllow is what the owner of a deployment can do about it.
const howToAllow = "a local server calls the networks that its flag --webhook-networks names as well"

func (g Guard) port(port uint16) bool { return port == 443 || g.AllowHTTP && port == 80 }

func (g Guard) ports() string {
	if g.AllowHTTP {
		return "443 and 80"
	}
	return "443"
}

func (g Guard) schemes() string {
	if g.AllowHTTP {
		return "https and http"
	}
	return "https"
}

// check decides about an address as it would be dialled.
func (g Guard) check(to netip.AddrPort) error {
	ip := to.Addr()
	for _, allowed := range g.Allow {
		if allowed.Contains(ip) {
			return nil
		}
	}
	// The last four bytes are an IPv4 address, for a gateway to translate (RFC 6052, 2.1):
	// it is as public as that one is.
	if ssrf.IPv6NAT64Prefix.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case public.SafeAddr(ip) != nil:
		return refuse("%s is not public; %s", to.Addr(), howToAllow)
	case !g.port(to.Port()):
		return refuse("port %d is not called, but %s", to.Port(), g.ports())
	}
	return nil
}

// Client calls what the guard lets pass, and nobody else: no proxy, no redirect, no
// connection kept over a pause in which a function is frozen.
func (g Guard) Client() *http.Client {
	dialer := &net.Dialer{
		Timeout: Timeout, Resolver: g.Resolver,
		// Here the name has become an address, and no other one is dialled: a name that
		// leads elsewhere the second time is caught.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil {
				return refuse("not an IP address")
			}
			return g.check(to)
		},
	}
	return &http.Client{
		Timeout:       Timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableKeepAlives: true, DisableCompression: true,
			TLSHandshakeTimeout: Timeout, MaxResponseHeaderBytes: maxAnswerHeaderBytes,
		},
	}
}

func refuse(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrAddress}, args...)...)
}
