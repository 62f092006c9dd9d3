package console_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// TestExport: who takes the record away is in it, and so is the policy by which the task
// was judged.
func TestExport(t *testing.T) {
	policies, err := policy.Shipped()
	if err != nil {
		t.Fatal(err)
	}
	judged, err := policies.Find(policy.Default)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, func(w *world) { w.config.Policies = policies })
	task := w.do(w.submit(func(s *lifecycle.Submit) { s.Policy = judged.Policy() }), granted(1), ends(lifecycle.VerbComplete))
	a := w.ask(http.MethodPost, "/console/api/tasks/"+string(task.Task)+"/export", `{}`, as(tenant+"/reader/operator:read"))
	report, err := export.Verify(bytes.NewReader(a.raw))
	if err != nil || !report.OK() || report.Counts.Act != 1 || report.Counts.Policy != 1 || report.Header.Scope != export.Operator {
		t.Fatalf("%d: %v, %+v\n%s", a.status, err, report, a.raw)
	}
	p, _, err := export.Read(bytes.NewReader(a.raw), nil)
	if err != nil || p.Acts[0].By != "reader" || p.Acts[0].Action != ledger.ActionExport {
		t.Errorf("%+v, %v", p.Acts, err)
	}
	if got := w.acts(task); len(got) != 1 {
		t.Errorf("on record are %+v", got)
	}
	var callers bytes.Buffer
	if _, err := export.Write(t.Context(), &callers, w.memory, task.Ref(), export.Options{Scope: export.Caller}); err != nil || strings.Contains(callers.String(), "reader") {
		t.Errorf("callers are told which operator has acted: %s (%v)", callers.String(), err)
	}
}

// torn is a ledger from which entries can be read up to a sequence.
type torn struct {
	ledger.Ledger

	upTo uint64
}

// Entries implements ledger.Tasks.
func (l torn) Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error) {
	if after >= l.upTo {
		return nil, errors.Join(errors.New("a secret of ours"), ledger.ErrUnavailable)
	}
	return l.Ledger.Entries(ctx, ref, after, limit)
}

// TestExportFails: an export that cannot be read is refused while nothing of it was sent,
// and the record says so; one that was begun is cut, and whoever has it can see that.
func TestExportFails(t *testing.T) {
	w := newWorld(t)
	long := lifecycle.Report{Verb: lifecycle.VerbProgress}
	for range 10 {
		long.Updates = append(long.Updates, lifecycle.Update{Message: says(strings.Repeat("x", 2000))})
	}
	task := w.do(w.submit(), granted(1), long, long, long, long, long, long, long, long)
	take := func(upTo uint64) answer {
		w.config.Authority = &ledger.Authority{Ledger: torn{w.memory, upTo}, Now: w.clock.Now, NewID: a2a.NewMessageID}
		w.open()
		return w.ask(http.MethodPost, "/console/api/tasks/"+string(task.Task)+"/export", `{}`)
	}
	a := take(0)
	if a.status != http.StatusServiceUnavailable || a.header.Get("Content-Type") != "application/json" || a.header.Get("Content-Disposition") != "" || a.header.Get("Retry-After") == "" {
		t.Errorf("nothing can be read: %d %v", a.status, a.header)
	}
	if p := a.problem(w); p.Reason != "UNAVAILABLE" || !strings.Contains(p.Message, "incident") || bytes.Contains(a.raw, []byte("secret of ours")) {
		t.Errorf("nothing can be read: %+v", p)
	}
	if acts := w.acts(task); len(acts) != 2 || acts[0].Refused != "" || !strings.Contains(acts[1].Refused, "incident") {
		t.Errorf("on record are %+v", acts)
	}
	const some = 64 // of the task's entries: more bytes than are sent at a time
	if task.Seq <= some {
		t.Fatalf("the task has %d entries", task.Seq)
	}
	a = take(some)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/x-ndjson" || len(a.raw) == 0 || bytes.Contains(a.raw, []byte(`"kind":"trailer"`)) || bytes.Contains(a.raw, []byte(`"error"`)) {
		t.Errorf("some can be read: %d %v, %d bytes", a.status, a.header, len(a.raw))
	}
	if acts := w.acts(task); len(acts) != 3 || acts[2].Refused != "" || !strings.Contains(w.log.String(), "an export was cut") {
		t.Errorf("on record are %+v", acts)
	}
}
