package lifecycle_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestTransitions holds the table against ARCHITECTURE.md, written out again.
func TestTransitions(t *testing.T) {
	const (
		submitted, working, input, auth       = lifecycle.Submitted, lifecycle.Working, lifecycle.InputRequired, lifecycle.AuthRequired
		completed, failed, canceled, rejected = lifecycle.Completed, lifecycle.Failed, lifecycle.Canceled, lifecycle.Rejected
	)
	want := []lifecycle.Transition{
		{From: submitted, To: []a2a.TaskState{working, input, auth, completed, failed, canceled, rejected}},
		{From: working, To: []a2a.TaskState{input, auth, completed, failed, canceled, rejected}},
		{From: input, To: []a2a.TaskState{working, auth, completed, failed, canceled, rejected}},
		{From: auth, WithReceipt: []a2a.TaskState{working, input, completed}, To: []a2a.TaskState{failed, canceled, rejected}},
		{From: completed}, {From: failed}, {From: canceled}, {From: rejected},
	}
	if got := lifecycle.Transitions(); !reflect.DeepEqual(got, want) {
		t.Errorf("the table is\n%v\nARCHITECTURE.md says\n%v", got, want)
	}
	for _, s := range lifecycle.States() {
		if s.Terminal() && lifecycle.Interrupted(s) {
			t.Errorf("case 25: %s is terminal and interrupted", s)
		}
	}
}

// situation is a task as a command may find it. The columns of testdata/table.golden.
type situation struct {
	name string
	book func(t testing.TB) *book
	at   time.Duration
}

func situations() []situation {
	paused := func(terms lifecycle.PauseTerms) func(testing.TB) *book {
		return func(t testing.TB) *book {
			t.Helper()
			b := started(t)
			r := b.report(lifecycle.VerbPause)
			r.Pause, r.Message = &terms, say("May I?")
			b.must(t, r, start)
			return b
		}
	}
	input := lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}
	named, canceling := input, input
	named.Named, canceling.Outcome = true, lifecycle.Canceled
	auth := lifecycle.PauseTerms{State: lifecycle.AuthRequired, Timeout: time.Hour, Challenge: &lifecycle.Challenge{Action: "revoke"}}
	late := func(terms lifecycle.PauseTerms) func(testing.TB) *book { // the mark was written after the pause
		return func(t testing.TB) *book {
			t.Helper()
			b := paused(terms)(t)
			b.task.Cancel = &lifecycle.CancelMark{Principal: "p", At: start}
			return b
		}
	}
	waiting := func(verb lifecycle.Verb) func(testing.TB) *book {
		return func(t testing.TB) *book {
			t.Helper()
			b := started(t)
			r := b.report(verb)
			r.Until, r.Reason = start.Add(time.Hour), "later"
			b.must(t, r, start)
			return b
		}
	}
	ended := func(verb lifecycle.Verb) func(testing.TB) *book {
		return func(t testing.TB) *book {
			t.Helper()
			b := started(t)
			if verb == lifecycle.VerbCancel {
				b.must(t, lifecycle.RequestCancel{Principal: "p"}, start)
			}
			b.must(t, b.report(verb), start)
			return b
		}
	}
	fresh := func(t testing.TB) *book {
		t.Helper()
		b := newBook("t-1")
		b.must(t, submit(), start)
		return b
	}
	free := func(t testing.TB) *book {
		t.Helper()
		b := started(t)
		b.must(t, b.report(lifecycle.VerbContinue), start)
		return b
	}
	marked := func(t testing.TB) *book {
		t.Helper()
		b := started(t)
		b.must(t, lifecycle.RequestCancel{Principal: "p"}, start)
		return b
	}
	open := func(t testing.TB) *book {
		t.Helper()
		b := started(t)
		r := b.report(lifecycle.VerbSubStep)
		r.Updates = []lifecycle.Update{{Chunk: chunk("report", "one", false)}}
		b.must(t, r, start)
		return b
	}
	exhausted := func(t testing.TB) *book {
		t.Helper()
		b := started(t)
		for range lifecycle.MaxGrants {
			b.must(t, grant("a", 1), start)
		}
		b.must(t, lifecycle.Release{Holder: "a", Fence: b.task.Fence, Grace: grace}, start)
		return b
	}
	second := func(t testing.TB) *book {
		t.Helper()
		b := started(t)
		b.must(t, lifecycle.Restart{HolderGone: true, Grace: grace}, start)
		b.must(t, grant("a", 2), start)
		return b
	}
	const beyond = lifecycle.DefaultLife
	return []situation{
		{"no task", func(testing.TB) *book { return newBook("t-1") }, 0},
		{"submitted", fresh, 0},
		{"submitted, past its life", fresh, beyond},
		{"working, held", started, 0},
		{"working, lease ran out", started, lease},
		{"working, nobody holds it", free, 0},
		{"working, held under generation 2", second, 0},
		{"working, to be canceled, held", marked, 0},
		{"working, to be canceled, lease ran out", marked, lease},
		{"working, artifact open", open, 0},
		{"working, leases used up", exhausted, 0},
		{"working, asleep", waiting(lifecycle.VerbSleep), 0},
		{"working, asleep, and it is time", waiting(lifecycle.VerbSleep), time.Hour},
		{"working, between attempts", waiting(lifecycle.VerbRetry), 0},
		{"working, past its life", started, beyond},
		{"input-required", paused(input), 0},
		{"input-required, named", paused(named), 0},
		{"input-required, at its deadline", paused(input), time.Hour},
		{"input-required, canceling, at its deadline", paused(canceling), time.Hour},
		{"input-required, past its life", func(t testing.TB) *book {
			t.Helper()
			return paused(lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: lifecycle.MaxPause})(t)
		}, beyond},
		{"input-required, to be canceled", late(input), 0},
		{"auth-required, to be canceled", late(auth), 0},
		{"auth-required", paused(auth), 0},
		{"auth-required, at its deadline", paused(auth), time.Hour},
		{"completed", ended(lifecycle.VerbComplete), 0},
		{"failed", ended(lifecycle.VerbFail), 0},
		{"canceled", ended(lifecycle.VerbCancel), 0},
		{"rejected", ended(lifecycle.VerbReject), 0},
	}
}

