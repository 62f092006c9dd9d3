package integration_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// TestLedger is the conformance suite, races included.
func TestLedger(t *testing.T) {
	ledgertest.Run(t, func(t *testing.T) ledger.Ledger {
		t.Helper()
		return dynamo.New(client, tables(t), quick)
	})
}
