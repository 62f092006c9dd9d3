package ledgertest_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

func TestMemory(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Ledger { return ledgertest.NewMemory() })
}

func TestMemoryBlobs(t *testing.T) {
	ledgertest.RunBlobs(t, func(*testing.T) ledger.Blobs { return ledgertest.NewMemoryBlobs() })
}
