package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// planted are the secrets, by the place where each arrives.
type planted struct {
	t       *testing.T
	mu      sync.Mutex
	secrets map[string]string
}

// in plants a new secret. It could be a key or the first part of a token.
func (p *planted) in(place string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	secret := "planted" + strings.ReplaceAll(uuid.NewString(), "-", "")
	p.secrets[fmt.Sprintf("%s (%d)", place, len(p.secrets))] = secret
	return secret
}

// receipt plants a receipt: each of its parts is as good as the whole.
func (p *planted) receipt(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, part := range strings.Split(text, ".")[1:] {
		p.secrets[fmt.Sprintf("receipt, part %d (%d)", i+2, len(p.secrets))] = part
	}
	return text
}

// absent searches a text, but for secrets of a place that may be there.
func (p *planted) absent(where string, content []byte, but string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for place, secret := range p.secrets {
		if (but == "" || !strings.HasPrefix(place, but)) && bytes.Contains(content, []byte(secret)) {
			i := bytes.Index(content, []byte(secret))
			p.t.Errorf("%s has what was planted in: %s\n… %q …", where, place, content[max(0, i-80):min(len(content), i+80)])
		}
	}
}

const (
	callbackToken = "callback token"
	vaultTenant   = "acme"
)

// vault asks for authorization, and fails in a way that shows what it knows when its
// message says so.
func vault(p *planted) *agent.Agent {
	loud := func() error {
		return fmt.Errorf("GET https://robot:%s@vault.example.com/open?key=%s: 401, sent Authorization: Bearer %s and x-api-key: %s",
			p.in("agent's error: password"), p.in("agent's error: query"), p.in("agent's error: bearer"), p.in("agent's error: key"))
	}
	return agent.New("vault", 1,
		agent.Step[struct{ Tries int }]{Name: "ask", Run: func(_ context.Context, t *agent.Task[struct{ Tries int }]) (agent.Next, error) {
			if agent.Text(t.Message) == "fail" {
				if t.Attempt == 1 {
					return agent.Next{}, loud()
				}
				return agent.Next{}, agent.Permanent(loud())
			}
			return agent.Authorize("open the vault", "May I?", "again", agent.For(time.Hour)), nil
		}},
		agent.Step[struct{ Tries int }]{Name: "again", Run: func(context.Context, *agent.Task[struct{ Tries int }]) (agent.Next, error) {
			return agent.Authorize("empty the vault", "And now?", "end", agent.For(time.Hour)), nil
		}},
		agent.Step[struct{ Tries int }]{Name: "end", Run: func(context.Context, *agent.Task[struct{ Tries int }]) (agent.Next, error) {
			return agent.Complete("Done."), nil
		}},
	)
}

