package sqlite

import (
	"container/list"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// stored is a head, the row that it is in, and the entries before it that are in
// memory.
type stored struct {
	row  int64
	head lifecycle.Head
	tail tail
}

// heads remembers committed heads. Only the writer puts them in, after the
// commit that they come from, so nobody can see one that is not on disk or put
// an old one over a new one. What has ended leaves first, then what was not used
// for the longest time.
type heads struct {
	mu    sync.Mutex
	max   int
	byRef map[lifecycle.Ref]*list.Element
	order *list.List // of stored, most recently used first
	bytes int        // of all tails
}

func newHeads(limit int) *heads {
	return &heads{max: limit, byRef: map[lifecycle.Ref]*list.Element{}, order: list.New()}
}

func (h *heads) get(ref lifecycle.Ref) (stored, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.byRef[ref]
	if !ok {
		return stored{}, false
	}
	s, _ := e.Value.(stored)
	if !s.head.Terminal() {
		h.order.MoveToFront(e)
	}
	return s, true
}

// seq is where a head is that is in memory. That it was asked for is no use of it.
func (h *heads) seq(ref lifecycle.Ref) (uint64, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.byRef[ref]
	if !ok {
		return 0, false
	}
	s, _ := e.Value.(stored)
	return s.head.Seq, true
}

func (h *heads) put(s stored) {
	h.mu.Lock()
	defer h.mu.Unlock()
	ref := s.head.Ref()
	e, ok := h.byRef[ref]
	h.bytes += s.tail.bytes
	if ok {
		h.bytes -= tailOf(e)
		e.Value = s
		h.order.MoveToFront(e)
	} else {
		e = h.order.PushFront(s)
		h.byRef[ref] = e
	}
	if len(h.byRef) > h.max {
		last := h.order.Back()
		h.bytes -= tailOf(last)
		if s, ok := h.order.Remove(last).(stored); ok {
			delete(h.byRef, s.head.Ref())
		}
	}
	if s.head.Terminal() && h.byRef[ref] == e {
		h.order.MoveToBack(e)
	}
	for at := h.order.Back(); h.bytes > maxTails && at != nil; at = at.Prev() {
		h.bytes -= tailOf(at)
		s, _ := at.Value.(stored)
		s.tail = tail{}
		at.Value = s
	}
}

// drop forgets a head.
func (h *heads) drop(ref lifecycle.Ref) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.byRef[ref]; ok {
		h.bytes -= tailOf(e)
		h.order.Remove(e)
		delete(h.byRef, ref)
	}
}

func tailOf(e *list.Element) int {
	s, _ := e.Value.(stored)
	return s.tail.bytes
}

func (h *heads) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.byRef)
}

// plain is the head as it comes back from the file: instants in UTC without the
// process's monotonic clock, and nothing shared with whoever holds the original.
func plain(h lifecycle.Head) lifecycle.Head {
	for _, t := range []*time.Time{&h.StatusAt, &h.AcceptedAt, &h.LifeEndsAt, &h.ExpiresAt, &h.NextAt, &h.LeaseUntil, &h.AckedAt, &h.DueAt} {
		*t = instant(*t)
	}
	h.Challenge = plainChallenge(h.Challenge)
	if h.Pause != nil {
		p := *h.Pause
		p.DeadlineAt = instant(p.DeadlineAt)
		p.Challenge = plainChallenge(p.Challenge)
		h.Pause = &p
	}
	if h.Cancel != nil {
		c := *h.Cancel
		c.At = instant(c.At)
		h.Cancel = &c
	}
	return h
}

func plainChallenge(c *lifecycle.Challenge) *lifecycle.Challenge {
	if c == nil {
		return nil
	}
	out := *c
	out.ExpiresAt = instant(c.ExpiresAt)
	return &out
}

func instant(t time.Time) time.Time { return t.Round(0).UTC() }

// nanos is an instant as an indexed column has it. Those that do not fit, which
// are centuries away, come first or last.
func nanos(t time.Time) int64 {
	const earliest, latest = 1678, 2261
	switch year := t.UTC().Year(); {
	case year < earliest:
		return -1 << 63
	case year > latest:
		return 1<<63 - 1
	}
	return t.UnixNano()
}

func encodeHead(h lifecycle.Head) ([]byte, error) {
	b, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encoding the head of task %s: %w", h.Task, err)
	}
	return b, nil
}

func decodeHead(b []byte) (lifecycle.Head, error) {
	var h lifecycle.Head
	if err := json.Unmarshal(b, &h); err != nil {
		return h, fmt.Errorf("%w: a head cannot be read: %w", ErrCorrupt, err)
	}
	return h, nil
}
