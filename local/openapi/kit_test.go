package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/openapi/contract"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// toured is an agent that shows what the door can answer with: an effect, artifacts of
// several chunks and one that is kept as a blob, a question, a challenge, an end.
func toured() *agent.Agent {
	type state struct{}
	return agent.New("toured", 1,
		agent.Step[state]{Name: "write", Run: func(ctx context.Context, t *agent.Task[state]) (agent.Next, error) {
			if _, err := agent.Effect(ctx, t, "call", func(context.Context, string) (string, error) { return "done", nil }); err != nil {
				return agent.Next{}, err
			}
			t.Report("Writing.")
			t.Emit(agent.Chunk{Artifact: "draft", Name: "Draft", Part: a2a.NewTextPart("Once")})
			t.Emit(agent.Chunk{Artifact: "draft", Append: true, Last: true, Part: a2a.NewDataPart(map[string]any{"n": 1.5})})
			t.Emit(agent.Chunk{Artifact: "large", Last: true, Part: a2a.NewRawPart([]byte(largeText))})
			return agent.Pause("Where?", "authorize"), nil
		}},
		agent.Step[state]{Name: "authorize", Run: func(context.Context, *agent.Task[state]) (agent.Next, error) {
			return agent.Authorize("pay", "Really?", "end", agent.By("bank")), nil
		}},
		agent.Step[state]{Name: "end", Run: func(context.Context, *agent.Task[state]) (agent.Next, error) {
			return agent.Complete("The end."), nil
		}},
	).KeyedByMessageID().Describe(agent.Card{
		Description:    "Shows what the door can answer with.",
		ExtendedSkills: []a2a.AgentSkill{{ID: "more", Name: "More", Description: "For those who are known.", Tags: []string{"test"}}},
	})
}

// bank takes any receipt that says yes.
type bank struct{}

// Read implements api.Receipts.
func (bank) Read(text string) (lifecycle.ReceiptRef, error) {
	if text != "yes" {
		return lifecycle.ReceiptRef{}, &lifecycle.Rejection{Reason: lifecycle.ReceiptInvalid, Detail: "it does not say yes"}
	}
	return lifecycle.ReceiptRef{Issuer: "bank", KeyID: "k", JTI: "1", Digest: lifecycle.DigestBytes([]byte(text))}, nil
}

// Verify implements api.Receipts.
func (b bank) Verify(_ context.Context, text string, _ lifecycle.Ref, c lifecycle.Challenge, _ time.Time) (lifecycle.ReceiptRef, error) {
	ref, err := b.Read(text)
	ref.Challenge = c.Number
	return ref, err
}

// Terms implements api.Receipts.
func (bank) Terms() map[string]any { return map[string]any{"issuers": []string{"bank"}} }

// doorman knows everybody but two.
type doorman struct{}

// Authenticate implements auth.Authenticator.
func (doorman) Authenticate(r *http.Request) (auth.Principal, error) {
	switch r.Header.Get("X-Name") {
	case "nobody":
		return auth.Principal{}, auth.ErrUnauthenticated
	case "stranger":
		return auth.Principal{Tenant: node.Tenant, Name: "stranger"}, nil
	}
	return auth.Principal{Tenant: node.Tenant, Name: "caller", Scopes: []auth.Scope{auth.Caller, auth.Producer, auth.OperatorRead, auth.OperatorAct}}, nil
}

// Schemes implements auth.Authenticator.
func (doorman) Schemes() []auth.Scheme {
	return []auth.Scheme{{Name: "bearer", Kind: auth.HTTPBearer, Description: "A token."}, {Name: "key", Kind: auth.APIKey, Header: "X-API-Key"}}
}

func readDescription(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "events", "openapi.json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// house is a running door, whose answers are held against the description.
type house struct {
	t        *testing.T
	contract *contract.Contract
	url      string
	client   *http.Client
	seen     map[string]map[int]int // answers by operation and status
}

func newHouse(t *testing.T) *house {
	t.Helper()
	c, err := contract.New(readDescription(t))
	if err != nil {
		t.Fatal(err)
	}
	agents, err := catalog.New(toured(), agent.Outside("outside", 1, agent.Card{Description: "Served from outside."}).KeyedByMessageID())
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{
		Ledger: ledgertest.NewMemory(), Blobs: ledgertest.NewMemoryBlobs(), Catalog: agents, HoldersGone: true, Timing: node.DefaultTiming(),
		Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.DiscardHandler),
		Receipts: bank{}, Callers: doorman{}, Guard: webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(n.Handler)
	h := &house{t: t, contract: c, url: server.URL, seen: map[string]map[int]int{}}
	h.client = &http.Client{Transport: c.Transport(server.Client().Transport, func(err error) { t.Error(err) })}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return h
}

// ask sends a request, whose answer must have a status, and returns its body.
func (h *house) ask(want int, method, path, body string, headers ...string) []byte {
	h.t.Helper()
	status, answer := h.do(method, path, body, headers...)
	if status != want {
		h.t.Errorf("%s %s: %d, want %d: %.500s", method, path, status, want, answer)
	}
	return answer
}

// do makes a request, and counts its answer.
func (h *house) do(method, path, body string, headers ...string) (int, []byte) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		h.t.Fatal(err)
	}
	if o := h.contract.Find(method, r.URL.EscapedPath()); o != nil {
		if h.seen[o.ID] == nil {
			h.seen[o.ID] = map[int]int{}
		}
		h.seen[o.ID][resp.StatusCode]++
	}
	return resp.StatusCode, answer
}

// replayed asks for deliveries again, and comes back as it is told to while one is under
// way.
func (h *house) replayed(path, body string) {
	h.t.Helper()
	for range 100 {
		status, answer := h.do(http.MethodPost, path, body)
		switch {
		case status == http.StatusOK:
			return
		case status != http.StatusConflict || !bytes.Contains(answer, []byte("DELIVERY_UNDER_WAY")):
			h.t.Fatalf("%s: %d: %.500s", path, status, answer)
		}
		select {
		case <-h.t.Context().Done():
		case <-time.After(100 * time.Millisecond):
		}
	}
	h.t.Fatalf("%s: a delivery is under way, still", path)
}

// sent is the ID of the task that a message made, or went to.
func (h *house) sent(path, body string) string {
	h.t.Helper()
	var answer struct{ Task struct{ ID string } }
	if err := json.Unmarshal(h.ask(http.StatusOK, http.MethodPost, cmp.Or(path, "")+"/message:send", body), &answer); err != nil {
		h.t.Fatal(err)
	}
	return answer.Task.ID
}
