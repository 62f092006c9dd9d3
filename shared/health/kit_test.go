package health_test

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// What is real in these tests: the rules, the monitor and the reporter. The ledger is
// the in-memory model, and the clock moves when a test says so.

const (
	tenant = "acme"
	late   = time.Minute
	window = 10 * time.Minute
)

// ward is one deployment that is watched.
type ward struct {
	*testing.T

	clock    *ledgertest.Clock
	faults   *ledgertest.Faults
	auth     *ledger.Authority
	monitor  *health.Monitor
	reporter *health.Reporter
	log      *bytes.Buffer
}

func newWard(t *testing.T) *ward {
	t.Helper()
	w := &ward{T: t, clock: ledgertest.NewClock(), faults: &ledgertest.Faults{}, log: &bytes.Buffer{}}
	w.clock.Advance(time.Millisecond - 123456) // to a whole millisecond, which is what the ledger keeps
	book := w.faults.Ledger(ledgertest.NewMemory())
	w.monitor = &health.Monitor{
		Findings: book, Now: w.clock.Now, Window: window,
		Log: metrics.Log{Logger: slog.New(slog.NewJSONHandler(w.log, nil)), Deployment: "test", Now: w.clock.Now},
	}
	w.auth = &ledger.Authority{Ledger: w.monitor.Ledger(book), Now: w.clock.Now, NewID: a2a.NewMessageID}
	w.reporter = &health.Reporter{Ledger: book, Now: w.clock.Now, Late: late, Window: window, Known: func(agent string, _ int) bool { return agent != "new" }}
	w.monitor.Swept(w.Context())
	return w
}

// pass lets time pass, with the sweeps that come to their end meanwhile.
func (w *ward) pass(d time.Duration) {
	w.clock.Advance(d)
	w.monitor.Swept(w.Context())
}

func (w *ward) ok(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *ward) submit(owner, agent string) lifecycle.Ref {
	w.Helper()
	ref := lifecycle.Ref{Tenant: owner, Task: a2a.NewTaskID()}
	_, err := w.auth.Create(w.Context(), ref, lifecycle.Submit{
		ContextID: "c", Agent: agent, AgentVersion: 1, Step: "a", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil)
	w.ok(err)
	return ref
}

func (w *ward) do(ref lifecycle.Ref, cmd lifecycle.Command) lifecycle.Task {
	w.Helper()
	t, err := w.auth.Load(w.Context(), ref)
	w.ok(err)
	src := lifecycle.Source{Producer: "test"}
	if r, is := cmd.(lifecycle.Report); is {
		src.Holder, src.Fence = t.Holder, t.Fence
		r.Holder, r.Fence, r.Grace = t.Holder, t.Fence, lifecycle.DefaultGrace
		cmd = r
	}
	res, err := w.auth.Do(w.Context(), t, cmd, src, ledger.Extra{})
	w.ok(err)
	return res.Task
}

func (w *ward) grant(ref lifecycle.Ref) lifecycle.Task {
	w.Helper()
	t, err := w.auth.Load(w.Context(), ref)
	w.ok(err)
	return w.do(ref, lifecycle.Grant{Holder: "runner", Generation: t.Generation, Lease: lifecycle.DefaultLease, Grace: lifecycle.DefaultGrace})
}

func (w *ward) end(ref lifecycle.Ref) {
	w.Helper()
	w.grant(ref)
	w.do(ref, lifecycle.Report{Verb: lifecycle.VerbComplete, Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("done"))})
}

func (w *ward) report(owner string) health.Report {
	w.Helper()
	r, err := w.reporter.Report(w.Context(), owner)
	w.ok(err)
	return r
}

func (w *ward) survey() health.Report {
	w.Helper()
	r, err := w.reporter.Survey(w.Context())
	w.ok(err)
	return r
}

func of(t *testing.T, r health.Report, id health.ID) health.Light {
	t.Helper()
	for _, l := range r.Lights {
		if l.Invariant == id {
			return l
		}
	}
	t.Fatalf("no light %s", id)
	return health.Light{}
}

// wants stops unless one light is as it is wanted, with these tasks, and all others
// are green.
func (w *ward) wants(id health.ID, color health.Color, value float64, tasks ...lifecycle.Ref) health.Light {
	w.Helper()
	v, _ := health.Of(id)
	reports := []health.Report{w.report(tenant), w.survey()}
	for i, r := range reports {
		for _, l := range r.Lights {
			if l.Invariant != id && l.Light != health.Green {
				w.Fatalf("%s is %s: %+v", l.Invariant, l.Light, l)
			}
		}
		if i == 1 && v.Event {
			continue // a survey does not look
		}
		l := of(w.T, r, id)
		if l.Light != color || l.Value != value || l.Count != len(tasks) || len(l.Tasks) != min(len(tasks), health.MaxTasks) {
			w.Fatalf("%s is %s, %v %s, %d tasks: want %s, %v and %d", id, l.Light, l.Value, l.Unit, l.Count, color, value, len(tasks))
		}
		named := map[a2a.TaskID]bool{}
		for _, ref := range tasks {
			named[ref.Task] = true
		}
		for _, t := range l.Tasks {
			if !named[t.Task] {
				w.Fatalf("%s names task %s", id, t.Task)
			}
		}
	}
	return of(w.T, w.report(tenant), id)
}

func (w *ward) green() {
	w.Helper()
	for _, r := range []health.Report{w.report(tenant), w.survey()} {
		if r.Worst() != health.Green {
			w.Fatalf("%+v", burning(r))
		}
	}
}

// burning are the lights that are not green.
func burning(r health.Report) []health.Light {
	return slices.DeleteFunc(r.Lights, func(l health.Light) bool { return l.Light == health.Green })
}

// wantStranger stops unless another tenant sees nothing of it (I10).
func (w *ward) wantStranger() {
	w.Helper()
	if r := w.report("stranger"); r.Worst() != health.Green {
		w.Fatalf("another tenant sees it: %+v", burning(r))
	}
}

// refuse makes an outside producer's report be refused.
func (w *ward) refuse(ref lifecycle.Ref, reason lifecycle.Reason, event string) {
	w.Helper()
	w.ok(w.auth.Ledger.Refuse(w.Context(), ref, ledger.Refusal{
		Rejected: ledger.Rejected{At: w.clock.Now(), Producer: "w1", EventID: event, Reason: reason, Detail: "the text of a report", Fence: 3},
		Receipt:  ledger.Receipt{Producer: "w1", EventID: event, Reason: reason, Op: event},
	}))
}
