package main

import (
	"errors"
	"fmt"
)

// checkWebhook: through both kills the receiver was told every update, in order, again
// only under the same id, and in the end of the task's end (I11).
func checkWebhook(f facts) (string, error) {
	if len(f.told) == 0 {
		return "", errors.New("nothing was told")
	}
	var got []uint64
	ids := map[string]uint64{}
	for _, t := range f.told {
		known, again := ids[t.id]
		switch {
		case again && (known != t.seq || got[len(got)-1] != t.seq):
			return "", fmt.Errorf("%d came under %s, as %d had, after %d", t.seq, t.id, known, got[len(got)-1])
		case again:
			continue
		}
		ids[t.id] = t.seq
		got = append(got, t.seq)
	}
	if err := ascending(got); err != nil {
		return "", err
	}
	want := visible(f.entries)
	if lost, extra := without(want, got), without(got, want); len(lost)+len(extra) > 0 {
		return "", fmt.Errorf("callers see the entries %v and they were not told, %v were told and callers do not see them", lost, extra)
	}
	last := f.told[len(f.told)-1]
	if last.seq != f.head.Seq || last.state != f.final.Status.State {
		return "", fmt.Errorf("the last one was %d, %s; the task is %s at %d", last.seq, last.state, f.final.Status.State, f.head.Seq)
	}
	return fmt.Sprintf("%d signed updates told in order over both kills, none missing, %d again under the same id; the last is %s", len(got), len(f.told)-len(got), last.state), nil
}
