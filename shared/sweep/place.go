package sweep

import "sync"

// place is where a run had to stop that has looked at as much as it may, nil at the end.
// The next one goes on there, so that no number of tasks it must skip keeps it from the
// others.
type place[C any] struct {
	mu   sync.Mutex
	next *C
}

// take takes the place. A run that fails leaves none: the next one begins anew.
func (p *place[C]) take() *C {
	p.mu.Lock()
	defer p.mu.Unlock()
	after := p.next
	p.next = nil
	return after
}

func (p *place[C]) leave(after *C) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = after
}
