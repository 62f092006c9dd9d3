package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// order is what attempts come to.
type order struct {
	attempts int
	updates  int // that were taken
	again    int // attempts at an update beyond the first, all under its id
}

// inOrder holds attempts against what is promised: each update under one id of its own,
// none before the one before it was taken, and nothing that callers do not see. When all
// is true, none is missing.
func inOrder(tries []try, visible []uint64, all bool) (order, error) {
	o := order{attempts: len(tries)}
	ids, seqs := map[uint64]string{}, map[string]uint64{}
	for _, t := range tries {
		id, again := ids[t.seq]
		if again && id != t.id {
			return o, fmt.Errorf("update %d came under %s and %s", t.seq, id, t.id)
		}
		if seq, known := seqs[t.id]; known && seq != t.seq || t.id == "" {
			return o, fmt.Errorf("updates %d and %d came under %q", seq, t.seq, t.id)
		}
		if again {
			o.again++
		}
		ids[t.seq], seqs[t.id] = t.id, t.seq
		// It is the next one, or the last one again, whose answer was lost.
		next := o.updates < len(visible) && t.seq == visible[o.updates]
		last := o.updates > 0 && t.seq == visible[o.updates-1]
		if !next && !last {
			return o, fmt.Errorf("update %d came when %v had been taken of %v", t.seq, visible[:o.updates], visible)
		}
		if next && t.taken {
			o.updates++
		}
	}
	if all && o.updates != len(visible) {
		return o, fmt.Errorf("%v were taken of %v", visible[:o.updates], visible)
	}
	return o, nil
}

func (o *order) add(other order) {
	o.attempts += other.attempts
	o.updates += other.updates
	o.again += other.again
}

// String is the figures of an act.
func (o order) String() string {
	figures := counted(o.attempts, "attempt") + ", " + counted(o.updates, "update") + " taken in order"
	if o.again == 0 {
		return figures + ", none tried again"
	}
	return figures + fmt.Sprintf(", %d tried again under the id of before", o.again)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// timeline is when attempts were made, and what became of them, in short.
func timeline(tries []try, began time.Time) string {
	var out []string
	for i := 0; i < len(tries); {
		n := i + 1
		for n < len(tries) && tries[n].answer == tries[i].answer && tries[n].at.Sub(tries[i].at) < time.Second {
			n++
		}
		part := tries[i].answer
		if n > i+1 {
			part = fmt.Sprintf("%d × %s", n-i, part)
		}
		out = append(out, fmt.Sprintf("%s at %s", part, span(max(tries[i].at.Sub(began), 0))))
		i = n
	}
	const most = 6
	if len(out) > most {
		out = slices.Concat(out[:most/2], []string{"…"}, out[len(out)-most/2:])
	}
	return strings.Join(out, ", ")
}
