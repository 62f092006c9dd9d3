package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// refTo names a task of the tests' tenant.
func refTo(id a2a.TaskID) lifecycle.Ref { return lifecycle.Ref{Tenant: tenant, Task: id} }

// history is a task as its ledger has it.
type history struct {
	lifecycle.Task
	entries []lifecycle.Entry
}

// verify reads a task strongly and holds it against the invariants that can be seen on
// it.
func verify(ctx context.Context, auth *ledger.Authority, ref lifecycle.Ref) (history, error) {
	var h history
	var err error
	if h.Task, err = auth.Load(ctx, ref); err != nil {
		return h, err
	}
	if h.entries, err = auth.Ledger.Entries(ctx, ref, 0, 0); err != nil {
		return h, err
	}
	folded, err := lifecycle.Fold(ref, h.entries)
	if err != nil {
		return h, fmt.Errorf("I1: %w", err)
	}
	var wrong []error
	got, _ := json.Marshal(h.Folded())
	want, _ := json.Marshal(folded.Folded())
	if string(got) != string(want) {
		wrong = append(wrong, fmt.Errorf("I1: the head's folded part is\n%s\nfolding gives\n%s", got, want))
	}
	for _, b := range lifecycle.Check(h.Task) {
		wrong = append(wrong, b)
	}
	var fence uint64
	ends := 0
	for _, e := range h.entries {
		if e.Fence > 0 && e.Fence < fence {
			wrong = append(wrong, fmt.Errorf("I3: entry %d was written under fence %d, an earlier one under %d", e.Seq, e.Fence, fence))
		}
		fence = max(fence, e.Fence)
		if e.Type == lifecycle.TypeEnded {
			ends++
		}
	}
	if ends > 1 || ends == 1 && h.entries[len(h.entries)-1].Type != lifecycle.TypeEnded {
		wrong = append(wrong, fmt.Errorf("I2: %d terminal entries, the last entry is %s", ends, h.entries[len(h.entries)-1].Type))
	}
	return h, errors.Join(wrong...)
}

// fenceAfter is the fence of the first commit under a lease behind a sequence.
func (h history) fenceAfter(seq uint64) uint64 {
	for _, e := range h.entries {
		if e.Seq > seq && e.Fence > 0 {
			return e.Fence
		}
	}
	return 0
}

// visible are the sequences of the entries that callers see, ascending.
func (h history) visible() (out []uint64, err error) {
	v := lifecycle.NewView(h.Ref(), func(d lifecycle.Digest) string { return string(d) })
	for _, e := range h.entries {
		update, err := v.Add(e)
		if err != nil {
			return nil, err
		}
		if update != nil {
			out = append(out, e.Seq)
		}
	}
	return out, nil
}

// settled says what is wrong if not every effect of a review is recorded as done.
func settled(ctx context.Context, l ledger.Effects, ref lifecycle.Ref) error {
	list, err := l.EffectList(ctx, ref)
	if err != nil {
		return err
	}
	keys := map[string]bool{}
	for _, e := range list {
		keys[e.Key] = true
		if e.State != lifecycle.EffectDone {
			return fmt.Errorf("I7: effect %s is %s", e.Name, e.State)
		}
	}
	if len(list) != grantCount || len(keys) != grantCount {
		return fmt.Errorf("%d effects under %d keys, want %d", len(list), len(keys), grantCount)
	}
	return nil
}

// reportDigest is over what a review's report says.
func reportDigest(t a2a.Task) (lifecycle.Digest, error) {
	var parts [][]byte
	for _, a := range t.Artifacts {
		for _, p := range a.Parts {
			content, err := lifecycle.PartContent(p)
			if err != nil {
				return "", err
			}
			parts = append(parts, []byte(a.ID), content)
		}
	}
	if len(parts) == 0 {
		return "", errors.New("there is no report")
	}
	return lifecycle.DigestBytes(bytes.Join(parts, []byte{0})), nil
}
