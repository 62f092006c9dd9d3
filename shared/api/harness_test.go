// Package api_test drives the door from outside, as callers do.
//
// Real: the handler, the HTTP server and client, the authority and its rules.
// Faked: the ledger (ledgertest's model, which passes the same suite as the real
// ones) and whoever runs agents: tests drive tasks by commands, as a runner would.
// Asserted: what callers see on the wire, and what was committed. Tests cite the
// sections of the A2A 1.0.1 specification and the reported cases that they cover.
package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const tenant = "local"

// world is a door before an empty ledger, with two agents: "first", the default,
// without keys of its own, and "keyed", whose messages are their own keys.
type world struct {
	t         *testing.T
	ledger    *ledgertest.Memory
	blobs     *ledgertest.MemoryBlobs
	clock     *ledgertest.Clock
	authority *ledger.Authority
	config    api.Config
	server    *httptest.Server
	stop      func() // in a bubble: the process begins to stop

	mu          sync.Mutex
	log         bytes.Buffer
	connections []api.Connection
	submitted   []lifecycle.Head
	answers     []int
	renewed     []string // endpoints
	// onSubmit is what happens at once when a task was submitted.
	onSubmit func(h lifecycle.Head) error
}

// newWorld opens a door; change may configure it first.
func newWorld(t *testing.T, change ...func(*world)) *world {
	t.Helper()
	w := prepare(t, change...)
	h, err := api.New(w.config)
	if err != nil {
		t.Fatal(err)
	}
	w.server = httptest.NewServer(h)
	t.Cleanup(w.server.Close)
	return w
}

func prepare(t *testing.T, change ...func(*world)) *world {
	t.Helper()
	w := &world{t: t, ledger: ledgertest.NewMemory(), blobs: ledgertest.NewMemoryBlobs(), clock: ledgertest.NewClock()}
	w.authority = &ledger.Authority{Ledger: w.ledger, Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.config = api.Config{
		Authority: w.authority, Blobs: w.blobs, Executions: w, Now: w.clock.Now, NewID: a2a.NewContextID,
		Agents: []api.Agent{
			{Name: "first", Version: 3, FirstStep: "begin", Description: "The first agent.", InputModes: []string{"text/*", "application/*", "image/*"}, OutputModes: []string{"text/plain", "application/json"}},
			{Name: "keyed", Version: 1, FirstStep: "begin", Description: "The other agent.", KeyedByMessageID: true, Validate: validate},
		},
		Callers: strangers{}, Keys: keyring.New(&keyring.Memory{}), Connections: w,
		Logger: slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, c := range change {
		c(w)
	}
	return w
}

// strangers authenticates by a bearer token "tenant/name", or "tenant/name/scope"
// for one scope instead of all; without a token it is the local tenant's caller.
type strangers struct{ schemes []auth.Scheme }

// Schemes implements auth.Authenticator.
func (s strangers) Schemes() []auth.Scheme { return s.schemes }

// Authenticate implements auth.Authenticator.
func (strangers) Authenticate(r *http.Request) (auth.Principal, error) {
	all := []auth.Scope{auth.Caller, auth.Producer, auth.OperatorRead, auth.OperatorAct}
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok {
		return auth.Principal{Tenant: tenant, Name: "me", Scopes: all}, nil
	}
	of, rest, _ := strings.Cut(token, "/")
	name, scope, one := strings.Cut(rest, "/")
	switch {
	case of == "bad":
		return auth.Principal{}, errors.Join(errors.New("token "+token), auth.ErrUnauthenticated)
	case of == "forbidden":
		return auth.Principal{}, errors.Join(errors.New("token "+token), auth.ErrForbidden)
	case of == "unavailable":
		return auth.Principal{}, errors.Join(errors.New("token "+token), auth.ErrUnavailable)
	case one:
		all = []auth.Scope{auth.Scope(scope)}
	}
	return auth.Principal{Tenant: of, Name: name, Scopes: all}, nil
}

// validate is the keyed agent's: it reads no recipes.
func validate(m *a2a.Message) error {
	for _, p := range m.Parts {
		if strings.Contains(p.Text(), "recipe") {
			return errors.New("recipes have no column \"system\"")
		}
		if p.MediaType == "image/png" {
			return errors.Join(errors.New("no pictures"), a2a.ErrUnsupportedContentType)
		}
	}
	return nil
}

// Write collects the log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *world) logged() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.String()
}

// Record implements api.ConnectionLog.
func (w *world) Record(c api.Connection) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.connections = append(w.connections, c)
}

// Submitted implements api.Executions.
func (w *world) Submitted(_ context.Context, h lifecycle.Head) error {
	w.mu.Lock()
	w.submitted = append(w.submitted, h)
	run := w.onSubmit
	w.mu.Unlock()
	if run != nil {
		return run(h)
	}
	return nil
}

