package ledgertest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The agent of the suite's tasks, and its durations.
const (
	agentName = "ledgertest"
	lease     = 30 * time.Second
	grace     = 10 * time.Second
)

// desk is one process at a ledger: its authority, its clock, and a tenant that
// nobody else uses. Its methods return errors, so that goroutines can use them.
type desk struct {
	ledger ledger.Ledger
	auth   *ledger.Authority
	clock  *Clock
	tenant string
}

func newDesk(l ledger.Ledger) *desk {
	clock := NewClock()
	return &desk{
		ledger: l, clock: clock, tenant: "tenant-" + a2a.NewContextID(),
		auth: &ledger.Authority{Ledger: l, Now: clock.Now, NewID: a2a.NewMessageID},
	}
}

func (d *desk) newRef() lifecycle.Ref {
	return lifecycle.Ref{Tenant: d.tenant, Task: a2a.NewTaskID()}
}

func (d *desk) newKey(text string) *ledger.Key {
	return &ledger.Key{Tenant: d.tenant, Hash: lifecycle.DigestBytes([]byte(text))}
}

// client and runner are who reports.
func client() lifecycle.Source { return lifecycle.Source{Producer: "client"} }

func runner(holder string, fence uint64) lifecycle.Source {
	return lifecycle.Source{Producer: "runner", Holder: holder, Fence: fence}
}

func says(role a2a.MessageRole, text string) *a2a.Message {
	return a2a.NewMessage(role, a2a.NewTextPart(text))
}

func submission() lifecycle.Submit {
	return lifecycle.Submit{
		ContextID: "conversation", Agent: agentName, AgentVersion: 1, Step: "first",
		Message: says(a2a.MessageRoleUser, "do it"), Principal: "principal",
		RequestDigest: lifecycle.DigestBytes([]byte("request")), Policy: lifecycle.DefaultPolicy(),
	}
}

// submit creates a task without a key.
func (d *desk) submit(ctx context.Context) (lifecycle.Task, error) {
	res, err := d.auth.Create(ctx, d.newRef(), submission(), client(), nil)
	return res.Task, err
}

// started creates a task and grants its first lease.
func (d *desk) started(ctx context.Context, holder string) (lifecycle.Task, error) {
	t, err := d.submit(ctx)
	if err != nil {
		return t, err
	}
	return d.grant(ctx, t, holder)
}

// paused creates a task that waits for input.
func (d *desk) paused(ctx context.Context) (lifecycle.Task, error) {
	t, err := d.started(ctx, "asker")
	if err != nil {
		return t, err
	}
	return d.report(ctx, t, pausing(lifecycle.InputRequired))
}

// grant asks for the lease of the task's present generation.
func (d *desk) grant(ctx context.Context, t lifecycle.Task, holder string) (lifecycle.Task, error) {
	cmd := lifecycle.Grant{Holder: holder, Generation: t.Generation, Lease: lease, Grace: grace}
	res, err := d.auth.Do(ctx, t, cmd, runner(holder, 0), ledger.Extra{})
	return res.Task, err
}

// report reports as the holder that t knows of.
func (d *desk) report(ctx context.Context, t lifecycle.Task, r lifecycle.Report) (lifecycle.Task, error) {
	r.Holder, r.Fence, r.Grace = t.Holder, t.Fence, grace
	res, err := d.auth.Do(ctx, t, r, runner(r.Holder, r.Fence), ledger.Extra{})
	return res.Task, err
}

func (d *desk) reply(ctx context.Context, t lifecycle.Task) (ledger.Result, error) {
	cmd := lifecycle.Reply{Message: says(a2a.MessageRoleUser, "yes"), Grace: grace}
	return d.auth.Do(ctx, t, cmd, client(), ledger.Extra{})
}

func (d *desk) cancel(ctx context.Context, t lifecycle.Task) (ledger.Result, error) {
	return d.auth.Do(ctx, t, lifecycle.RequestCancel{Principal: "principal"}, client(), ledger.Extra{})
}

// progress goes on in the same step, with one message.
func progress() lifecycle.Report {
	return lifecycle.Report{Verb: lifecycle.VerbSubStep, State: json.RawMessage(`{"n":1}`),
		Updates: []lifecycle.Update{{Message: says(a2a.MessageRoleAgent, "on it")}}}
}

func ending(verb lifecycle.Verb) lifecycle.Report {
	return lifecycle.Report{Verb: verb, Message: says(a2a.MessageRoleAgent, string(verb)), Reason: string(verb)}
}

func pausing(state a2a.TaskState) lifecycle.Report {
	terms := &lifecycle.PauseTerms{State: state, Timeout: time.Hour}
	if state == lifecycle.AuthRequired {
		terms.Challenge = &lifecycle.Challenge{Action: "delete"}
	}
	return lifecycle.Report{Verb: lifecycle.VerbPause, Next: "second", Message: says(a2a.MessageRoleAgent, "may I?"), Pause: terms}
}

// piece is a chunk of text.
func piece(id a2a.ArtifactID, text string, last bool) *lifecycle.Chunk {
	return &lifecycle.Chunk{Artifact: id, Last: last, Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text))}
}

// draft is a commit of one's own making: events on top of a task as somebody
// saw it, past the rules of Decide.
func (d *desk) draft(t lifecycle.Task, op string, events ...lifecycle.Event) (ledger.Commit, error) {
	next, entries, err := lifecycle.Seal(t, lifecycle.Decision{Events: events, After: t.Head}, runner(t.Holder, t.Fence), op, d.clock.Now())
	return ledger.Commit{Seen: t.Head, Head: next.Head, Entries: entries}, err
}

func noted(text string) lifecycle.Event {
	return lifecycle.Event{Type: lifecycle.TypeProgress, Message: says(a2a.MessageRoleAgent, text)}
}

// verify reads a task strongly and holds it against the invariants: the entries
// fold to the head (I1), and lifecycle.Check finds nothing.
func (d *desk) verify(ctx context.Context, ref lifecycle.Ref) (lifecycle.Task, []lifecycle.Entry, error) {
	t, err := d.auth.Load(ctx, ref)
	if err != nil {
		return t, nil, fmt.Errorf("loading %s: %w", ref, err)
	}
	entries, err := d.ledger.Entries(ctx, ref, 0, 0)
	if err != nil {
		return t, nil, fmt.Errorf("entries of %s: %w", ref, err)
	}
	folded, err := lifecycle.Fold(ref, entries)
	if err != nil {
		return t, entries, fmt.Errorf("I1: folding %s: %w", ref, err)
	}
	if err := same("I1: the head's folded part", t.Folded(), folded.Folded()); err != nil {
		return t, entries, err
	}
	if err := same("I1: the artifacts", t.Arts, folded.Arts); err != nil && len(t.Arts)+len(folded.Arts) > 0 {
		return t, entries, err
	}
	if broken := lifecycle.Check(t); len(broken) > 0 {
		return t, entries, broken[0]
	}
	if ends := typesOf(entries, lifecycle.TypeEnded); ends > 1 {
		return t, entries, fmt.Errorf("I2: %s has %d terminal entries", ref, ends)
	}
	return t, entries, nil
}

// same compares what would be stored: JSON knows neither zones nor pointers.
func same(what string, got, want any) error {
	g, err := json.Marshal(got)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	w, err := json.Marshal(want)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if string(g) != string(w) {
		return fmt.Errorf("%s is\n\t%s\nwant\n\t%s", what, g, w)
	}
	return nil
}
