package ledgertest

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var _ ledger.Purges = (*Memory)(nil)

// Expired implements ledger.Purges.
func (m *Memory) Expired(ctx context.Context, before time.Time, after *ledger.ExpiredCursor, limit int) (ledger.ExpiredPage, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return ledger.ExpiredPage{}, err
	}
	defer leave()
	var found []ledger.ExpiredCursor
	for _, from := range []map[lifecycle.Ref]*record{m.tasks, m.purged} {
		for ref, r := range from {
			at := ledger.ExpiredCursor{ExpiresAt: r.head.ExpiresAt, Ref: ref}
			if r.head.Expired(before) && (after == nil || oldestFirst(*after, at) < 0) {
				found = append(found, at)
			}
		}
	}
	slices.SortFunc(found, oldestFirst)
	var page ledger.ExpiredPage
	if limit > 0 && len(found) > limit {
		found = found[:limit]
		page.Next = &found[limit-1]
	}
	for _, at := range found {
		page.Refs = append(page.Refs, at.Ref)
	}
	return page, nil
}

// oldestFirst is the order of what has expired. The port leaves open how tasks of one
// instant follow each other; here by name.
func oldestFirst(a, b ledger.ExpiredCursor) int {
	return earliestFirst(a.ExpiresAt, b.ExpiresAt, a.Ref, b.Ref)
}

// BeginPurge implements ledger.Purges.
func (m *Memory) BeginPurge(ctx context.Context, ref lifecycle.Ref, now time.Time) (ledger.Purge, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return ledger.Purge{}, err
	}
	defer leave()
	r, begun := m.purged[ref]
	if !begun {
		var known bool
		if r, known = m.tasks[ref]; !known {
			return ledger.Purge{}, ledger.ErrNotFound
		}
		if !r.head.Expired(now) {
			return ledger.Purge{}, &ledger.NotExpired{Ref: ref, ExpiresAt: r.head.ExpiresAt}
		}
		delete(m.tasks, ref)
		m.purged[ref] = r
	}
	return ledger.Purge{Ref: ref, ExpiresAt: r.head.ExpiresAt, Key: r.head.Key}, nil
}

// PurgePiece implements ledger.Purges. The feed forgets the entries as well.
func (m *Memory) PurgePiece(ctx context.Context, ref lifecycle.Ref) (removed int, more bool, err error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return 0, false, err
	}
	defer leave()
	r, begun := m.purged[ref]
	if !begun {
		return 0, false, nil
	}
	left := ledger.MaxPurged
	left -= take(r.parked, left)
	left -= take(r.endpoints, left)
	for at := range m.found {
		if at.ref == ref && left > 0 {
			delete(m.found, at)
			left--
		}
	}
	n := min(left, len(r.entries))
	for _, place := range r.places[:n] {
		m.feed[place] = ledger.Change{} // positions stay
	}
	r.entries, r.places, left = r.entries[n:], r.places[n:], left-n
	left -= take(r.artifacts, left)
	left -= take(r.chunks, left)
	left -= take(r.receipts, left)
	left -= take(r.producers, left)
	left -= take(r.effects, left)
	n = min(left, len(r.rejections))
	r.rejections, left = r.rejections[n:], left-n
	n = min(left, len(r.late))
	r.late, left = r.late[n:], left-n
	removed = ledger.MaxPurged - left
	return removed, left == 0, nil
}

// take removes up to so many of a map's values, and says how many.
func take[K comparable, V any](from map[K]V, most int) int {
	n := 0
	for k := range maps.Clone(from) {
		if n == most {
			break
		}
		delete(from, k)
		n++
	}
	return n
}

// EndPurge implements ledger.Purges.
func (m *Memory) EndPurge(ctx context.Context, p ledger.Purge, forgetAt time.Time) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	key := ledger.Key{Tenant: p.Ref.Tenant, Hash: p.Key}
	if note, known := m.keys[key]; known && note.Task == p.Ref.Task && !note.Expired() {
		note.ForgetAt = forgetAt
		m.keys[key] = note
	}
	delete(m.purged, p.Ref)
	return nil
}

// ForgetKeys implements ledger.Purges.
func (m *Memory) ForgetKeys(ctx context.Context, before time.Time, limit int) (int, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return 0, err
	}
	defer leave()
	n := 0
	for key, note := range m.keys {
		if note.Forgotten(before) && (limit <= 0 || n < limit) {
			delete(m.keys, key)
			n++
		}
	}
	return n, nil
}

// Left counts what the ledger keeps: tasks, those whose purge has not ended, submission
// keys, and entries of the feed.
func (m *Memory) Left() (tasks, purges, keys, entries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.feed {
		if c.Entry.Seq > 0 {
			entries++
		}
	}
	return len(m.tasks), len(m.purged), len(m.keys), entries
}
