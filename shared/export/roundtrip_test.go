package export_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// seeds is how many random tasks are exported.
const seeds = 300

// TestRoundTrip exports tasks of all kinds. Each export is sound, and the task that is rebuilt from it is the one in the
// ledger (I1).
func TestRoundTrip(t *testing.T) {
	reached := map[a2a.TaskState]int{}
	lines := map[export.Kind]int{}
	for seed := range uint64(seeds) {
		d := newDesk(t, ledgertest.NewMemory(), "task-1")
		told(d, seed)
		reached[d.head().State]++
		raw := d.exported(export.Operator)
		sound(t, fmt.Sprint("seed ", seed), raw)
		same(t, d, raw)
		for line := range bytes.Lines(raw) {
			var l export.Line
			d.ok(json.Unmarshal(line, &l))
			lines[l.Kind]++
		}
		caller := d.exported(export.Caller)
		sound(t, fmt.Sprint("seed ", seed, ", for its caller"), caller)
		for _, kind := range []string{"effect", "settlement", "rejection", "quarantine", "act", "endpoint"} {
			if bytes.Contains(caller, []byte(`{"kind":"`+kind+`"`)) || bytes.Contains(caller, []byte(`"counts":{"rejections"`)) {
				t.Fatalf("seed %d: a caller's export has %s", seed, kind)
			}
		}
		secretless(t, raw, caller)
	}
	t.Logf("ended in %v; lines %v", reached, lines)
	for _, s := range lifecycle.States() {
		if s != lifecycle.Submitted && reached[s] == 0 {
			t.Errorf("no task ended in %s", s)
		}
	}
	if len(lines) != 12 {
		t.Errorf("%d kinds of lines: %v", len(lines), lines)
	}
}

// sound wants an export without violations.
func sound(t *testing.T, what string, raw []byte) export.Report {
	t.Helper()
	report, err := export.Verify(bytes.NewReader(raw))
	if err != nil || !report.OK() {
		t.Fatalf("%s: %v, %v\n%s", what, err, report.Violations, raw)
	}
	return report
}

// same holds what is rebuilt from an export against the ledger.
func same(t *testing.T, d *desk, raw []byte) {
	t.Helper()
	url := func(digest lifecycle.Digest) string { return "https://agent.example/blobs/" + string(digest) }
	got, _, err := export.Replay(bytes.NewReader(raw), url)
	if err != nil || got == nil {
		t.Fatalf("%v, %v", got, err)
	}
	entries, err := d.ledger.Entries(t.Context(), d.ref, 0, 0)
	d.ok(err)
	seen := lifecycle.NewView(d.ref, url)
	for _, e := range entries {
		_, err := seen.Add(e)
		d.ok(err)
	}
	if !reflect.DeepEqual(got.Task, seen.Task()) {
		t.Fatalf("rebuilt\n%+v\nlive\n%+v", got.Task, seen.Task())
	}
	alike(t, "the head", lifecycle.Head(got.Head.HeadFields), d.head())
	arts, err := d.ledger.Artifacts(t.Context(), d.ref)
	d.ok(err)
	byID := map[a2a.ArtifactID]lifecycle.Artifact{}
	for _, a := range arts {
		byID[a.ID] = a
	}
	for i, item := range lifecycle.Manifest(byID) {
		if got.Artifacts[i].ArtifactItem != item || len(got.Artifacts[i].Parts) != item.Chunks {
			t.Fatalf("artifact %+v, live %+v", got.Artifacts[i], item)
		}
	}
	if len(got.Artifacts) != len(byID) || len(got.Entries) != len(entries) {
		t.Fatalf("%d artifacts of %d, %d entries of %d", len(got.Artifacts), len(byID), len(got.Entries), len(entries))
	}
}

func alike(t *testing.T, what string, got, want any) {
	t.Helper()
	g, err := json.Marshal(got)
	w, wrong := json.Marshal(want)
	if err != nil || wrong != nil || !bytes.Equal(g, w) {
		t.Fatalf("%s:\n got %s\nwant %s", what, g, w)
	}
}

// secretless wants no planted secret in exports (I9).
func secretless(t *testing.T, exports ...[]byte) {
	t.Helper()
	for _, raw := range exports {
		for _, secret := range []string{"-secret", base64.StdEncoding.EncodeToString([]byte("sealed"))} {
			if at := bytes.Index(raw, []byte(secret)); at >= 0 {
				t.Fatalf("a secret is in the export: …%s", raw[max(0, at-80):at+10])
			}
		}
	}
}

// TestUnknown: what is not there is not exported.
func TestUnknown(t *testing.T) {
	var b bytes.Buffer
	_, err := export.Write(t.Context(), &b, ledgertest.NewMemory(), lifecycle.Ref{Tenant: "acme", Task: "x"}, export.Options{Scope: export.Operator})
	if !errors.Is(err, ledger.ErrNotFound) || b.Len() > 0 {
		t.Errorf("%v, %q", err, b.String())
	}
}

// moving is a ledger in which something happens whenever the head was read.
type moving struct {
	export.Source

	head func() error
}

// Head implements export.Source.
func (m moving) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	h, err := m.Source.Head(ctx, ref)
	return h, errors.Join(err, m.head())
}

// TestMoving: a task that goes on while it is exported is followed, or exported up to an entry.
func TestMoving(t *testing.T) {
	for moves, want := range map[int]bool{0: false, 1: false, 3: false, 50: true} {
		d := newDesk(t, ledgertest.NewMemory(), "task-1")
		d.submit()
		d.must(d.grant("a"), "")
		left := moves
		source := moving{d.ledger, func() error {
			if left--; left < 0 {
				return nil
			}
			d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{piece("a", a2a.NewTextPart("x"), left < moves-1, false)}}), "")
			d.effect("call", lifecycle.PolicyRetry, lifecycle.EffectDone, "1")
			_ = d.try(d.grant("b"), "")
			return nil
		}}
		var b bytes.Buffer
		_, err := export.Write(t.Context(), &b, source, d.ref, export.Options{Scope: export.Operator, At: start})
		d.ok(err)
		report := sound(t, fmt.Sprint(moves, " moves"), b.Bytes())
		if moved := report.Head.Moved != nil; moved != want {
			t.Errorf("%d moves: moved %v, want %v", moves, moved, want)
		}
		if !want && report.Seq != d.head().Seq {
			t.Errorf("%d moves: exported up to entry %d of %d", moves, report.Seq, d.head().Seq)
		}
	}
}

// TestSDK: the header names the SDK that is linked.
func TestSDK(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil || !strings.Contains(string(mod), export.SDK) {
		t.Errorf("go.mod does not require %q (%v): exports say which SDK their payloads were written with", export.SDK, err)
	}
}

// TestHeadFields: no field of a head is left out of its line.
func TestHeadFields(t *testing.T) {
	fields := map[string]bool{}
	for f := range reflect.TypeFor[export.HeadFields]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields[name] = true
	}
	if n := reflect.TypeFor[lifecycle.Head]().NumField(); len(fields) != n || fields["-"] || fields[""] {
		t.Errorf("%d names for %d fields: %v", len(fields), n, maps.Keys(fields))
	}
}