// order is one command. The rows of testdata/table.golden.
type order struct {
	name    string
	command func(lifecycle.Head) lifecycle.Command
}

func orders() []order {
	always := func(c lifecycle.Command) func(lifecycle.Head) lifecycle.Command {
		return func(lifecycle.Head) lifecycle.Command { return c }
	}
	pause := func(n int) *int { return &n }
	out := []order{
		{"submit", always(submit())},
		{"grant to its holder", func(h lifecycle.Head) lifecycle.Command { return grant("a", h.Generation) }},
		{"grant to another", func(h lifecycle.Head) lifecycle.Command { return grant("b", h.Generation) }},
		{"grant, old generation", func(h lifecycle.Head) lifecycle.Command { return grant("b", h.Generation-1) }},
		{"grant to nobody", func(h lifecycle.Head) lifecycle.Command { return grant("", h.Generation) }},
		{"renew", func(h lifecycle.Head) lifecycle.Command {
			return lifecycle.Renew{Holder: "a", Fence: h.Fence, Lease: 2 * lease}
		}},
		{"renew, old fence", func(h lifecycle.Head) lifecycle.Command {
			return lifecycle.Renew{Holder: "a", Fence: h.Fence - 1, Lease: 2 * lease}
		}},
		{"release", func(h lifecycle.Head) lifecycle.Command {
			return lifecycle.Release{Holder: "a", Fence: h.Fence, Grace: grace}
		}},
		{"reply", always(lifecycle.Reply{Message: user("m-2", "yes"), Grace: grace})},
		{"reply, names pause 1", always(lifecycle.Reply{Message: user("m-2", "yes"), Pause: pause(1), Grace: grace})},
		{"reply, names pause 9", always(lifecycle.Reply{Message: user("m-2", "yes"), Pause: pause(9), Grace: grace})},
		{"reply without a message", always(lifecycle.Reply{})},
		{"authorize", always(lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: 1}, Grace: grace})},
		{"authorize, wrong challenge", always(lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: 9}, Grace: grace})},
		{"request cancel", always(lifecycle.RequestCancel{Principal: "p"})},
		{"expire", always(lifecycle.Expire{})},
		{"renew, and look again", func(h lifecycle.Head) lifecycle.Command {
			return lifecycle.Renew{Holder: "a", Fence: h.Fence, Lease: lease / 2, Grace: grace / 4}
		}},
		{"leave", always(lifecycle.Leave{})},
		{"restart", always(lifecycle.Restart{Grace: grace})},
		{"restart, the wait ended", always(lifecycle.Restart{EndWait: true, Grace: grace})},
		{"restart, holder gone", always(lifecycle.Restart{HolderGone: true, Grace: grace})},
		{"abandon", always(lifecycle.Abandon{Reason: "stuck"})},
	}
	report := func(name string, change func(*lifecycle.Report)) {
		out = append(out, order{"report " + name, func(h lifecycle.Head) lifecycle.Command {
			r := lifecycle.Report{Holder: "a", Fence: h.Fence, Next: "next", State: json.RawMessage(`{"n":2}`), Grace: grace, Until: start.Add(2 * lifecycle.DefaultLife)}
			change(&r)
			return r
		}})
	}
	for _, v := range []lifecycle.Verb{lifecycle.VerbSubStep, lifecycle.VerbContinue, lifecycle.VerbSleep, lifecycle.VerbRetry, lifecycle.VerbWait, lifecycle.VerbComplete, lifecycle.VerbReject, lifecycle.VerbFail, lifecycle.VerbCancel, "dance"} {
		report(string(v), func(r *lifecycle.Report) { r.Verb = v })
	}
	report("pause for input", func(r *lifecycle.Report) {
		r.Verb, r.Pause = lifecycle.VerbPause, &lifecycle.PauseTerms{State: lifecycle.InputRequired}
	})
	report("pause for authorization", func(r *lifecycle.Report) {
		r.Verb, r.Pause = lifecycle.VerbPause, &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Challenge: &lifecycle.Challenge{Action: "revoke"}}
	})
	report("pause without terms", func(r *lifecycle.Report) { r.Verb = lifecycle.VerbPause })
	report("progress", func(r *lifecycle.Report) { r.Verb = lifecycle.VerbProgress })
	report("progress of nothing", func(r *lifecycle.Report) { r.Verb, r.State = lifecycle.VerbProgress, nil })
	for _, p := range []lifecycle.Place{{Seq: 3, Last: 2}, {Seq: 2, Last: 2}, {Seq: 1, Last: 2}, {Seq: 4, Last: 2}, {Last: 2}} {
		report(fmt.Sprintf("progress, %d after %d", p.Seq, p.Last), func(r *lifecycle.Report) { r.Verb, r.Place = lifecycle.VerbProgress, &p })
	}
	report("cancel, 3 after 2", func(r *lifecycle.Report) { r.Verb, r.Place = lifecycle.VerbCancel, &lifecycle.Place{Seq: 3, Last: 2} })
	report("complete, 3 after 2", func(r *lifecycle.Report) { r.Verb, r.Place = lifecycle.VerbComplete, &lifecycle.Place{Seq: 3, Last: 2} })
	report("complete, 2 after 2", func(r *lifecycle.Report) { r.Verb, r.Place = lifecycle.VerbComplete, &lifecycle.Place{Seq: 2, Last: 2} })
	report("complete, 4 after 2, old fence", func(r *lifecycle.Report) {
		r.Verb, r.Place = lifecycle.VerbComplete, &lifecycle.Place{Seq: 4, Last: 2}
		r.Fence--
	})
	report("complete, old fence", func(r *lifecycle.Report) { r.Verb = lifecycle.VerbComplete; r.Fence-- })
	report("complete, by another", func(r *lifecycle.Report) { r.Verb, r.Holder = lifecycle.VerbComplete, "b" })
	report("complete, by nobody", func(r *lifecycle.Report) { r.Verb, r.Holder = lifecycle.VerbComplete, "" })
	report("complete, with a sealed chunk", func(r *lifecycle.Report) {
		r.Verb, r.Updates = lifecycle.VerbComplete, []lifecycle.Update{{Chunk: chunk("report", "new", true)}}
	})
	report("sub-step, append", func(r *lifecycle.Report) {
		r.Verb, r.Updates = lifecycle.VerbSubStep, []lifecycle.Update{{Chunk: chunk("report", "two", false), Append: true}}
	})
	return out
}

