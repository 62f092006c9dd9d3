package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// documented are the variables that the package comment names.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	text, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "//\tHOLDFAST_"); ok {
			for _, m := range regexp.MustCompile(`(?:^|HOLDFAST_)([A-Z][A-Z_]+)`).FindAllStringSubmatch(rest, -1) {
				out[m[1]] = true
			}
		}
	}
	return out
}

// TestOnly: a function does what its role allows, and says which one does the rest.
func TestOnly(t *testing.T) {
	f := only(&dispatch.Handler{Steps: func(context.Context, dispatch.Input, string, time.Time) (lifecycle.Outcome, error) {
		return lifecycle.Outcome{}, errors.New("ran")
	}}, dispatch.OpRun, dispatch.OpAwait)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for payload, want := range map[string]string{
		`{"op":"run","tenant":"t","taskId":"x","generation":1}`: "ran",
		`{"op":"settle"}`: `not "settle"`, `{}`: `not ""`, `x`: "no operation",
	} {
		if _, err := f(ctx, json.RawMessage(payload)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", payload, err, want)
		}
	}
}

// endless is an index that always has more that is due.
type endless struct {
	ledger.Ledger
	looked func()
}

func (e endless) Due(ctx context.Context, _ time.Time, _ *ledger.DueCursor, _ int) (ledger.DuePage, error) {
	e.looked()
	return ledger.DuePage{Heads: []lifecycle.Head{{Tenant: "t", Task: "x"}}, Next: &ledger.DueCursor{}}, ctx.Err()
}

// TestSweepIsBounded: by number, and by time without being a failure.
func TestSweepIsBounded(t *testing.T) {
	logs := &bytes.Buffer{}
	sweeper := func(most int, looked func()) *sweep.Sweeper {
		return &sweep.Sweeper{
			Authority: &ledger.Authority{Ledger: endless{ledgertest.NewMemory(), looked}, Now: now}, Page: 1, Most: most, Logger: slog.New(slog.NewJSONHandler(logs, nil)),
		}
	}
	n := 0
	if err := bounded(monitorOn(logs), noSurvey, sweeper(7, func() { n++ }), noEndpoints, noPurges, time.Second)(t.Context()); err != nil || n != 7 {
		t.Errorf("%d pages of 7, %v", n, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	if err := bounded(monitorOn(logs), noSurvey, sweeper(1<<30, func() {}), noEndpoints, noPurges, time.Hour-time.Millisecond)(ctx); err != nil || !strings.Contains(logs.String(), `"cut":true`) {
		t.Errorf("out of time: %v, %s", err, logs)
	}
	gone, stop := context.WithCancel(t.Context())
	if err := bounded(monitorOn(logs), noSurvey, sweeper(1<<30, stop), noEndpoints, noPurges, time.Second)(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped from outside: %v", err)
	}
}

// record of a stream as Lambda sends it.
func record(sequence, sort, name string) string {
	return `{"eventID":"e` + sequence + `","eventName":"` + name + `","userIdentity":null,"dynamodb":{"SequenceNumber":"` + sequence + `","Keys":{"pk":{"S":"p"},"sk":{"S":"` + sort + `"}}}}`
}

// TestStream: a record that cannot be read is named by its sequence number and
// disturbs no other.
func TestStream(t *testing.T) {
	logs := &bytes.Buffer{}
	f := following(slog.New(slog.NewJSONHandler(logs, nil)), monitorOn(logs), nobody, nothing)
	for _, c := range []struct {
		name    string
		records []string
		want    string
	}{
		{"empty", nil, `{"batchItemFailures":[]}`},
		{"heads", []string{record("1", "#", "MODIFY"), record("2", "#", "MODIFY"), record("1", "#", "MODIFY")}, `{"batchItemFailures":[]}`},
		{"one without keys", []string{record("1", "#", "MODIFY"), `{"eventName":"MODIFY","dynamodb":{"SequenceNumber":"2"}}`, record("3", "#", "MODIFY")}, `{"batchItemFailures":[{"itemIdentifier":"2"}]}`},
		{"one that is no record", []string{`{"dynamodb":{"SequenceNumber":"4","Keys":{"pk":{"S":7}}}}`, record("5", "#", "MODIFY")}, `{"batchItemFailures":[{"itemIdentifier":"4"}]}`},
		{"an entry that cannot be decoded", []string{record("6", "e#zzz", "INSERT")}, `{"batchItemFailures":[{"itemIdentifier":"6"}]}`},
		{"nothing at all", []string{`7`}, `{"batchItemFailures":[{"itemIdentifier":""}]}`},
	} {
		var b Batch
		if err := json.Unmarshal([]byte(`{"Records":[`+strings.Join(c.records, ",")+`]}`), &b); err != nil {
			t.Fatal(err)
		}
		out, err := f(t.Context(), b)
		if got, _ := json.Marshal(out); err != nil || string(got) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.name, got, err, c.want)
		}
	}
}

// noEndpoints is a sweep that finds none.
func noEndpoints(context.Context) (webhook.Swept, error) { return webhook.Swept{}, nil }

// noPurges is a sweep that finds nothing to forget.
func noPurges(context.Context) (sweep.Forgotten, error) { return sweep.Forgotten{}, nil }

// nothing is purged.
func nothing(context.Context, []lifecycle.Ref) sweep.Forgotten { return sweep.Forgotten{} }

// nobody has no endpoints to be told.
func nobody(context.Context, *hints) []string { return nil }
