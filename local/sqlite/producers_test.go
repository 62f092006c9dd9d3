package sqlite

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestMarkIsNotAheadOfTheHead: the mark comes from the file and the head from memory.
// Who reads the mark and then the head finds the entry of that mark, however the two
// reads fall between a commit and what it tells the memory.
func TestMarkIsNotAheadOfTheHead(t *testing.T) {
	l := open(t, t.TempDir(), Options{NoSync: true})
	auth := &ledger.Authority{Ledger: l, Now: time.Now, NewID: a2a.NewMessageID}
	ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
	submit := lifecycle.Submit{
		ContextID: "c", Agent: "outside", AgentVersion: 1, Step: "outside", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("do")),
		RequestDigest: lifecycle.DigestBytes(nil), Policy: lifecycle.DefaultPolicy(),
	}
	if _, err := auth.Create(t.Context(), ref, submit, lifecycle.Source{Producer: "client"}, nil); err != nil {
		t.Fatal(err)
	}
	take := func(cmd lifecycle.Command, event string, seq uint64) {
		payload := json.RawMessage(fmt.Sprintf("%q", event))
		src := lifecycle.Source{Producer: "worker", EventID: event, Seq: seq, Holder: "worker"}
		if _, err := auth.Take(t.Context(), ref, cmd, src, ledger.Sent{Payload: payload, Digest: lifecycle.DigestBytes(payload)}); err != nil {
			t.Error(err)
		}
	}
	take(lifecycle.Grant{Holder: "worker", Generation: 1, Lease: time.Hour, Grace: time.Minute}, "claim", 0)
	const reports, before = 600, 2 // entries: submitted, started
	var all sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		all.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				mark, err := l.Producer(t.Context(), ref, "worker")
				if err != nil {
					t.Error(err)
				}
				h, err := l.Head(t.Context(), ref)
				if err != nil || h.Seq < mark.Seq+before {
					t.Errorf("report %d is counted, the head is at entry %d, %v", mark.Seq, h.Seq, err)
					return
				}
			}
		})
	}
	for n := range uint64(reports) {
		take(lifecycle.Report{Holder: "worker", Fence: 1, Verb: lifecycle.VerbProgress, State: json.RawMessage("{}")}, fmt.Sprint("report ", n), n+1)
	}
	close(done)
	all.Wait()
}
