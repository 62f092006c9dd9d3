package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// monitorOn is a monitor that logs as the functions do.
func monitorOn(logs io.Writer) *health.Monitor {
	return &health.Monitor{
		Findings: ledgertest.NewMemory(), Now: now, Window: health.DefaultWindow,
		Log: metrics.Log{Logger: slog.New(slog.NewJSONHandler(logs, nil)), Deployment: "test", Now: now},
	}
}

// noSurvey finds nothing.
func noSurvey(context.Context) (health.Report, error) { return health.Report{}, nil }

// measured are the values of a metric in a log.
func measured(t *testing.T, logs string, name metrics.Name) (values []float64) {
	t.Helper()
	for text := range strings.Lines(logs) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if v, is := line[string(name)].(float64); is && line["_aws"] != nil {
			values = append(values, v)
		}
	}
	return values
}

func noted(t *testing.T, m *health.Monitor, id health.ID) int {
	t.Helper()
	page, err := m.Findings.Found(t.Context(), ledger.FindingQuery{Kind: string(id), All: true})
	if err != nil {
		t.Fatal(err)
	}
	return len(page.Findings)
}

// The stream function measures how old the oldest record of a batch is from amber on, also
// of one that it has nothing to do with; a record that cannot be read is counted.
func TestStreamIsWatched(t *testing.T) {
	logs := &bytes.Buffer{}
	m := monitorOn(logs)
	f := following(m.Log.Logger, m, nobody, nothing)
	deliver := func(records ...string) string {
		logs.Reset()
		var b Batch
		if err := json.Unmarshal([]byte(`{"Records":[`+strings.Join(records, ",")+`]}`), &b); err != nil {
			t.Fatal(err)
		}
		if _, err := f(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		return logs.String()
	}
	aged := func(age time.Duration) string {
		return strings.Replace(record("1", "#", "MODIFY"), `"dynamodb":{`, fmt.Sprintf(`"dynamodb":{"ApproximateCreationDateTime":%d,`, now().Add(-age).Unix()), 1)
	}
	if got := measured(t, deliver(), metrics.StreamAge); got != nil {
		t.Errorf("an empty batch has the age %v", got)
	}
	if got := measured(t, deliver(record("1", "#", "MODIFY")), metrics.StreamAge); got != nil {
		t.Errorf("records of no age have the age %v", got)
	}
	if got := measured(t, deliver(aged(time.Second), aged(58*time.Second)), metrics.StreamAge); got != nil {
		t.Errorf("records that are young have the age %v", got)
	}
	if n := noted(t, m, health.StreamBehind); n != 0 {
		t.Errorf("%d findings of a stream that is not behind", n)
	}
	if got := measured(t, deliver(aged(time.Second), aged(time.Hour), aged(2*time.Second)), metrics.StreamAge); len(got) != 1 || got[0] < 3600 || got[0] >= 3660 {
		t.Errorf("the age is %v", got)
	}
	if n := noted(t, m, health.StreamBehind); n != 1 {
		t.Errorf("%d findings of a stream that is behind", n)
	}
	if got := measured(t, deliver(record("6", "e#zzz", "INSERT")), metrics.UnreadableRecords); len(got) != 1 || noted(t, m, health.UnreadableRecord) != 1 {
		t.Errorf("unreadable: %v", got)
	}
}

// The sweep measures before it sweeps, says when it has come to its end, and goes on
// when nothing could be measured.
func TestSweepIsWatched(t *testing.T) {
	memory := ledgertest.NewMemory()
	clock := ledgertest.NewClock()
	authority := &ledger.Authority{Ledger: memory, Now: clock.Now, NewID: a2a.NewMessageID}
	ref := lifecycle.Ref{Tenant: "t", Task: a2a.NewTaskID()}
	if _, err := authority.Create(t.Context(), ref, lifecycle.Submit{ContextID: "c", Agent: "hello", AgentVersion: 1, Step: "a", Message: a2a.NewMessage(a2a.MessageRoleUser), Policy: lifecycle.DefaultPolicy()}, lifecycle.Source{Producer: "client"}, nil); err != nil {
		t.Fatal(err)
	}
	clock.Advance(time.Hour)
	logs := &bytes.Buffer{}
	m := monitorOn(logs)
	told := &restarts{}
	sweeper := &sweep.Sweeper{Authority: authority, Executions: told, Page: 10, Most: 100, Logger: m.Log.Logger, Known: func(string, int) bool { return true }, Watch: m}
	reporter := &health.Reporter{Ledger: memory, Now: clock.Now, Late: health.DefaultLate, Window: health.DefaultWindow}
	if err := bounded(m, reporter.Survey, sweeper, noEndpoints, noPurges, time.Second)(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := measured(t, logs.String(), metrics.TasksPastDue); len(got) != 1 || got[0] != 1 || told.n != 1 {
		t.Errorf("past due: %v, restarted: %d", got, told.n)
	}
	if got := measured(t, logs.String(), metrics.Sweeps); len(got) != 1 || noted(t, m, health.SweepSilent) != 1 {
		t.Errorf("sweeps: %v", got)
	}
	logs.Reset()
	blind := func(context.Context) (health.Report, error) { return health.Report{}, errors.New("blind") }
	if err := bounded(m, blind, sweeper, noEndpoints, noPurges, time.Second)(t.Context()); err != nil || told.n != 2 {
		t.Errorf("a sweep that cannot measure: %v, restarted: %d", err, told.n)
	}
	if !strings.Contains(logs.String(), "nothing was measured") || measured(t, logs.String(), metrics.TasksPastDue) != nil || measured(t, logs.String(), metrics.Sweeps) != nil {
		t.Error(logs.String())
	}
	logs.Reset()
	broken := func(context.Context) (webhook.Swept, error) { return webhook.Swept{}, errors.New("broken") }
	if err := bounded(m, noSurvey, sweeper, broken, noPurges, time.Second)(t.Context()); err == nil || measured(t, logs.String(), metrics.Sweeps) != nil {
		t.Errorf("a sweep that failed says that it came to its end: %v", err)
	}
}

// restarts counts.
type restarts struct{ n int }

func (r *restarts) Restart(context.Context, lifecycle.Ref) error {
	r.n++
	return nil
}

func (r *restarts) Answered(context.Context, lifecycle.Head, int) error { return nil }

// stuck is a ledger in which one task is due and no head can be read.
type stuck struct{ ledger.Ledger }

func (stuck) Due(ctx context.Context, _ time.Time, _ *ledger.DueCursor, _ int) (ledger.DuePage, error) {
	return ledger.DuePage{Heads: []lifecycle.Head{{Tenant: "t", Task: "x"}}}, ctx.Err()
}

func (stuck) Head(ctx context.Context, _ lifecycle.Ref) (lifecycle.Head, error) {
	<-ctx.Done()
	return lifecycle.Head{}, ctx.Err()
}

// A sweep that was cut off has come to its end if it has looked at anything: one that
// got nowhere, each time anew, is silent.
func TestSweepThatGetsNowhereIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for name, c := range map[string]struct {
			sweeps []float64
			l      ledger.Ledger
			ends   func(context.Context) (webhook.Swept, error)
		}{
			"nowhere": {nil, stuck{ledgertest.NewMemory()}, noEndpoints},
			"endpoints": {[]float64{1}, ledgertest.NewMemory(), func(ctx context.Context) (webhook.Swept, error) {
				<-ctx.Done()
				return webhook.Swept{Looked: 1}, ctx.Err()
			}},
			"tasks": {[]float64{1}, endless{ledgertest.NewMemory(), func() { <-time.After(700 * time.Millisecond) }}, noEndpoints},
		} {
			logs := &bytes.Buffer{}
			m := monitorOn(logs)
			s := &sweep.Sweeper{Authority: &ledger.Authority{Ledger: c.l, Now: time.Now}, Page: 1, Most: 1000, Logger: m.Log.Logger}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			err := bounded(m, noSurvey, s, c.ends, noPurges, time.Second)(ctx)
			cancel()
			if got := measured(t, logs.String(), metrics.Sweeps); err != nil || !slices.Equal(got, c.sweeps) || !strings.Contains(logs.String(), `"cut":true`) {
				t.Errorf("%s: sweeps %v, want %v (%v)", name, got, c.sweeps, err)
			}
		}
	})
}
