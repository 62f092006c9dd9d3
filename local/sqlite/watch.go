package sqlite

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// watchers wakes those who wait for a task's next entry. A task that nobody
// watches costs a look into a map.
type watchers struct {
	mu     sync.Mutex
	byTask map[lifecycle.Ref]*watch
	closed chan struct{}
}

// watch is one wait, shared by all who wait for the same task.
type watch struct {
	woken   chan struct{}
	waiting int
}

func newWatchers() *watchers {
	return &watchers{byTask: map[lifecycle.Ref]*watch{}, closed: make(chan struct{})}
}

func (w *watchers) join(ref lifecycle.Ref) *watch {
	w.mu.Lock()
	defer w.mu.Unlock()
	one := w.byTask[ref]
	if one == nil {
		one = &watch{woken: make(chan struct{})}
		w.byTask[ref] = one
	}
	one.waiting++
	return one
}

func (w *watchers) leave(ref lifecycle.Ref, one *watch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.waiting--; one.waiting == 0 && w.byTask[ref] == one {
		delete(w.byTask, ref)
	}
}

// wake is called after the commit.
func (w *watchers) wake(refs []lifecycle.Ref) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ref := range refs {
		if one := w.byTask[ref]; one != nil {
			delete(w.byTask, ref)
			close(one.woken)
		}
	}
}

func (w *watchers) len() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byTask)
}

// Watch implements ledger.Tasks. A task that does not exist yet is waited for.
// Closing the ledger ends the wait with ErrClosed.
func (l *Ledger) Watch(ctx context.Context, ref lifecycle.Ref, after uint64) error {
	// First join, then look: what is committed in between wakes us.
	one := l.watchers.join(ref)
	defer l.watchers.leave(ref, one)
	h, err := l.Head(ctx, ref)
	if err != nil && !errors.Is(err, ledger.ErrNotFound) {
		return err
	}
	if h.Seq > after {
		return nil
	}
	select {
	case <-one.woken:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.watchers.closed:
		return ErrClosed
	}
}