// scene is a node over a data folder, and all that it said.
type scene struct {
	*planted
	data    string
	book    *sqlite.Ledger
	node    *node.Node
	url     string
	logs    record
	said    record // answers, with their headers, and streams
	key     string // of a caller that may do everything
	issuer  ed25519.PrivateKey
	stopped func()
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{planted: &planted{t: t, secrets: map[string]string{}}, data: t.TempDir()}
	s.key = s.in("API key")
	sum := sha256.Sum256([]byte(s.key))
	keys, err1 := auth.NewKeys([]auth.KeyEntry{{Tenant: vaultTenant, Name: "tests", SHA256: hex.EncodeToString(sum[:]), Scopes: []auth.Scope{auth.Caller, auth.OperatorRead}}}, time.Now)
	public, private, err2 := ed25519.GenerateKey(nil)
	s.issuer = private
	set := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k-1","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	receipts, err3 := receipt.New([]receipt.Issuer{{Name: "approvals", Audience: receiptAudience, Keys: []byte(set)}}, nil, time.Now)
	book, err4 := sqlite.Open(s.data, sqlite.Options{})
	blobs, err5 := sqlite.OpenBlobs(s.data, sqlite.Options{})
	agents, err6 := catalog.New(vault(s.planted))
	connections, err7 := os.Create(filepath.Join(s.data, "connections.ndjson"))
	logger, closeLog, err8 := openLog(&s.logs, filepath.Join(s.data, "metrics.ndjson"))
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7, err8); err != nil {
		t.Fatal(err)
	}
	s.book = book
	timing := node.DefaultTiming()
	timing.Sweep = 100 * time.Millisecond
	n, err := node.New(node.Config{
		Ledger: book, Blobs: blobs, Catalog: agents, HoldersGone: true, Timing: timing, Receipts: receipts,
		Now: time.Now, NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Secret: func() string { return s.in(callbackToken) }, Rand: func() float64 { return 0.1 },
		Connections: connections, Callers: auth.Credentials{Keys: keys}, Ring: keyring.New(keyFolder(filepath.Join(s.data, "keys"))),
		Guard:  webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true},
		Logger: logger,
	})
	if err != nil {
		t.Fatal(err)
	}
	s.node = n
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(n.Handler)
	s.url = server.URL
	s.stopped = sync.OnceFunc(func() {
		if err := errors.Join(n.Stop(context.Background()), book.Close(), connections.Close(), closeLog()); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	t.Cleanup(s.stopped)
	return s
}

// ask makes a request with the good key, unless the headers bring another credential,
// and keeps everything that comes back.
func (s *scene) ask(method, path, body string, headers ...string) (status int, answer string) {
	s.t.Helper()
	resp := s.open(method, path, body, headers...)
	defer func() { _ = resp.Body.Close() }()
	b, err := io.ReadAll(io.TeeReader(resp.Body, &s.said))
	if err != nil {
		s.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (s *scene) open(method, path, body string, headers ...string) *http.Response {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+s.key)
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "X-API-Key" {
			r.Header.Del("Authorization")
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	_ = resp.Header.Write(&s.said)
	return resp
}

// must is ask for what has to succeed; it gives the task of the answer.
func (s *scene) must(method, path, body string, headers ...string) a2a.Task {
	s.t.Helper()
	status, answer := s.ask(method, path, body, headers...)
	if status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, status, answer)
	}
	var sent struct{ Task *a2a.Task }
	var task a2a.Task
	if err := errors.Join(json.Unmarshal([]byte(answer), &sent), json.Unmarshal([]byte(answer), &task)); err != nil {
		s.t.Fatalf("%s: %v", answer, err)
	}
	if sent.Task != nil {
		return *sent.Task
	}
	return task
}

// until waits for a head, by the ledger's own watch.
func (s *scene) until(id a2a.TaskID, ok func(lifecycle.Head) bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	ref := lifecycle.Ref{Tenant: vaultTenant, Task: id}
	for {
		h, err := s.book.Head(ctx, ref)
		if err == nil && !ok(h) {
			err = s.book.Watch(ctx, ref, h.Seq)
		} else if err == nil {
			return
		}
		if err != nil {
			s.t.Fatalf("the task is %+v: %v", h, err)
		}
	}
}

// parked waits until an execution has left its callback token.
func (s *scene) parked(id a2a.TaskID, pause int) {
	s.t.Helper()
	end := time.Now().Add(patience)
	for {
		p, err := s.book.Parked(s.t.Context(), lifecycle.Ref{Tenant: vaultTenant, Task: id}, pause)
		if err != nil || time.Now().After(end) {
			s.t.Fatalf("no execution has parked: %+v, %v", p, err)
		}
		if p.Token.Value != "" {
			return
		}
		<-time.NewTimer(5 * time.Millisecond).C
	}
}

// sign makes a receipt with a secret of its own among its claims.
func (s *scene) sign(task a2a.TaskID, challenge int, action, jti string) string {
	now := time.Now().Unix()
	payload, err := json.Marshal(map[string]any{
		"iss": "approvals", "aud": receiptAudience, "iat": now, "exp": now + 60, "jti": jti, "note": s.in("receipt's claims"),
		lifecycle.ExtensionURI: map[string]any{"tenant": vaultTenant, "task": task, "challenge": challenge, "action": action},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	e := base64.RawURLEncoding.EncodeToString
	content := e([]byte(`{"alg":"EdDSA","kid":"k-1","typ":"holdfast-receipt+jwt"}`)) + "." + e(payload)
	return s.receipt(content + "." + e(ed25519.Sign(s.issuer, []byte(content))))
}
