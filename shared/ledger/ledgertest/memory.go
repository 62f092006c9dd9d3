package ledgertest

import (
	"context"
	"errors"
	"strconv"
	"sync"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Memory is the model of a ledger: maps under one mutex, written to be obviously
// right. It forgets everything with the process. Fit for synctest.
type Memory struct {
	mu      sync.Mutex
	tasks   map[lifecycle.Ref]*record
	purged  map[lifecycle.Ref]*record // whose purge has begun, and has not ended
	keys    map[ledger.Key]ledger.KeyNote
	feed    []ledger.Change
	watched map[lifecycle.Ref]chan struct{} // closed at the task's next entry
	found   map[met]ledger.Finding
}

// record is everything of one task.
type record struct {
	head       lifecycle.Head
	entries    []lifecycle.Entry
	places     []int // of the entries in the feed
	artifacts  map[a2a.ArtifactID]lifecycle.Artifact
	chunks     map[coordinate]ledger.ChunkReceipt
	receipts   map[eventName]ledger.Receipt
	producers  map[string]ledger.ProducerMark
	rejections []ledger.Rejected
	late       []ledger.Quarantined
	acts       []ledger.Acted
	counts     ledger.Counts
	effects    map[effectName]lifecycle.Effect
	parked     map[int]ledger.Parked
	endpoints  map[string]ledger.Endpoint
}

type coordinate struct {
	artifact         a2a.ArtifactID
	revision, number int
}

type eventName struct{ producer, eventID string }

type effectName struct {
	visit uint64
	name  string
}

// NewMemory is an empty ledger.
func NewMemory() *Memory {
	return &Memory{
		tasks: map[lifecycle.Ref]*record{}, purged: map[lifecycle.Ref]*record{}, keys: map[ledger.Key]ledger.KeyNote{},
		watched: map[lifecycle.Ref]chan struct{}{}, found: map[met]ledger.Finding{},
	}
}

var _ ledger.Ledger = (*Memory)(nil)

// enter locks the ledger for one call, unless its caller has given up.
func (m *Memory) enter(ctx context.Context) (leave func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	return m.mu.Unlock, nil
}

// within runs one call on a task that must exist.
func (m *Memory) within(ctx context.Context, ref lifecycle.Ref, do func(r *record) error) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	r, known := m.tasks[ref]
	if !known {
		return ledger.ErrNotFound
	}
	return do(r)
}

// inside is within, for reads that find nothing in a task that does not exist.
func (m *Memory) inside(ctx context.Context, ref lifecycle.Ref, do func(r *record) error) error {
	err := m.within(ctx, ref, do)
	if errors.Is(err, ledger.ErrNotFound) {
		return nil
	}
	return err
}

// Create implements ledger.Tasks.
func (m *Memory) Create(ctx context.Context, c ledger.Creation) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := c.Check(); err != nil {
		return err
	}
	if c.Key != nil {
		if note, taken := m.keys[*c.Key]; taken && !note.Forgotten(c.Head.AcceptedAt) {
			return &ledger.KeyTaken{Note: note}
		}
	}
	ref := c.Head.Ref()
	if r, exists := m.tasks[ref]; exists {
		return r.conflict(0)
	}
	if r, exists := m.purged[ref]; exists {
		return r.conflict(0)
	}
	if c.Key != nil {
		m.keys[*c.Key] = c.Note
	}
	r := &record{
		artifacts: map[a2a.ArtifactID]lifecycle.Artifact{}, chunks: map[coordinate]ledger.ChunkReceipt{},
		receipts: map[eventName]ledger.Receipt{}, effects: map[effectName]lifecycle.Effect{}, parked: map[int]ledger.Parked{},
		endpoints: map[string]ledger.Endpoint{}, producers: map[string]ledger.ProducerMark{},
	}
	for _, e := range c.Endpoints {
		r.newEndpoint(e)
	}
	m.tasks[ref] = r
	m.append(r, c.Head, c.Entries)
	return nil
}

