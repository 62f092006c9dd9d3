package ledger

import "sync"

// Place is where a run over an index had to stop that has looked at as much as it may, nil
// at the end. The next one goes on there, so that no number of tasks it must skip keeps it
// from the others.
type Place[C any] struct {
	mu   sync.Mutex
	next *C
}

// Take takes the place. A run that fails leaves none: the next one begins anew.
func (p *Place[C]) Take() *C {
	p.mu.Lock()
	defer p.mu.Unlock()
	after := p.next
	p.next = nil
	return after
}

// Leave leaves a place to the next run.
func (p *Place[C]) Leave(after *C) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next = after
}
