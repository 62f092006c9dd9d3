package health_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// lines are what was logged since the last call.
func (w *ward) lines() (out []map[string]any) {
	w.Helper()
	for text := range strings.Lines(w.log.String()) {
		var line map[string]any
		w.ok(json.Unmarshal([]byte(text), &line))
		out = append(out, line)
	}
	w.log.Reset()
	return out
}

// metricsOf are the metrics of a line, by its own word.
func metricsOf(line map[string]any) (names []string) {
	root, _ := line["_aws"].(map[string]any)
	directives, _ := root["CloudWatchMetrics"].([]any)
	for _, d := range directives {
		list, _ := d.(map[string]any)["Metrics"].([]any)
		for _, m := range list {
			names = append(names, fmt.Sprint(m.(map[string]any)["Name"]))
		}
	}
	return names
}

// Each remembered rejection is one line with one metric, says whose task it is and why,
// and nothing of what was sent.
func TestRejectionIsOneLine(t *testing.T) {
	for reason, want := range map[lifecycle.Reason]metrics.Name{
		lifecycle.ConflictingContent: metrics.ConflictingContent, lifecycle.PostTerminal: metrics.PostTerminal,
		lifecycle.IllegalTransition: metrics.IllegalTransition, lifecycle.FenceLost: metrics.OtherRejections, lifecycle.StaleSequence: metrics.OtherRejections,
		lifecycle.ReceiptInvalid: metrics.OtherRejections,
	} {
		for how, refuse := range map[string]func(*ward, lifecycle.Ref){
			"refused": func(w *ward, ref lifecycle.Ref) { w.refuse(ref, reason, "e") },
			"rejected": func(w *ward, ref lifecycle.Ref) {
				w.ok(w.auth.Ledger.Reject(w.Context(), ref, ledger.Rejected{Producer: "w1", Reason: reason, Detail: "the text of a report", Fence: 3}))
			},
		} {
			w := newWard(t)
			ref := w.submit(tenant, "hello")
			w.lines()
			refuse(w, ref)
			lines := w.lines()
			if len(lines) != 1 || !slices.Equal(metricsOf(lines[0]), []string{string(want)}) || lines[0][string(want)] != 1.0 {
				t.Fatalf("%s, %s: %v, want one line with %s", reason, how, lines, want)
			}
			l := lines[0]
			if l["task"] != string(ref.Task) || l["tenant"] != tenant || l["reason"] != string(reason) || l["producer"] != "w1" || l["fence"] != 3.0 {
				t.Errorf("%s: %v", reason, l)
			}
			if strings.Contains(fmt.Sprint(l), "the text of a report") {
				t.Errorf("%s: what was sent is logged: %v", reason, l)
			}
		}
	}
}

// What could not be kept was not refused for good: nothing is counted. A refusal whose
// answer was lost is counted when its repetition finds it, and once.
func TestRejectionIsCountedOnce(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.lines()
	w.faults.Plan = func(c ledgertest.Call) ledgertest.Fault {
		if c.Method == "Refuse" && c.Number == 1 {
			return ledgertest.FailAfter
		}
		return ledgertest.None
	}
	refusal := ledger.Refusal{
		Rejected: ledger.Rejected{At: w.clock.Now(), Producer: "w1", EventID: "e", Reason: lifecycle.PostTerminal},
		Receipt:  ledger.Receipt{Producer: "w1", EventID: "e", Reason: lifecycle.PostTerminal, Op: "op"},
	}
	for range 2 {
		_ = w.auth.Ledger.Refuse(w.Context(), ref, refusal)
	}
	if lines := w.lines(); len(lines) != 1 {
		t.Errorf("%v", lines)
	}
	other := refusal
	other.Receipt.Op = "another operation"
	if err := w.auth.Ledger.Refuse(w.Context(), ref, other); err == nil {
		t.Error("an event was refused twice")
	}
	w.faults.Plan = ledgertest.Always("Reject", ledgertest.FailBefore)
	if err := w.auth.Ledger.Reject(w.Context(), ref, ledger.Rejected{Reason: lifecycle.PostTerminal}); err == nil {
		t.Error("the ledger did not fail")
	}
	if lines := w.lines(); len(lines) != 0 {
		t.Errorf("%v", lines)
	}
}

// An event's light has the colors that its alarm has, and goes out by itself.
func TestEventLights(t *testing.T) {
	for reason, id := range map[lifecycle.Reason]health.ID{lifecycle.ConflictingContent: health.ConflictingContent, lifecycle.PostTerminal: health.PostTerminal, lifecycle.IllegalTransition: health.IllegalTransition} {
		w := newWard(t)
		ref := w.submit(tenant, "hello")
		w.grant(ref)
		v, _ := health.Of(id)
		for n := 1.0; n <= v.Red; n++ {
			w.refuse(ref, reason, fmt.Sprintf("e-%v", n))
			color := health.Amber
			if n >= v.Red {
				color = health.Red
			}
			w.wants(id, color, n, ref)
		}
		w.wantStranger()
		begun := w.clock.Now()
		w.end(ref)
		w.pass(window)
		l := w.wants(id, health.Red, v.Red, ref)
		if l.Tasks[0].Count != int(v.Red) || l.Tasks[0].Since.Sub(begun).Abs() > time.Millisecond || !l.Tasks[0].Last.Equal(l.Tasks[0].Since) {
			t.Errorf("%+v", l.Tasks[0])
		}
		w.pass(time.Second)
		w.green()
	}
}

