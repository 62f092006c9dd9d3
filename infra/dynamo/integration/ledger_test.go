package integration_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// TestLedger is the conformance suite, races included: a commit after a lost answer
// (case 14), a stale holder against another grant (case 17), two ends of one task (case
// 18), all with conditional writes on a server.
func TestLedger(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.Ledger {
		t.Helper()
		return dynamo.New(client, tables(t), quick)
	})
}
