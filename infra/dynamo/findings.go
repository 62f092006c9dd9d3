package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A finding is one item of the private table, beside what else belongs to its task.
// Its place in the index is by the minute, so that whoever meets the same over and
// over writes the index once a minute.
const (
	firstName = "first"
	lastName  = "last"
	countName = "count"
)

// findingLife is when TTL may remove a finding, should nothing else have: its task
// was purged long before.
const findingLife = lifecycle.DefaultLife + 2*lifecycle.DefaultRetention

// Note implements ledger.Findings. Most are met for the first time, or again within
// the spell: an update each.
func (l *Ledger) Note(ctx context.Context, ref lifecycle.Ref, kind string, at time.Time, spell time.Duration, times int) error {
	if err := ledger.CheckKind(kind); err != nil {
		return err
	}
	k, begun := findingKey(ref, kind), encodeInstant(at.Add(-spell))
	again := func() *expression {
		x := &expression{}
		return x.compare(lastName, ">=", begun).sum(countName, times)
	}
	anew := func() *expression {
		x := &expression{}
		x.conditions = []string{"attribute_not_exists(" + x.name(lastName) + ") OR " + x.name(lastName) + " < " + x.value(begun)}
		return x.put(firstName, encodeInstant(at)).put(countName, number(uint64(max(times, 0))))
	}
	for try := range changeTries {
		x := again()
		if try%2 == 1 {
			x = anew()
		}
		x.put(lastName, encodeInstant(at)).put(dueName, text(findingShard(ref, kind))).put(dueSortName, text(findingSort(ref, at)))
		if ref.Task != "" {
			x.put(ttlName, number(uint64(max(at.Add(findingLife).Unix(), 0))))
		}
		err := l.update(ctx, l.tables.Private, k, x)
		if _, refused := errors.AsType[*refusal](err); !refused {
			return err
		}
	}
	return fmt.Errorf("noting %s of task %s: %w", kind, ref, ledger.ErrBusy)
}

// Forget implements ledger.Findings. The item leaves the index, and without its last
// time the next finding begins anew. Nobody but the door may delete items.
func (l *Ledger) Forget(ctx context.Context, f ledger.Finding, kind string) error {
	x := (&expression{}).is(lastName, encodeInstant(f.Last)).is(countName, number(uint64(max(f.Count, 0)))).put(lastName, nil).put(dueName, nil).put(dueSortName, nil)
	err := l.update(ctx, l.tables.Private, findingKey(f.Ref, kind), x)
	if _, other := errors.AsType[*refusal](err); other {
		return nil
	}
	return err
}

// findingSpan is the part of the index that a query looks at.
func findingSpan(q ledger.FindingQuery) span {
	s := span{index: dueIndex(), backward: true, page: pageOf(q.Limit)}
	for n := range uint32(findingShards) {
		s.partitions = append(s.partitions, findingPartition(q.Kind, shard(n)))
	}
	if q.All {
		s.first, s.last = separator, afterAll("")
		return s
	}
	own := join(q.Tenant) + separator
	s.first, s.last = own+instantText(q.Since.Truncate(time.Minute)), afterAll(own)
	return s
}

// Found implements ledger.Findings. What the index says of a place that its item has
// left is left out: it has another one, or was forgotten.
func (l *Ledger) Found(ctx context.Context, q ledger.FindingQuery) (ledger.FindingPage, error) {
	keys := l.scan(l.tables.Private, findingSpan(q))
	var page ledger.FindingPage
	for {
		places, ended, err := keys.some(ctx, maxBatch)
		if err != nil {
			return ledger.FindingPage{}, err
		}
		found, unread, err := l.findings(ctx, q.Kind, places)
		if err != nil {
			return ledger.FindingPage{}, err
		}
		page.Unread = append(page.Unread, unread...)
		for _, h := range places {
			f, there := found[h.ref]
			if !there || findingSort(f.Ref, f.Last) != h.place || f.Last.Before(q.Since) {
				continue
			}
			if q.Limit > 0 && len(page.Findings) == q.Limit {
				page.More = true
				return page, nil
			}
			page.Findings = append(page.Findings, f)
		}
		if ended {
			return page, nil
		}
	}
}

// findings reads the items behind places, of which there are at most maxBatch.
func (l *Ledger) findings(ctx context.Context, kind string, places []hit) (map[lifecycle.Ref]ledger.Finding, []ledger.Unread, error) {
	out := map[lifecycle.Ref]ledger.Finding{}
	var unread []ledger.Unread
	once := map[lifecycle.Ref]bool{}
	var keys []item
	for _, h := range places {
		if !once[h.ref] {
			once[h.ref] = true
			keys = append(keys, findingKey(h.ref, kind).item())
		}
	}
	err := l.batch(ctx, l.tables.Private, keys, func(it item) error {
		f, broken := decodeFinding(it)
		if broken == nil {
			out[f.Ref] = f
		} else {
			unread = append(unread, ledger.Unread{Ref: f.Ref, Err: broken})
		}
		return nil
	})
	return out, unread, err
}

func decodeFinding(it item) (ledger.Finding, error) {
	ref, err := taskOf(textOf(it, partitionName))
	if err != nil {
		return ledger.Finding{}, err
	}
	f := ledger.Finding{Ref: ref, Count: countOf(it, countName)}
	if _, forgotten := it[lastName]; !forgotten {
		return f, nil
	}
	var instants struct {
		First time.Time `json:"first"`
		Last  time.Time `json:"last"`
	}
	if err := plainLayout.decode(it, &instants); err != nil {
		return f, fmt.Errorf("a finding of task %s cannot be read: %w", ref, err)
	}
	f.First, f.Last = instants.First, instants.Last
	return f, nil
}
