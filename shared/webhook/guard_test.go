package webhook_test

import (
	"errors"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// inside are addresses that nobody outside may make us call (case 55).
var inside = strings.Fields(`
	127.0.0.1 127.255.255.255 [::1] 0.0.0.0 0.1.2.3 [::]
	10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255 [fc00::1] [fdff::1]
	169.254.169.254 169.254.170.2 169.254.170.23 [fd00:ec2::254] [fd00:ec2::23] [fe80::1] [fe80::1%25eth0] [fec0::1]
	[::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:169.254.169.254] [::127.0.0.1] [::ffff:0:127.0.0.1]
	[64:ff9b::127.0.0.1] [64:ff9b::a9fe:a9fe] [64:ff9b::10.0.0.1] [64:ff9b:1::1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2002:808:808::1]
	[2001::1] [2001:db8::1] [2001:2::1] [2001:10::1] [3fff::1] [5f00::1] [100::1]
	224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 [ff02::1] [ff05::2]
	192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 192.88.99.1
`)

// outside are public ones, the last through NAT64.
var outside = strings.Fields(`8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 100.63.255.255 100.128.0.1 192.167.255.255 169.253.0.1 223.255.255.255
	[2606:4700:4700::1111] [2600:1f18::1] [64:ff9b::8.8.8.8]`)

func TestCheckURLAddresses(t *testing.T) {
	var guard webhook.Guard
	for _, host := range inside {
		if err := guard.CheckURL("https://" + host + "/"); !errors.Is(err, webhook.ErrAddress) {
			t.Errorf("%s passes: %v", host, err)
		}
	}
	for _, host := range outside {
		for _, port := range []string{"", ":443"} {
			if err := guard.CheckURL("https://" + host + port + "/"); err != nil {
				t.Error(err)
			}
		}
		for _, port := range []string{":80", ":9001", ":22", ":8443"} {
			if err := guard.CheckURL("https://" + host + port + "/"); !errors.Is(err, webhook.ErrAddress) {
				t.Errorf("%s%s passes: %v", host, port, err)
			}
		}
	}
}

func TestCheckURL(t *testing.T) {
	local := webhook.Guard{Allow: loopback, AllowHTTP: true}
	for _, c := range []struct {
		address         string
		strict, relaxed bool
	}{
		{"https://example.com", true, true},
		{"https://example.com./hook?key=value", true, true},
		{"https://bücher.example/", true, true},
		{"HTTPS://EXAMPLE.COM:443/", true, true},
		{"http://example.com/", false, true},
		{"http://example.com:80/", false, true},
		{"http://127.0.0.1:8090/", false, true},
		{"http://127.0.0.1:9001/2018-06-01/runtime/invocation/next", false, true}, // allowed is allowed: never in production
		{"http://localhost:8090/", false, true},
		{"https://localhost/", false, true},
		{"https://LOCALHOST./", false, true},
		{"https://a.localhost/", false, true},
		{"http://[::1]/", false, false},
		{"http://10.0.0.1/", false, false},
		{"http://[::ffff:127.0.0.1]/", false, false},
		{"https://[::ffff:8.8.8.8]/", false, false}, // public, but who writes it so has something in mind
		{"https://example.com:8443/", false, true},  // its name may lead to loopback; the dial decides
		{"https://127.1/", false, false},
		{"https://2130706433/", false, false},
		{"https://0x7f000001/", false, false},
		{"https://0x7f.0.0.1/", false, false},
		{"https://0177.0.0.1/", false, false},
		{"https://example.0x1/", false, false},
		{"https://user@example.com/", false, false},
		{"https://user:" + planted + "@example.com/", false, false},
		{"https://example.com/#" + planted, false, false},
		{"https://example.com/#", false, false},
		{"https://example.com:/", false, false},
		{"https://example.com:99999/", false, false},
		{"https://example.com:0443/", true, true},
		{"https:///" + planted, false, false},
		{"https://./", false, false},
		{"https:example.com", false, false},
		{"https://exa mple.com/", false, false},
		{"https://example.com/\n" + planted, false, false},
		{"https://[::1/" + planted, false, false},
		{"ftp://example.com/", false, false},
		{"file:///etc/passwd", false, false},
		{"gopher://127.0.0.1:9001/", false, false},
		{"//example.com/", false, false},
		{"", false, false},
		{"https://example.com/" + strings.Repeat("x", ledger.MaxURLBytes), false, false},
	} {
		for guard, want := range map[*webhook.Guard]bool{{}: c.strict, &local: c.relaxed} {
			err := guard.CheckURL(c.address)
			if (err == nil) != want || err != nil && !errors.Is(err, webhook.ErrAddress) {
				t.Errorf("%q with %+v: %v", c.address, *guard, err)
			}
			if err != nil && strings.Contains(err.Error(), planted) {
				t.Errorf("the error repeats the address: %v", err)
			}
		}
	}
}

// Each refusal has one cause, and says what would be taken.
func TestRefusalsSayWhy(t *testing.T) {
	local := webhook.Guard{Allow: loopback, AllowHTTP: true}
	for _, c := range []struct {
		guard         webhook.Guard
		address, says string
	}{
		{webhook.Guard{}, "ftp://example.com/", "its scheme is none of those that are taken: https"},
		{webhook.Guard{}, "http://example.com/", "its scheme is none of those that are taken: https"},
		{local, "ftp://example.com/", "its scheme is none of those that are taken: https and http"},
		{webhook.Guard{}, "https://10.1.2.3:8443/", "10.1.2.3 is not public; a local server calls the networks that its flag --webhook-networks names as well"},
		{webhook.Guard{}, "https://localhost:8443/", "localhost is not public; a local server calls the networks that its flag --webhook-networks names as well"},
		{local, "http://10.1.2.3/", "10.1.2.3 is not public; a local server calls the networks that its flag --webhook-networks names as well"},
		{webhook.Guard{}, "https://8.8.8.8:8443/", "port 8443 is not called, but 443"},
		{webhook.Guard{}, "https://example.com:80/", "port 80 is not called, but 443"},
		{local, "http://8.8.8.8:8443/", "port 8443 is not called, but 443 and 80"},
	} {
		if err := c.guard.CheckURL(c.address); err == nil || err.Error() != webhook.ErrAddress.Error()+": "+c.says {
			t.Errorf("%s: %v, want %q", c.address, err, c.says)
		}
	}
}

// The same addresses when they are dialled, whatever was checked before.
func TestDial(t *testing.T) {
	guard := webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.77/32")}, AllowHTTP: true}
	client := guard.Client()
	for _, host := range append(inside, "localhost", "127.0.0.1:9001", "[::1]:9001", "8.8.8.8:9001", "8.8.8.8:22") {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+host+"/", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err == nil {
			_ = resp.Body.Close()
		}
		if !errors.Is(err, webhook.ErrAddress) {
			t.Errorf("%s is dialled: %v", host, err)
		}
	}
}

// Case 55: a name that leads somewhere else the second time, and one with a public
// and a private address.
func TestRebinding(t *testing.T) {
	receiver := listen(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	names := &names{answers: [][]string{{"127.0.0.1"}, {"169.254.169.254"}, {"10.0.0.1", "192.168.0.1"}, {"127.0.0.1"}}}
	guard := webhook.Guard{Allow: loopback, AllowHTTP: true, Resolver: names.resolver()}
	address := strings.Replace(receiver.URL, "127.0.0.1", "rebinding.example", 1)
	if err := guard.CheckURL(address); err != nil {
		t.Fatal(err)
	}
	client := guard.Client()
	for i, fine := range []bool{true, false, false, true} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		if fine != (err == nil) || err != nil && !errors.Is(err, webhook.ErrAddress) {
			t.Errorf("request %d: %v", i+1, err)
		}
	}
}

func TestClientHasNothingOfItsEnvironment(t *testing.T) {
	transport, is := webhook.Guard{}.Client().Transport.(*http.Transport)
	if !is || transport == http.DefaultTransport || transport.Proxy != nil || !transport.DisableKeepAlives {
		t.Errorf("%+v", transport)
	}
}
