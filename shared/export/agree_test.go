package export_test

import (
	"bytes"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// TestLedgersAgree: the same story on two ledgers gives the same bytes.
func TestLedgersAgree(t *testing.T) {
	for seed := range uint64(12) {
		var exports [2][]byte
		file, err := sqlite.Open(t.TempDir(), sqlite.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range []ledger.Ledger{ledgertest.NewMemory(), file} {
			d := newDesk(t, l, "task-1")
			told(d, seed)
			exports[i] = d.exported(export.Operator)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(exports[0], exports[1]) {
			t.Fatalf("seed %d:\n%s\n%s", seed, exports[0], exports[1])
		}
	}
}