// A survey forgets what is over, and a tenant's report does not: who only reads changes
// nothing. What was noted a moment ago may be about to be written.
func TestSurveyForgets(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.monitor.Saw(w.Context(), health.EffectInDoubt, ref, "an effect is held")
	found := func() int {
		page, err := w.auth.Ledger.Found(w.Context(), ledger.FindingQuery{Kind: string(health.EffectInDoubt), Tenant: tenant})
		w.ok(err)
		return len(page.Findings)
	}
	w.report(tenant)
	if found() != 1 {
		t.Error("a report has forgotten something")
	}
	w.survey()
	w.pass(time.Minute - time.Second)
	w.survey()
	if found() != 1 {
		t.Error("what was noted a moment ago was forgotten")
	}
	w.pass(time.Second)
	w.report(tenant)
	w.survey()
	if found() != 0 {
		t.Error("what is over was not forgotten")
	}
}

// A survey does not read what has happened: of everybody's events there is no end, and
// whoever met one has counted it.
func TestSurveyIsOfStates(t *testing.T) {
	w := newWard(t)
	var mu sync.Mutex
	asked := map[string]int{}
	w.reporter.Ledger = recording{w.auth.Ledger, func(q ledger.FindingQuery) {
		mu.Lock()
		defer mu.Unlock()
		asked[q.Kind]++
	}}
	r := w.survey()
	for _, v := range health.Invariants() {
		if shown := slices.ContainsFunc(r.Lights, func(l health.Light) bool { return l.Invariant == v.ID }); shown == v.Event {
			t.Errorf("%s: event %t, in a survey %t", v.ID, v.Event, shown)
		}
		if v.Event && asked[string(v.ID)] > 0 {
			t.Errorf("a survey reads the findings of %s", v.ID)
		}
	}
	if asked[string(health.EffectInDoubt)] == 0 {
		t.Error("a survey reads no findings at all")
	}
}

// recording is a ledger whose questions about findings are noted.
type recording struct {
	ledger.Ledger

	note func(ledger.FindingQuery)
}

// Found implements ledger.Findings.
func (r recording) Found(ctx context.Context, q ledger.FindingQuery) (ledger.FindingPage, error) {
	r.note(q)
	return r.Ledger.Found(ctx, q)
}

// A survey's numbers are the metrics of the states, one line in all, also when they are
// 0: an alarm must see that all is well.
func TestMeasured(t *testing.T) {
	w := newWard(t)
	w.submit(tenant, "hello")
	w.pass(lifecycle.DefaultGrace + late + time.Second)
	r := w.survey()
	w.lines()
	w.monitor.Measured(w.Context(), r)
	lines := w.lines()
	if len(lines) != 1 {
		t.Fatalf("%v", lines)
	}
	want := []string{"TasksPastDue", "PausesPastDue", "UnknownVersions", "EffectsInDoubt", "OldestUndelivered", "PurgesBehind"}
	if got := metricsOf(lines[0]); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, name := range want {
		value := 0.0
		if name == "TasksPastDue" {
			value = 1
		}
		if lines[0][name] != value {
			t.Errorf("%s is %v, want %v", name, lines[0][name], value)
		}
	}
}

// A finding that cannot be kept costs nobody anything but a line.
func TestNoteThatIsLost(t *testing.T) {
	w := newWard(t)
	ref := w.submit(tenant, "hello")
	w.lines()
	w.faults.Plan = ledgertest.Always("Note", ledgertest.FailBefore)
	w.refuse(ref, lifecycle.PostTerminal, "e")
	lines := w.lines()
	if len(lines) != 2 || lines[1]["msg"] != "a finding was not kept" || lines[1]["task"] != string(ref.Task) {
		t.Errorf("%v", lines)
	}
	w.monitor.Saw(w.Context(), "nothing", ref, "what nobody watches")
	if lines := w.lines(); len(lines) != 0 {
		t.Errorf("%v", lines)
	}
}

// Every invariant is declared once and whole; what is an event is counted when it
// happens, what is a state is measured.
func TestInvariants(t *testing.T) {
	ids, names := map[health.ID]bool{}, map[metrics.Name]health.ID{}
	for _, v := range health.Invariants() {
		m, known := metrics.Of(v.Metric)
		if !known || names[v.Metric] != "" || ids[v.ID] || v.Name == "" || !strings.HasSuffix(v.Means, ".") {
			t.Errorf("%+v", v)
		}
		ids[v.ID], names[v.Metric] = true, v.ID
		if v.Red <= 0 && v.Amber <= 0 || v.Red <= 0 && v.Patience == 0 || v.Amber > 0 && v.Red > 0 && v.Amber >= v.Red {
			t.Errorf("%s: amber from %v, red from %v", v.ID, v.Amber, v.Red)
		}
		if v.Event && m.Gauge && v.ID != health.StreamBehind {
			t.Errorf("%s is an event, and its metric is measured", v.ID)
		}
		if found, ok := health.Of(v.ID); !ok || found.Name != v.Name {
			t.Errorf("%s is not found", v.ID)
		}
	}
	for _, m := range metrics.All() {
		if names[m.Name] == "" && m.Name != metrics.OtherRejections && m.Name != metrics.TasksFailed {
			t.Errorf("nobody looks at %s", m.Name)
		}
	}
}