// TestTable is every state × every command: testdata/table.golden.
func TestTable(t *testing.T) {
	var out strings.Builder
	out.WriteString("# Every situation of a task × every command. Under each situation: what is written and changed, or why it is refused; under\n# that the commands for which it is so.\n" +
		"# Generated by go test ./shared/lifecycle -update. Read the difference before committing it.\n")
	for _, s := range situations() {
		fmt.Fprintf(&out, "\n%s\n", s.name)
		var results []string // in the order in which they turn up
		by := map[string][]string{}
		for _, o := range orders() {
			b := s.book(t)
			before := b.task
			entries, rejection, broken := b.do(o.command(before.Head), lifecycle.Source{Producer: "test"}, start.Add(s.at))
			if broken != nil {
				t.Errorf("%s: %s: %v", s.name, o.name, broken)
			}
			if before.Terminal() && (rejection == nil || len(entries) > 0) {
				t.Errorf("I2: %s: %s was accepted", s.name, o.name)
			}
			r := result(before.Head, b.task.Head, entries, rejection)
			if by[r] == nil {
				results = append(results, r)
			}
			by[r] = append(by[r], o.name)
		}
		slices.SortStableFunc(results, func(x, y string) int { // refusals last
			return cmp.Compare(strings.Count(x, "refused"), strings.Count(y, "refused"))
		})
		for _, r := range results {
			fmt.Fprintf(&out, "  %s\n", r)
			line := ""
			for _, o := range by[r] {
				if len(line)+len(o) > 110 {
					out.WriteString("     " + line + "\n")
					line = ""
				}
				line += " [" + o + "]"
			}
			out.WriteString("     " + line + "\n")
		}
	}
	golden(t, "table.golden", out.String())
}

