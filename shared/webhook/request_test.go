package webhook_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/seal"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// planted is in every secret, in URLs, and in what receivers answer.
const planted = "PLANTED"

// Case 54: what a request carries, exactly.
func TestRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		s := w.sender()
		w.hint(s, w.commit("v"))
		r := w.receiver(at).requests()[0]
		for name, want := range map[string]string{
			"Content-Type": "application/a2a+json", "Authorization": "Custom credentials-" + planted, "Holdfast-Sequence": "1", "User-Agent": "Holdfast",
			"Webhook-Timestamp": fmt.Sprint(time.Now().Unix()),
		} {
			if got := r.header[name]; !slices.Equal(got, []string{want}) {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		for _, name := range []string{"A2A-Notification-Token", "X-A2A-Notification-Token"} {
			if got := r.header[name]; !slices.Equal(got, []string{"token-" + planted}) {
				t.Errorf("%s: %q", name, got)
			}
		}
		signatures := strings.Fields(r.header.Get("webhook-signature"))
		if len(signatures) != 2 || len(s.Signer.Public()) != 2 {
			t.Fatalf("signatures %q, keys %q", signatures, s.Signer.Public())
		}
		for i, public := range s.Signer.Public() { // each key verifies its own
			key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(public, "whpk_"))
			signature, err2 := base64.StdEncoding.DecodeString(strings.TrimPrefix(signatures[i], "v1a,"))
			signed := r.id + "." + r.header.Get("webhook-timestamp") + "." + r.body
			if err != nil || err2 != nil || !strings.HasPrefix(public, "whpk_") || !ed25519.Verify(key, []byte(signed), signature) {
				t.Errorf("key %q does not verify %q (%v, %v)", public, signatures[i], err, err2)
			}
			if ed25519.Verify(key, []byte(signed+" "), signature) {
				t.Error("another body verifies as well")
			}
		}
	})
}

func TestRequestWithoutSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		at := w.endpoint("one", nil)
		if err := w.ledger.PutEndpoint(t.Context(), at.Ref, ledger.Endpoint{ID: at.ID, URL: "https://one.example", Scheme: "Bearer"}); err != nil {
			t.Fatal(err)
		}
		w.hint(w.sender(), w.commit("v"))
		header := w.receiver(at).requests()[0].header
		for _, name := range []string{"Authorization", "A2A-Notification-Token", "X-A2A-Notification-Token"} {
			if header[name] != nil {
				t.Errorf("%s: %q", name, header[name])
			}
		}
	})
}

// Ids tell endpoints, tasks and tenants apart.
func TestIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ids := map[string]bool{}
		for range 2 {
			for _, id := range []string{"one", "two"} {
				at := w.endpoint(id, nil)
				w.commit("v")
				w.send(w.sender(), at)
				for _, r := range w.receiver(at).requests() {
					ids[r.id] = true
				}
			}
			w.ref, w.updates = w.task(), nil
		}
		if len(ids) != 6 { // two and one, for each of two tasks
			t.Errorf("%d ids: %v", len(ids), ids)
		}
	})
}

// I9: secrets, addresses and answers are in no log, no error and not in the ledger.
func TestSecretsStayInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		answers := map[string]func(int, *http.Request) (*http.Response, error){
			"fine": nil, "failing": script(500), "gone": script(410), "moved": script(302),
			"broken": func(_ int, r *http.Request) (*http.Response, error) { return nil, fmt.Errorf("no luck with %s", r.URL) },
			"silent": slowly(time.Hour),
		}
		s := w.sender()
		for id, answer := range answers {
			w.endpoint(id, answer)
		}
		moved := w.endpoint("elsewhere", nil) // its secrets are another's
		e, err := w.ledger.Endpoint(t.Context(), moved.Ref, "fine")
		if err != nil {
			t.Fatal(err)
		}
		e.ID, e.URL = "elsewhere", "https://fine.example/elsewhere"
		if err := w.ledger.PutEndpoint(t.Context(), moved.Ref, e); err != nil {
			t.Fatal(err)
		}
		w.hint(s, w.commit("v"))
		if a := w.delivery(moved).Attempts[0]; a.Error != "secrets" || a.Status != 0 || len(w.receiver(moved).requests()) != 0 {
			t.Errorf("secrets of another endpoint: %+v", a)
		}
		s.Updates = func(context.Context, ledger.DueDelivery, ledger.Endpoint, uint64, int) ([]webhook.Update, error) {
			return []webhook.Update{{Seq: 1, Body: []byte(planted)}, {Seq: 1}}, nil
		}
		odd := w.endpoint("odd", nil)
		w.hint(s, w.commit("v"))
		if a := w.delivery(odd).Attempts[0]; a.Error != "updates" || len(w.receiver(odd).requests()) != 0 {
			t.Errorf("updates in disorder: %+v", a)
		}
		if logs := w.logs.String(); strings.Contains(logs, planted) || strings.Contains(logs, ".example") || strings.Count(logs, "was not delivered") < 6 {
			t.Errorf("the logs: %s", logs)
		}
		list, err := w.ledger.EndpointList(t.Context(), w.ref)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range list {
			e.URL = "" // is kept, of course
			kept, err := json.Marshal(e)
			if err != nil || bytes.Contains(kept, []byte(planted)) || bytes.Contains(e.Secrets, []byte(planted)) {
				t.Errorf("the ledger keeps %s, %v", kept, err)
			}
		}
	})
}

func TestSecretsPrintAsNothing(t *testing.T) {
	s := webhook.Secrets{Token: planted, Credentials: planted}
	var logs bytes.Buffer
	slog.New(slog.NewJSONHandler(&logs, nil)).Info("here", "secrets", s, "within", struct{ S *webhook.Secrets }{&s})
	out, err := json.Marshal(s)
	all := fmt.Sprintf("%v %+v %#v %s %q %d %v", s, s, s, s, &s, s, []any{s}) + logs.String() + string(out)
	if err != nil || strings.Contains(all, planted) {
		t.Errorf("%v: %s", err, all)
	}
}

func TestSealSecrets(t *testing.T) {
	at := ledger.DueDelivery{ID: "one"}
	for _, c := range []struct {
		secrets webhook.Secrets
		err     error
	}{
		{webhook.Secrets{}, nil},
		{webhook.Secrets{Token: "a token ~!", Credentials: "dXNlcjpwYXNz=="}, nil},
		{webhook.Secrets{Token: "a\r\nHost: b"}, webhook.ErrSecrets},
		{webhook.Secrets{Credentials: "a\x00"}, webhook.ErrSecrets},
		{webhook.Secrets{Credentials: " a"}, webhook.ErrSecrets},
		{webhook.Secrets{Token: "ä"}, webhook.ErrSecrets},
		{webhook.Secrets{Token: strings.Repeat("x", seal.MaxBytes)}, seal.ErrTooLong},
	} {
		got, err := webhook.SealSecrets(t.Context(), sealer, at, "https://a.example", c.secrets)
		if !errors.Is(err, c.err) || (len(got) > 0) != (c.err == nil && c.secrets != webhook.Secrets{}) || len(got) > ledger.MaxSecretBytes {
			t.Errorf("%d bytes, %v, want %v", len(got), err, c.err)
		}
		if err != nil && c.secrets.Token != "" && strings.Contains(err.Error(), c.secrets.Token) {
			t.Errorf("the error repeats the token: %v", err)
		}
	}
}

func TestPublicKeys(t *testing.T) {
	if want, got := "whpk_11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=", signing.Public()[1]; got != want {
		t.Errorf("public key %s, want %s", got, want)
	}
}
