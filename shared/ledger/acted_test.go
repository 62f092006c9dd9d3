package ledger_test

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// What is done has its record before; what was refused has another one behind it, also
// when it took all the time that there was; and what has no record is not done.
func TestActOnRecord(t *testing.T) {
	cause := errors.New("cause")
	why := func(err error) string { return "because of a " + err.Error() }
	bubble(t, nil, func(k *kit) {
		ref := k.working().Ref()
		acts := func() []ledger.Acted {
			k.Helper()
			list, err := k.memory.Acts(k.ctx, ref)
			k.must(err)
			return list
		}
		record := ledger.Acted{By: "night", Action: ledger.ActionCancel}
		refused, unkept := k.faulty.Act(k.ctx, ref, record, func(context.Context) error {
			k.equal("how many records it has when it is done", len(acts()), 1)
			return nil
		}, why)
		k.must(errors.Join(refused, unkept))
		ctx, cancel := context.WithCancel(k.ctx)
		refused, unkept = k.faulty.Act(ctx, ref, record, func(context.Context) error {
			cancel()
			return cause
		}, why)
		if k.must(unkept); !errors.Is(refused, cause) {
			t.Errorf("refused: %v", refused)
		}
		if list := acts(); len(list) != 3 || list[1].Refused != "" || list[2].Refused != "because of a cause" {
			t.Errorf("on record are %+v", list)
		}
		for len(acts()) < record.Places() {
			k.must(k.memory.Act(k.ctx, ref, record))
		}
		refused, unkept = k.faulty.Act(k.ctx, ref, record, func(context.Context) error {
			t.Error("it was done")
			return nil
		}, why)
		if k.must(unkept); !errors.Is(refused, ledger.ErrActsFull) {
			t.Errorf("refused: %v", refused)
		}
	})
	bubble(t, ledgertest.Plans(ledgertest.On("Act", ledgertest.FailBefore, 2)), func(k *kit) {
		ref := k.working().Ref()
		refused, unkept := k.faulty.Act(k.ctx, ref, ledger.Acted{By: "night", Action: ledger.ActionCancel}, func(context.Context) error { return cause }, why)
		if !errors.Is(refused, cause) || unkept == nil {
			t.Errorf("refused: %v, unkept: %v", refused, unkept)
		}
	})
}