// result is what a command did, in one line.
func result(before, after lifecycle.Head, entries []lifecycle.Entry, rejection *lifecycle.Rejection) string {
	var did []string
	for _, e := range entries {
		did = append(did, string(e.Type))
	}
	if before.State != after.State {
		did = append(did, "-> "+name(after.State))
	}
	if after.Fence != before.Fence {
		did = append(did, fmt.Sprintf("fence %d for %s", after.Fence, after.Holder))
	}
	if after.Generation != before.Generation {
		did = append(did, fmt.Sprintf("generation %d", after.Generation))
	}
	if after.Holder != before.Holder && after.Holder == "" {
		did = append(did, "lease free")
	}
	if before.Cancel == nil && after.Cancel != nil {
		did = append(did, "marked")
	}
	if !after.LeaseUntil.Equal(before.LeaseUntil) && after.Fence == before.Fence && after.Holder != "" {
		did = append(did, "lease until later")
	}
	line := strings.Join(did, ", ")
	if rejection != nil {
		line = strings.TrimPrefix(line+", ", ", ") + "refused " + string(rejection.Reason)
	}
	if line == "" {
		line = "accepted, nothing changes"
	}
	return line
}

// TestTerminalLeadsNowhere tries every entry type in every state through Apply, well formed and correctly chained:
// what the shapes allow and nothing else; from a terminal state nothing at all (I2, I12).
func TestTerminalLeadsNowhere(t *testing.T) {
	allowed := map[lifecycle.EntryType][]a2a.TaskState{
		lifecycle.TypeStarted:         {lifecycle.Submitted},
		lifecycle.TypeProgress:        {lifecycle.Working},
		lifecycle.TypeChunk:           {lifecycle.Working},
		lifecycle.TypeCheckpoint:      {lifecycle.Working},
		lifecycle.TypeWaiting:         {lifecycle.Working},
		lifecycle.TypePaused:          {lifecycle.Submitted, lifecycle.Working},
		lifecycle.TypeReply:           {lifecycle.InputRequired},
		lifecycle.TypeMessage:         {lifecycle.AuthRequired},
		lifecycle.TypeAuthorized:      {lifecycle.AuthRequired},
		lifecycle.TypeCancelRequested: {lifecycle.Submitted, lifecycle.Working, lifecycle.InputRequired, lifecycle.AuthRequired},
		lifecycle.TypeEnded:           {lifecycle.Submitted, lifecycle.Working, lifecycle.InputRequired, lifecycle.AuthRequired},
		lifecycle.TypeSubmitted:       nil,
	}
	states := map[a2a.TaskState]*book{}
	for _, s := range situations() {
		if b := s.book(t); b.task.Seq > 0 {
			states[b.task.State] = b
		}
	}
	tried := 0
	for typ, from := range allowed {
		for state, b := range states {
			tried++
			ev := wellFormed(typ, b.task)
			payload, err := lifecycle.Canonical(ev)
			if err != nil {
				t.Fatal(err)
			}
			e := lifecycle.Rechain(b.task, lifecycle.Entry{Task: b.task.Task, Seq: b.task.Seq + 1, Type: typ, TypeVersion: 1, Payload: payload, AcceptedAt: start, ObservedAt: start})
			_, err = lifecycle.Apply(b.task, e)
			if want := slices.Contains(from, state); (err == nil) != want {
				t.Errorf("%s in %s: %v, want accepted=%t", typ, name(state), err, want)
			}
			if r, ok := errors.AsType[*lifecycle.Rejection](err); state.Terminal() && typ != lifecycle.TypeSubmitted && (!ok || r.Reason != lifecycle.PostTerminal) {
				t.Errorf("%s in %s: %v, want post-terminal", typ, name(state), err)
			}
		}
	}
	if tried != 8*12 {
		t.Errorf("tried %d pairs, want 8 states × 12 types", tried)
	}
}

