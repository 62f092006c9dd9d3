package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
)

// crowd lets so many enter a lane, and says how many have.
func crowd(ctx context.Context, l *lanes, lane string, n int) *sync.WaitGroup {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			if l.enter(ctx, lane) == nil {
				<-ctx.Done()
				l.leave(lane)
			}
		})
	}
	synctest.Wait()
	return &all
}

// However many deliveries wait for slow receivers, the next receiver gets a slot at once,
// until there are as many slow ones as slots.
func TestLanesLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(64)
		ctx, stop := context.WithCancel(t.Context())
		var crowds []*sync.WaitGroup
		for i, want := range []int{32, 16, 8, 4, 2, 1, 1} {
			lane := fmt.Sprint("slow", i)
			crowds = append(crowds, crowd(ctx, l, lane, 1000))
			if l.used[lane] != want {
				t.Errorf("%s has %d slots, want %d", lane, l.used[lane], want)
			}
		}
		stop()
		for _, c := range crowds {
			c.Wait()
		}
		if l.free != 64 || len(l.used)+len(l.waiting) != 0 {
			t.Errorf("in the end %d slots are free, used %v, %d wait", l.free, l.used, len(l.waiting))
		}
	})
}

// A slot that is given back goes to who has the fewest, and within a lane to who came first.
func TestLanesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(2)
		var order []string
		var all sync.WaitGroup
		next := make(chan struct{})
		for _, who := range []string{"a1", "a2", "a3", "b1", "c1"} {
			all.Go(func() {
				if err := l.enter(t.Context(), who[:1]); err != nil {
					t.Error(err)
				}
				order = append(order, who)
				<-next
				l.leave(who[:1])
			})
			synctest.Wait()
		}
		for range 5 {
			next <- struct{}{}
			synctest.Wait()
		}
		all.Wait()
		if got := fmt.Sprint(order); got != "[a1 b1 a2 c1 a3]" {
			t.Errorf("they had their turns as %s", got)
		}
	})
}

// Who is told to stop while waiting takes no slot with it.
func TestLanesStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLanes(2)
		if err := l.enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if err := l.enter(ctx, "a"); !errors.Is(err, context.Canceled) {
					t.Errorf("entered: %v", err)
				}
			})
		}
		synctest.Wait()
		stop()
		all.Wait()
		l.leave("a")
		if l.free != 2 || len(l.used)+len(l.waiting) != 0 {
			t.Errorf("in the end %d slots are free, used %v, %d wait", l.free, l.used, len(l.waiting))
		}
	})
}
