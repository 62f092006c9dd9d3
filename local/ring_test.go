package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/keyring"
)

// published are the keys that a server publishes for webhooks.
func published(t *testing.T, p *process) []string {
	t.Helper()
	_, text := p.call(http.MethodGet, "/.well-known/webhook-keys.json", "")
	var answer struct{ Keys []string }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return answer.Keys
}

// verifies says whether a receiver that knows one public key alone takes a request.
func verifies(t *testing.T, key string, got received) bool {
	t.Helper()
	public, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whpk_"))
	if err != nil {
		t.Fatal(err)
	}
	content := got.header.Get("webhook-id") + "." + got.header.Get("webhook-timestamp") + "." + string(got.body)
	return slices.ContainsFunc(strings.Fields(got.header.Get("webhook-signature")), func(part string) bool {
		signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part, "v1a,"))
		return err == nil && ed25519.Verify(public, []byte(content), signature)
	})
}

// A key is replaced under a webhook that is configured: what was sealed before still opens,
// and a receiver that knows the old public key alone verifies what comes, and so does one
// that knows only the new one.
func TestKeysAreReplaced(t *testing.T) {
	data := t.TempDir()
	serve := func() (*process, func()) {
		ctx, stop := context.WithCancel(t.Context())
		p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data)
		return p, func() {
			stop()
			if err := p.wait(); err != nil {
				t.Error(err)
			}
		}
	}
	p, stop := serve()
	hook := newTaker(t, 0)
	hook.gone = true
	_, answer := p.call(http.MethodPost, "/message:send", hooked("hello-1", "Ada", hook.url))
	var submitted struct{ Task struct{ ID string } }
	if err := json.Unmarshal([]byte(answer), &submitted); err != nil {
		t.Fatal(err)
	}
	<-hook.news
	p.ends(submitted.Task.ID)
	before := published(t, p)
	if _, _, err := played(t, "keys", "--data", data, "rotate", "webhook"); err == nil {
		t.Error("the keys of a folder in use are replaced")
	}
	stop()
	for _, use := range []string{"webhook", "seal", "card"} {
		out, _, err := played(t, "keys", "rotate", use, "--data", data)
		if err != nil || !strings.Contains(out, "key 2 for "+use+" is there") {
			t.Fatalf("%s, %v", out, err)
		}
		if out, _, err := played(t, "keys", "--data", data, "retire", use); err == nil || !strings.Contains(err.Error(), "too young") {
			t.Errorf("%s, %v", out, err)
		}
	}
	out, _, err := played(t, "keys", "--data", data, "list")
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "page     1  newest  since the beginning", "card     2  newest  since 20", "card     1  older   since the beginning", "seal     2", "seal     1", "webhook  2", "webhook  1")

	p, stop = serve()
	defer stop()
	after := published(t, p)
	if len(before) != 1 || len(after) != 2 || after[1] != before[0] || after[0] == before[0] {
		t.Fatalf("published are %q, were %q", after, before)
	}
	hook.comeBack()
	if out, _, err := played(t, "redeliver", "--server", p.url, submitted.Task.ID); err != nil {
		t.Fatalf("%s, %v", out, err)
	}
	for _, got := range hook.until(t, "TASK_STATE_COMPLETED") {
		if got.header.Get("Authorization") != "Bearer "+hookSecret+"-credentials" {
			t.Error("what was sealed with the old key is not sent")
		}
		for _, key := range after {
			if !verifies(t, key, got) {
				t.Errorf("a receiver that knows %s alone refuses update %s", key, got.seq)
			}
		}
	}
}

func TestParseKeys(t *testing.T) {
	c, err := parseKeys(strings.Fields("wrap --table t --kms-key k --from-kms-key f"), &record{})
	if err != nil || c.act != "wrap" || c.table != "t" || c.key != "k" || c.from != "f" {
		t.Errorf("%+v, %v", c, err)
	}
	for args, want := range map[string]string{
		"": "want list", "list x": "want list", "rotate": "want list", "retire a b": "want list", "melt": "want list",
		"wrap": "wrap needs", "list --kms-key k": "name its --table", "list --table t --from-kms-key f": "is for wrap", "wrap --kms-key k": "name its --table",
	} {
		if _, err := parseKeys(strings.Fields(args), &record{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", args, err, want)
		}
	}
	for _, args := range []string{"keys rotate page", "keys rotate other", "keys retire page"} {
		if _, _, err := played(t, append(strings.Fields(args), "--data", t.TempDir())...); err == nil || !strings.Contains(err.Error(), "card, seal and webhook") {
			t.Errorf("%s: %v", args, err)
		}
	}
}

// mirror is a key service of this process.
type mirror byte

// Wrap implements keyring.Wrapper.
func (m mirror) Wrap(_ context.Context, plain []byte) ([]byte, error) {
	return append([]byte{byte(m)}, plain...), nil
}

// Unwrap implements keyring.Wrapper.
func (m mirror) Unwrap(_ context.Context, wrapped []byte) ([]byte, error) {
	if wrapped[0] != byte(m) {
		return nil, http.ErrNotSupported
	}
	return wrapped[1:], nil
}

// What operators do with a ring on AWS: it is wrapped, looked at and replaced there, and
// wrapped by another key.
func TestKeysOnAWS(t *testing.T) {
	store := keyFolder(filepath.Join(t.TempDir(), "keys"))
	before, err := keyring.New(store).Webhook(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	wrapper := func(arn string) (keyring.Wrapper, error) { return mirror(arn[0]), nil }
	act := func(args string) string {
		t.Helper()
		c, err := parseKeys(strings.Fields(args), &record{})
		var out record
		if err == nil {
			err = c.onAWS(t.Context(), store, wrapper, &out)
		}
		if err != nil {
			t.Fatalf("%s: %v", args, err)
		}
		return out.String()
	}
	has(t, act("wrap --table t --kms-key a"), "1 secrets were replaced")
	has(t, act("rotate webhook --table t --kms-key a"), "key 2 for webhook is there")
	has(t, act("wrap --table t --kms-key b --from-kms-key a"), "1 secrets were replaced")
	has(t, act("list --table t --kms-key b"), "webhook  2", "webhook  1")
	after, err := keyring.New(keyring.Wrap(store, mirror('b'))).Webhook(t.Context())
	if err != nil || len(after) != 2 || !after[1].Equal(before[0]) {
		t.Errorf("%d keys, %v", len(after), err)
	}
	if _, err := keyring.New(store).Webhook(t.Context()); err == nil {
		t.Error("the ring lies there as it is")
	}
}
