// Package console_test drives the console from outside, as its page does.
//
// Real: the handler, the authority and its rules. Faked: the ledger (ledgertest's model,
// which passes the suite of the real ones), the executions and the webhooks, which note
// what they are told, and who asks: a bearer token "tenant/name" or "tenant/name/scope".
// Asserted: answers, and what is in the ledger afterwards.
package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	tenant = "acme"
	grace  = 10 * time.Second
	lease  = 30 * time.Second
)

// world is a console over a ledger.
type world struct {
	*testing.T
	memory    *ledgertest.Memory
	clock     *ledgertest.Clock
	authority *ledger.Authority
	config    console.Config
	handler   http.Handler
	log       bytes.Buffer
	submitted []uint64 // generations that executions were told of
	answered  []int    // pauses
	replayed  []string
}

// newWorld opens a console; change may configure it first.
func newWorld(t *testing.T, change ...func(*world)) *world {
	t.Helper()
	w := &world{T: t, memory: ledgertest.NewMemory(), clock: ledgertest.NewClock()}
	w.authority = &ledger.Authority{Ledger: w.memory, Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.config = console.Config{
		Authority: w.authority, Callers: people{}, Executions: w, Now: w.clock.Now, NewID: a2a.NewMessageID, Grace: grace,
		Agents: []console.Agent{{Name: "desk", Version: 1}, {Name: "desk", Version: 2, Current: true}, {Name: "field", Version: 1, Current: true, Outside: true}},
		Replay: func(_ context.Context, ref lifecycle.Ref, endpoint string, since uint64) error {
			if _, err := w.memory.Endpoint(t.Context(), ref, endpoint); err != nil {
				return err
			}
			w.replayed = append(w.replayed, fmt.Sprintf("%s after %d", endpoint, since))
			return nil
		},
		Logger: slog.New(slog.NewTextHandler(&w.log, nil)),
	}
	for _, c := range change {
		c(w)
	}
	w.open()
	return w
}

// open makes the console anew.
func (w *world) open() {
	w.Helper()
	made, err := console.New(w.config)
	w.ok(err)
	w.handler = made.Beside(http.NotFoundHandler())
}

// Submitted implements console.Executions.
func (w *world) Submitted(_ context.Context, h lifecycle.Head) error {
	w.submitted = append(w.submitted, h.Generation)
	return nil
}

// Answered implements console.Executions.
func (w *world) Answered(_ context.Context, _ lifecycle.Head, pause int) error {
	w.answered = append(w.answered, pause)
	return nil
}

// people are who asks. Without a token it is nobody.
type people struct{}

// Schemes implements auth.Authenticator.
func (people) Schemes() []auth.Scheme { return []auth.Scheme{{Name: "bearer", Kind: auth.HTTPBearer}} }

// Authenticate implements auth.Authenticator.
func (people) Authenticate(r *http.Request) (auth.Principal, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	of, rest, _ := strings.Cut(token, "/")
	name, scope, one := strings.Cut(rest, "/")
	scopes := []auth.Scope{auth.OperatorRead, auth.OperatorAct}
	if one {
		scopes = []auth.Scope{auth.Scope(scope)}
	}
	return auth.Principal{Tenant: of, Name: name, Scopes: scopes}, nil
}

func (w *world) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// answer is what the console said.
type answer struct {
	status int
	header http.Header
	raw    []byte
}

// ask sends a request as an operator; change may change it.
func (w *world) ask(method, path, body string, change ...func(*http.Request)) answer {
	w.Helper()
	r := httptest.NewRequestWithContext(w.Context(), method, "http://127.0.0.1:8080"+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+tenant+"/night")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

func as(token string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
}

func with(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// read asks for something that must be there.
func (w *world) read(path string, into any) {
	w.Helper()
	a := w.ask(http.MethodGet, "/console/api/"+path, "")
	if a.status != http.StatusOK {
		w.Fatalf("%s: %d %s", path, a.status, a.raw)
	}
	if err := json.Unmarshal(a.raw, into); err != nil {
		w.Fatalf("%s: %v in %s", path, err, a.raw)
	}
}

// act does something that must be done, and returns what it says.
func (w *world) act(id a2a.TaskID, action, body string) string {
	w.Helper()
	a := w.ask(http.MethodPost, "/console/api/tasks/"+string(id)+"/"+action, body)
	var out struct{ Says string }
	if a.status != http.StatusOK || json.Unmarshal(a.raw, &out) != nil {
		w.Fatalf("%s: %d %s", action, a.status, a.raw)
	}
	return out.Says
}

// refused does something that must not be done, and returns why.
func (w *world) refused(status int, id a2a.TaskID, action, body string) string {
	w.Helper()
	a := w.ask(http.MethodPost, "/console/api/tasks/"+string(id)+"/"+action, body)
	if a.status != status {
		w.Fatalf("%s: %d %s, want %d", action, a.status, a.raw, status)
	}
	return a.problem(w).Message
}

type problem struct{ Reason, Message string }

func (a answer) problem(w *world) problem {
	w.Helper()
	var out struct{ Error problem }
	if err := json.Unmarshal(a.raw, &out); err != nil || out.Error.Reason == "" || out.Error.Message == "" {
		w.Fatalf("%d says nothing: %s", a.status, a.raw)
	}
	return out.Error
}

// submit begins a task; change may change its submission.
func (w *world) submit(change ...func(*lifecycle.Submit)) lifecycle.Task {
	w.Helper()
	cmd := lifecycle.Submit{
		ContextID: "conversation", Agent: "desk", AgentVersion: 2, Step: "begin", Policy: lifecycle.DefaultPolicy(), RequestDigest: lifecycle.DigestBytes(nil),
		Message: &a2a.Message{ID: a2a.NewMessageID(), Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("do it")}},
	}
	for _, c := range change {
		c(&cmd)
	}
	res, err := w.authority.Create(w.Context(), lifecycle.Ref{Tenant: tenant, Task: a2a.NewTaskID()}, cmd, lifecycle.Source{Producer: "client:1"}, nil)
	w.ok(err)
	return res.Task
}

// do runs commands on a task, as its holder would.
func (w *world) do(t lifecycle.Task, commands ...lifecycle.Command) lifecycle.Task {
	w.Helper()
	for _, cmd := range commands {
		t, err := w.authority.Load(w.Context(), t.Ref())
		w.ok(err)
		if r, is := cmd.(lifecycle.Report); is {
			r.Holder, r.Fence, r.Grace = t.Holder, t.Fence, grace
			cmd = r
		}
		_, err = w.authority.Do(w.Context(), t, cmd, lifecycle.Source{Producer: "runner", Holder: t.Holder, Fence: t.Fence}, ledger.Extra{})
		w.ok(err)
	}
	return w.task(t)
}

func (w *world) task(t lifecycle.Task) lifecycle.Task {
	w.Helper()
	now, err := w.authority.Load(w.Context(), t.Ref())
	w.ok(err)
	return now
}

// granted is the lease of a generation.
func granted(generation uint64) lifecycle.Command {
	return lifecycle.Grant{Holder: fmt.Sprintf("g%d", generation), Generation: generation, Lease: lease, Grace: grace}
}

func asks(question string) lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbPause, Next: "answered", Message: says(question), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}}
}

func waits(until time.Time) lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbRetry, Until: until, Reason: "the other side is down"}
}

func ends(verb lifecycle.Verb) lifecycle.Command {
	return lifecycle.Report{Verb: verb, Message: says("Done")}
}

func says(text string) *a2a.Message {
	return &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

func (w *world) acts(t lifecycle.Task) []ledger.Acted {
	w.Helper()
	all, err := w.memory.Acts(w.Context(), t.Ref())
	w.ok(err)
	return all
}

func (w *world) entries(t lifecycle.Task) []lifecycle.Entry {
	w.Helper()
	all, err := w.memory.Entries(w.Context(), t.Ref(), 0, 0)
	w.ok(err)
	return all
}
