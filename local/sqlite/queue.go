package sqlite

import "sync"

// operation is a write that waits for its transaction.
type operation struct {
	// apply writes, or refuses with an error that is not SQLite's. It may run more
	// than once: the transaction that it ran in may be given up.
	apply func(*transaction) error
	// entries says how many entries it adds.
	entries int
	// result is what apply said last, and done is closed when it holds.
	result error
	done   chan struct{}
}

// queue holds what waits for the writer. Each caller waits for its own
// operation, so it is as long as there are callers.
type queue struct {
	mu      sync.Mutex
	waiting []*operation
	closed  bool
	filled  chan struct{} // holds one token when there may be something to take
}

func newQueue() *queue { return &queue{filled: make(chan struct{}, 1)} }

func (q *queue) put(op *operation) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return ErrClosed
	}
	q.waiting = append(q.waiting, op)
	q.signal()
	return nil
}

// take waits for operations and takes up to limit of them, oldest first. It
// gives none when the queue is closed and empty.
func (q *queue) take(limit int) []*operation {
	for {
		q.mu.Lock()
		n := min(limit, len(q.waiting))
		batch := append([]*operation(nil), q.waiting[:n]...)
		rest := copy(q.waiting, q.waiting[n:])
		clear(q.waiting[rest:])
		q.waiting = q.waiting[:rest]
		closed := q.closed
		q.mu.Unlock()
		if n > 0 || closed {
			return batch
		}
		<-q.filled
	}
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.filled <- struct{}{}:
	default:
	}
}
