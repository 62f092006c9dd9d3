package export_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var update = flag.Bool("update", false, "write the exports in events/export anew")

// golden is a committed export: the story of its task, and whether that was accepted under a document.
type golden struct {
	name     string
	task     a2a.TaskID
	story    func(*desk)
	entries  uint64
	document bool
}

var goldens = []golden{
	{"t42", "T-42", t42, 12, false},
	{"contents", "T-parts", contents, 16, false},
	{"under-policy", "T-42", acknowledged, 12, true},
}

// exported plays the story and exports it.
func (g golden) exported(t *testing.T) []byte {
	t.Helper()
	d := newDesk(t, ledgertest.NewMemory(), g.task)
	if !g.document {
		d.judged = lifecycle.DefaultPolicy()
	}
	g.story(d)
	return d.exported(export.Operator)
}

// TestGolden: the committed exports are what they were, byte for byte. Where the format or the SDK changes them, the old
// ones move into a migration (local/interop/trace) and are read for ever.
func TestGolden(t *testing.T) {
	for _, golden := range goldens {
		t.Run(golden.name, func(t *testing.T) {
			path := "../../events/export/" + golden.name + ".ndjson"
			got := golden.exported(t)
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			report := sound(t, path, want)
			if report.Header.SDK != export.SDK || report.Seq != golden.entries || report.Manifest == "" || report.Counts.Settled != 1 || (report.Counts.Policy == 1) != golden.document {
				t.Errorf("%+v", report)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the export is now\n%s\nand was\n%s\n(go test ./shared/export -update, and read the difference)", got, want)
			}
		})
	}
}

// TestFormat1: an export of the first format is read for ever: it is sound, folds as it did, and is settled by what it
// recorded, which is nothing. Its entries and its head are what a task without a document writes today.
func TestFormat1(t *testing.T) {
	for _, golden := range goldens[:2] {
		path := "../../events/export/migrations/001-policies/" + golden.name + ".ndjson"
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if report := sound(t, path, raw); report.Header.Format != 1 || report.Seq != golden.entries {
			t.Errorf("%+v", report)
		}
		got, _, err := export.Replay(bytes.NewReader(raw), nil)
		if err != nil || got.Terms != nil || got.Policy != nil || got.Settlement == nil || got.Settlement.Units != 0 || got.Settlement.Compensate != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
		then, today := open(t, raw), open(t, golden.exported(t))
		for _, kind := range []export.Kind{export.KindEntry, export.KindArtifact, export.KindHead} {
			for n := range map[export.Kind]int{export.KindEntry: int(golden.entries), export.KindArtifact: len(got.Artifacts), export.KindHead: 1}[kind] {
				if i, j := today.at(kind, n), then.at(kind, n); !bytes.Equal(today.lines[i], then.lines[j]) {
					t.Errorf("%s: line %d of kind %s is now\n%s\nand was\n%s", golden.name, n+1, kind, today.lines[i], then.lines[j])
				}
			}
		}
	}
}