// wellFormed is an event of a type with everything that such an event carries.
func wellFormed(typ lifecycle.EntryType, t lifecycle.Task) lifecycle.Event {
	ev := lifecycle.Event{Type: typ, Message: say("text")}
	switch typ {
	case lifecycle.TypeSubmitted:
		ev.State, ev.Submission = lifecycle.Submitted, &lifecycle.Submission{Agent: "review", LifeEndsAt: start.Add(time.Hour)}
	case lifecycle.TypeStarted, lifecycle.TypeReply:
		ev.State = lifecycle.Working
	case lifecycle.TypeAuthorized:
		ev.State, ev.Receipt = lifecycle.Working, &lifecycle.ReceiptRef{Challenge: t.Pauses}
	case lifecycle.TypeChunk:
		ev.Chunk = chunk("fresh", "text", true)
		ev.Chunk.Revision, ev.Chunk.Number = 1, 1
	case lifecycle.TypeCheckpoint:
		ev.Checkpoint = &lifecycle.Checkpoint{Step: "next", Visit: t.Visit + 1}
	case lifecycle.TypeWaiting:
		ev.Wait = &lifecycle.Wait{Until: start}
	case lifecycle.TypePaused:
		ev.State, ev.Pause = lifecycle.InputRequired, &lifecycle.Pause{Number: t.Pauses + 1, DeadlineAt: start.Add(time.Hour), Outcome: lifecycle.Failed}
	case lifecycle.TypeCancelRequested:
		ev.Cancel = &lifecycle.CancelMark{At: start}
	case lifecycle.TypeEnded:
		digest, _ := lifecycle.DigestJSON(lifecycle.Manifest(t.Arts))
		ev.State, ev.Ending = lifecycle.Failed, &lifecycle.Ending{Manifest: lifecycle.Manifest(t.Arts), ManifestDigest: digest}
	}
	return ev
}
