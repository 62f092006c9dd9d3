package export_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

var update = flag.Bool("update", false, "write the exports in events/export anew")

// TestGolden: the committed exports are what they were, byte for byte. Where the format or the SDK changes them, the old
// ones move into a migration (local/interop/trace) and are read for ever.
func TestGolden(t *testing.T) {
	for name, golden := range map[string]struct {
		task    a2a.TaskID
		story   func(*desk)
		entries uint64
	}{
		"t42":      {"T-42", t42, 12},
		"contents": {"T-parts", contents, 16},
	} {
		t.Run(name, func(t *testing.T) {
			path := "../../events/export/" + name + ".ndjson"
			d := newDesk(t, ledgertest.NewMemory(), golden.task)
			golden.story(d)
			got := d.exported(export.Operator)
			if *update {
				d.ok(os.WriteFile(path, got, 0o644))
			}
			want, err := os.ReadFile(path)
			d.ok(err)
			report := sound(t, path, want)
			if report.Header.SDK != export.SDK || report.Seq != golden.entries || report.Manifest == "" {
				t.Errorf("%+v", report)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("the export is now\n%s\nand was\n%s\n(go test ./shared/export -update, and read the difference)", got, want)
			}
		})
	}
}
