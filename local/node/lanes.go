package node

import (
	"context"
	"slices"
	"sync"
)

// lanes share a number of slots out among receivers, so that those who are slow do not
// keep the others waiting. A receiver may have as many as it leaves free: one alone has
// half of them, two have a third each, and there is always room for the next one.
type lanes struct {
	mu      sync.Mutex
	free    int
	used    map[string]int
	tickets uint64
	waiting map[string][]turn // by receiver, first come first
}

// turn is somebody who waits for a slot.
type turn struct {
	ticket uint64
	ready  chan struct{}
}

func newLanes(slots int) *lanes {
	return &lanes{free: slots, used: map[string]int{}, waiting: map[string][]turn{}}
}

// enter waits for a slot. An error is the context's, and then there is none.
func (l *lanes) enter(ctx context.Context, lane string) error {
	l.mu.Lock()
	l.tickets++
	own := turn{l.tickets, make(chan struct{})}
	l.waiting[lane] = append(l.waiting[lane], own)
	l.admit()
	l.mu.Unlock()
	select {
	case <-own.ready:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-own.ready: // admitted at this moment
		l.release(lane)
	default:
		l.forget(lane, own)
	}
	return ctx.Err()
}

// leave gives a slot back.
func (l *lanes) leave(lane string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.release(lane)
}

func (l *lanes) release(lane string) {
	l.free++
	if l.used[lane]--; l.used[lane] == 0 {
		delete(l.used, lane)
	}
	l.admit()
}

// admit gives out slots, first to who has the fewest, of several to who came first.
func (l *lanes) admit() {
	for {
		next, found := "", false
		for lane, queue := range l.waiting {
			used, most := l.used[lane], l.used[next]
			if used < l.free && (!found || used < most || used == most && queue[0].ticket < l.waiting[next][0].ticket) {
				next, found = lane, true
			}
		}
		if !found {
			return
		}
		one := l.waiting[next][0]
		l.forget(next, one)
		l.used[next]++
		l.free--
		close(one.ready)
	}
}

func (l *lanes) forget(lane string, one turn) {
	l.waiting[lane] = slices.DeleteFunc(l.waiting[lane], func(t turn) bool { return t.ticket == one.ticket })
	if len(l.waiting[lane]) == 0 {
		delete(l.waiting, lane)
	}
}