// Commit implements ledger.Tasks.
func (m *Memory) Commit(ctx context.Context, c ledger.Commit) error {
	return m.within(ctx, c.Seen.Ref(), func(r *record) error {
		if err := c.Check(); err != nil {
			return err
		}
		if !ledger.Stands(c.Seen, r.head) {
			return r.conflict(c.Seen.Seq)
		}
		if p := c.Producer; p != nil && r.producers[p.Producer].Seq+1 != p.Seq {
			return r.conflict(c.Seen.Seq)
		}
		if err := r.fresh(c); err != nil {
			return err
		}
		for _, a := range c.Artifacts {
			r.artifacts[a.ID] = a
		}
		for _, k := range c.Chunks {
			r.chunks[coordinate{k.Artifact, k.Revision, k.Number}] = k
		}
		for _, receipt := range c.Receipts {
			r.receipts[eventName{receipt.Producer, receipt.EventID}] = receipt
		}
		if p := c.Producer; p != nil {
			r.producers[p.Producer] = *p
		}
		if c.Answered != 0 {
			p := r.parked[c.Answered]
			p.Answered = true
			r.parked[c.Answered] = p
		}
		m.append(r, c.Head, c.Entries)
		return nil
	})
}

// append writes a head with the entries that led to it, and tells of them.
func (m *Memory) append(r *record, h lifecycle.Head, entries []lifecycle.Entry) {
	r.head = copyHead(h)
	for _, e := range entries {
		e = copyEntry(e)
		r.entries, r.places = append(r.entries, e), append(r.places, len(m.feed))
		m.feed = append(m.feed, ledger.Change{Position: strconv.Itoa(len(m.feed) + 1), Ref: h.Ref(), Entry: e})
	}
	if w, is := m.watched[h.Ref()]; is && len(entries) > 0 {
		close(w)
		delete(m.watched, h.Ref())
	}
}

// MarkCancel implements ledger.Tasks.
func (m *Memory) MarkCancel(ctx context.Context, ref lifecycle.Ref, mark lifecycle.CancelMark, fence uint64, _ string) error {
	return m.within(ctx, ref, func(r *record) error {
		switch {
		case r.head.Holder == "" || r.head.Fence != fence:
			return r.conflict(r.head.Seq)
		case r.head.Cancel == nil:
			r.head.Cancel = &mark
		}
		return nil
	})
}

// Head implements ledger.Tasks.
func (m *Memory) Head(ctx context.Context, ref lifecycle.Ref) (h lifecycle.Head, err error) {
	err = m.within(ctx, ref, func(r *record) error {
		h = copyHead(r.head)
		return nil
	})
	return h, err
}

// Entries implements ledger.Tasks.
func (m *Memory) Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	r, known := m.tasks[ref]
	if !known || after >= uint64(len(r.entries)) {
		return nil, nil
	}
	rest := r.entries[after:]
	if limit > 0 && limit < len(rest) {
		rest = rest[:limit]
	}
	out := make([]lifecycle.Entry, 0, len(rest))
	for _, e := range rest {
		out = append(out, copyEntry(e))
	}
	return out, nil
}

// Key implements ledger.Tasks.
func (m *Memory) Key(ctx context.Context, key ledger.Key) (ledger.KeyNote, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return ledger.KeyNote{}, err
	}
	defer leave()
	note, known := m.keys[key]
	if !known {
		return note, ledger.ErrNotFound
	}
	return note, nil
}

// Watch implements ledger.Tasks.
func (m *Memory) Watch(ctx context.Context, ref lifecycle.Ref, after uint64) error {
	leave, err := m.enter(ctx)
	if err != nil {
		return err
	}
	if r, known := m.tasks[ref]; known && r.head.Seq > after {
		leave()
		return nil
	}
	w, is := m.watched[ref]
	if !is {
		w = make(chan struct{})
		m.watched[ref] = w
	}
	leave()
	select {
	case <-w:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Changes implements ledger.Feed.
func (m *Memory) Changes(ctx context.Context, after string, limit int) ([]ledger.Change, error) {
	leave, err := m.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	rest, err := pageAfter(m.feed, after, 0)
	var out []ledger.Change
	for _, c := range rest {
		if limit > 0 && len(out) == limit {
			break
		}
		if c.Entry.Seq > 0 { // it was not purged
			c.Entry = copyEntry(c.Entry)
			out = append(out, c)
		}
	}
	return out, err
}

// pageAfter is a page of a feed whose positions count from 1.
func pageAfter(feed []ledger.Change, after string, limit int) ([]ledger.Change, error) {
	if after == "" {
		after = "0"
	}
	n, err := strconv.Atoi(after)
	if err != nil {
		return nil, err
	}
	rest := feed[max(0, min(n, len(feed))):]
	if limit > 0 && limit < len(rest) {
		rest = rest[:limit]
	}
	return rest, nil
}
