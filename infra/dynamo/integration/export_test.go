package integration_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestExport: a task's export does not say which ledger it was in: the same story gives the same bytes.
func TestExport(t *testing.T) {
	ref := lifecycle.Ref{Tenant: "tenant <é>", Task: "0195a4b2-1111-7abc-8def-000000000042"} // tell's
	exported := func(l ledger.Ledger, scope export.Scope) []byte {
		t.Helper()
		var b bytes.Buffer
		if _, err := export.Write(t.Context(), &b, l, ref, export.Options{Scope: scope, At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	model, tables := ledgertest.NewMemory(), dynamo.New(client, tables(t), quick)
	tell(t, model)
	tell(t, tables)
	for _, scope := range []export.Scope{export.Operator, export.Caller} {
		want, got := exported(model, scope), exported(tables, scope)
		if !bytes.Equal(got, want) {
			t.Errorf("for %s, on DynamoDB:\n%s\non the model:\n%s", scope, got, want)
		}
		if report, err := export.Verify(bytes.NewReader(got)); err != nil || !report.OK() {
			t.Errorf("for %s: %v, %v\n%s", scope, report.Violations, err, got)
		}
	}
}

// TestExportsDuringWrites: an export of a task that moves all the while is sound, whether it came to rest in between or
// is cut off at an entry.
func TestExportsDuringWrites(t *testing.T) {
	const exports = 20
	l := dynamo.New(client, tables(t), quick)
	n, moved, ended := 0, 0, 0
	err := ledgertest.Busy(t.Context(), l, 7, func(ref lifecycle.Ref) (bool, error) {
		var b bytes.Buffer
		_, err := export.Write(t.Context(), &b, l, ref, export.Options{Scope: export.Operator, At: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)})
		if err != nil {
			return false, err
		}
		report, err := export.Verify(&b)
		if err == nil && !report.OK() {
			err = fmt.Errorf("export %d: %v", n, report.Violations)
		}
		if report.Head.Moved != nil {
			moved++
		}
		if report.Head.State.Terminal() {
			ended++
		}
		n++
		return n < exports, err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d exports, %d of them of a task that did not rest, %d of one that had ended", n, moved, ended)
	if ended == n {
		t.Error("every export was of a task that had ended")
	}
}
