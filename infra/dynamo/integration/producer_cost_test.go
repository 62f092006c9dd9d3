package integration_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestCostOfProducers counts what a task costs that is worked on outside: beside the
// entries each event leaves a receipt, and each report moves its producer's mark.
func TestCostOfProducers(t *testing.T) {
	s := newStory(t)
	const producer = "producer:worker-1"
	var seq uint64
	take := func(name string, most float64, cmd lifecycle.Command, event string) {
		t.Helper()
		s.act(name, most, func() (ledger.Result, error) {
			payload := json.RawMessage(`{"kind":"status","text":"Page 3 of 9."}`)
			src := lifecycle.Source{Producer: producer, EventID: event, Seq: seq, Holder: producer, Fence: s.task.Fence}
			taken, err := s.auth.Take(t.Context(), s.task.Ref(), cmd, src, ledger.Sent{Payload: payload, Digest: lifecycle.DigestBytes(payload)})
			if _, refused := errors.AsType[*lifecycle.Rejection](err); refused {
				err = nil
			}
			return taken.Result, err
		})
	}
	report := func(verb lifecycle.Verb) lifecycle.Report {
		return lifecycle.Report{Holder: producer, Fence: s.task.Fence, Verb: verb, Updates: []lifecycle.Update{{Message: says("Page 3 of 9.")}}}
	}
	s.act("create", 9, s.submit)
	take("claim, started", 12, lifecycle.Grant{Holder: producer, Generation: 1, Lease: lease, Grace: grace}, a2a.NewMessageID())
	take("renewal", 1, lifecycle.Renew{Holder: producer, Fence: 1, Lease: lease, Grace: grace}, a2a.NewMessageID())
	for seq = 1; seq <= 2; seq++ {
		take("report", 8, report(lifecycle.VerbProgress), a2a.NewMessageID())
	}
	seq = 2
	again := a2a.NewMessageID()
	take("stale, kept", 6, report(lifecycle.VerbProgress), again)
	take("the same again", 4, report(lifecycle.VerbProgress), again)
	seq++
	take("complete", 15, lifecycle.Report{Holder: producer, Fence: s.task.Fence, Verb: lifecycle.VerbComplete, Message: says("Done.")}, a2a.NewMessageID())
}
