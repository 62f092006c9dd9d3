package dynamo

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// parseDue reads a place in the index of what is due.
func parseDue(place string) (ledger.DueCursor, error) {
	parts, err := split(place)
	if err != nil || len(parts) != 3 {
		return ledger.DueCursor{}, fmt.Errorf("%q is no place in the index of what is due", place)
	}
	at, err := parseInstant(parts[0])
	return ledger.DueCursor{DueAt: at, Ref: lifecycle.Ref{Tenant: parts[1], Task: a2a.TaskID(parts[2])}}, err
}

// dueUntil is what is due, in an index of tasks or of endpoints, in the partitions whose
// names begin so.
func dueUntil(partitions string, before time.Time, limit int) span {
	s := span{index: dueIndex(), first: instantText(time.Time{}), last: afterAll(instantText(before)), page: pageOf(limit)}
	for n := range uint32(dueShards) {
		s.partitions = append(s.partitions, partitions+shard(n))
	}
	return s
}

func dueSpan(before time.Time, after *ledger.DueCursor, limit int) span {
	s := dueUntil("", before, limit)
	if after != nil {
		// A place has nothing behind the task's name, so the next one is just after it.
		s.first = dueSort(after.DueAt, after.Ref) + "\x00"
	}
	return s
}

// Due implements ledger.Index. A task whose head says another time than the index
// is left out: its new place in the index will be found. The cursor goes past
// everything that was looked at.
func (l *Ledger) Due(ctx context.Context, before time.Time, after *ledger.DueCursor, limit int) (ledger.DuePage, error) {
	s := dueSpan(before, after, limit)
	if s.empty() {
		return ledger.DuePage{}, ctx.Err()
	}
	keys := l.scan(l.tables.Tasks, s)
	var places []ledger.DueCursor
	var refs []lifecycle.Ref
	var page ledger.DuePage
	for {
		h, more, err := keys.take(ctx)
		if err != nil {
			return ledger.DuePage{}, err
		}
		if !more {
			break
		}
		if limit > 0 && len(places) == limit {
			page.Next = &places[limit-1]
			break
		}
		place, err := parseDue(h.place)
		if err != nil {
			return ledger.DuePage{}, err
		}
		places, refs = append(places, place), append(refs, place.Ref)
	}
	heads, unread, err := l.heads(ctx, refs)
	if err != nil {
		return ledger.DuePage{}, err
	}
	page.Unread = unread
	for _, place := range places {
		if h, there := heads[place.Ref]; there && h.DueAt.Equal(place.DueAt) {
			page.Heads = append(page.Heads, h)
		}
	}
	return page, nil
}
