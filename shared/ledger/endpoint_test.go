package ledger_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

func TestOrigin(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example/hook?task=1": "https://a.example", "https://a.example:8443/": "https://a.example:8443", "http://user@a.example/": "http://a.example", "https://exa mple/": "",
	} {
		if got := (ledger.Endpoint{URL: address}).Origin(); got != want {
			t.Errorf("%s is at %q, want %q", address, got, want)
		}
	}
}
