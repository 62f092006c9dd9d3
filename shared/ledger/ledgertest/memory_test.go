package ledgertest_test

import (
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func TestMemory(t *testing.T) {
	ledgertest.Run(t, func(*testing.T) ledger.Ledger { return ledgertest.NewMemory() })
}

func TestMemoryBlobs(t *testing.T) {
	ledgertest.RunBlobs(t, func(*testing.T) ledger.Blobs { return ledgertest.NewMemoryBlobs() })
}

// Memory works in a synctest bubble: who waits for a commit is durably blocked.
func TestMemoryInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, task := created(t)
		watched := make(chan error, 1)
		go func() { watched <- memory.Watch(t.Context(), task.Ref(), task.Seq) }()
		synctest.Wait()
		select {
		case err := <-watched:
			t.Fatalf("the watch returned early: %v", err)
		default:
		}
		a := &ledger.Authority{Ledger: memory, Now: ledgertest.NewClock().Now, NewID: a2a.NewMessageID}
		if _, err := a.Do(t.Context(), task, lifecycle.RequestCancel{}, lifecycle.Source{Producer: "client"}, ledger.Extra{}); err != nil {
			t.Fatal(err)
		}
		if err := <-watched; err != nil {
			t.Error(err)
		}
	})
}
