package export_test

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

var update = flag.Bool("update", false, "write events/export/t42.ndjson anew")

// TestGolden: the export of T-42 is what it was, byte for byte. Where the format changes, keep the old file under another
// name, and have it read for ever.
func TestGolden(t *testing.T) {
	const path = "../../events/export/t42.ndjson"
	d := newDesk(t, ledgertest.NewMemory(), "T-42")
	t42(d)
	got := d.exported(export.Operator)
	if *update {
		d.ok(os.WriteFile(path, got, 0o644))
	}
	want, err := os.ReadFile(path)
	d.ok(err)
	report := sound(t, path, want)
	if report.Header.SDK != export.SDK || report.Seq != 12 || report.Manifest == "" {
		t.Errorf("%+v", report)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the export is now\n%s\nand was\n%s\n(go test ./shared/export -update, and read the difference)", got, want)
	}
}