// Answered implements api.Executions.
func (w *world) Answered(_ context.Context, _ lifecycle.Head, pause int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, pause)
	return nil
}

func (w *world) told() (submitted int, answers []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.submitted), append([]int(nil), w.answers...)
}

func (w *world) ref(id string) lifecycle.Ref {
	return lifecycle.Ref{Tenant: tenant, Task: a2a.TaskID(id)}
}

func (w *world) head(id string) lifecycle.Head {
	w.t.Helper()
	h, err := w.ledger.Head(w.t.Context(), w.ref(id))
	if err != nil {
		w.t.Fatal(err)
	}
	return h
}

// count is how many tasks the ledger has.
func (w *world) count() int {
	w.t.Helper()
	n, err := w.ledger.Count(w.t.Context(), ledger.ListQuery{Tenant: tenant, Now: w.clock.Now()})
	if err != nil {
		w.t.Fatal(err)
	}
	return n.Tasks
}

// do runs a command on a task, as whoever holds its lease.
func (w *world) do(id string, cmd lifecycle.Command) error {
	t, err := w.authority.Load(context.Background(), w.ref(id))
	if err != nil {
		return err
	}
	if r, ok := cmd.(lifecycle.Report); ok {
		r.Holder, r.Fence, r.Grace = t.Holder, t.Fence, time.Minute
		cmd = r
	}
	_, err = w.authority.Do(context.Background(), t, cmd, lifecycle.Source{Producer: "runner", Holder: t.Holder, Fence: t.Fence}, ledger.Extra{})
	return err
}

// must is do for the test's own goroutine.
func (w *world) must(id string, commands ...lifecycle.Command) {
	w.t.Helper()
	for _, cmd := range commands {
		if err := w.do(id, cmd); err != nil {
			w.t.Fatalf("%T: %v", cmd, err)
		}
	}
}

// Commands as a runner gives them.

func grant() lifecycle.Command {
	return lifecycle.Grant{Holder: "runner-1", Generation: 1, Lease: time.Hour, Grace: time.Minute}
}

func says(text string) *a2a.Message {
	return &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

func progress(text string) lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Message: says(text)}}}
}

// checkpoint is an entry that callers do not see.
func checkpoint() lifecycle.Command { return lifecycle.Report{Verb: lifecycle.VerbSubStep} }

func chunk(artifact, text string, more, last bool) lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Append: more, Chunk: &lifecycle.Chunk{
		Artifact: a2a.ArtifactID(artifact), Last: last, Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text)),
	}}}}
}

func pause(state a2a.TaskState, named bool) lifecycle.Command {
	terms := &lifecycle.PauseTerms{State: state, Timeout: time.Hour, Named: named}
	if state == lifecycle.AuthRequired {
		terms.Challenge = &lifecycle.Challenge{Action: "delete"}
	}
	return lifecycle.Report{Verb: lifecycle.VerbPause, Next: "begin", Pause: terms, Message: says("May I?")}
}

func complete() lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says("Done.")}
}

func failing() lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbFail, Reason: "broken", Message: says("It broke.")}
}

func rejecting() lifecycle.Command {
	return lifecycle.Report{Verb: lifecycle.VerbReject, Reason: "no", Message: says("No.")}
}

// completing finishes tasks as soon as they were submitted.
func completing(w *world) {
	w.onSubmit = func(h lifecycle.Head) error {
		for _, cmd := range []lifecycle.Command{grant(), progress("Working on it."), chunk("report", "All", false, false), chunk("report", " is well.", true, true), complete()} {
			if err := w.do(string(h.Task), cmd); err != nil {
				return err
			}
		}
		return nil
	}
}

// object is decoded JSON.
type object = map[string]any

// dig follows a path into decoded JSON: "task.status.state", "tasks.0.id".
func dig(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		switch at := v.(type) {
		case object:
			v = at[step]
		case []any:
			var i int
			if json.Unmarshal([]byte(step), &i) != nil || i >= len(at) {
				return nil
			}
			v = at[i]
		default:
			return nil
		}
	}
	return v
}

func text(v any, path string) string {
	s, _ := dig(v, path).(string)
	return s
}

// own is what our extension says in a task's or an update's metadata.
func own(v any) object {
	meta, _ := dig(v, "metadata").(object)
	ext, _ := meta[lifecycle.ExtensionURI].(object)
	return ext
}

func message(id, words string) object {
	return object{"messageId": id, "role": "ROLE_USER", "parts": []any{object{"text": words}}}
}

func with(o object, fields object) object {
	out := object{}
	maps.Copy(out, o)
	maps.Copy(out, fields)
	return out
}

func extension(fields object) object { return object{lifecycle.ExtensionURI: fields} }

func immediately(m object) object {
	return object{"message": m, "configuration": object{"returnImmediately": true}}
}
