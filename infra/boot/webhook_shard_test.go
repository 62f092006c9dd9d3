package boot

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A hundred tasks have three webhooks each, of which one leads to a receiver that is
// dead and one to a receiver that hangs. The shard finds out once, within the budget of a
// batch. From then on the third one's updates come as if it were alone.
func TestSlowReceiverHoldsUpTheShardOnce(t *testing.T) {
	const tasks, every, pace = 100, 100 * time.Millisecond, 500 * time.Millisecond
	const (
		prompt = 300 * time.Millisecond      // the batch before, and the receiver
		found  = firstBudget + 2*time.Second // until what has gathered meanwhile is done with
	)
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.answer = func(r *http.Request) int {
			switch r.URL.Host {
			case "hangs.example":
				<-r.Context().Done()
			case "dead.example":
				return http.StatusBadGateway
			default:
				pass(20 * time.Millisecond)
			}
			return http.StatusOK
		}
		s.running.Go(func() { // the mapping: one batch after the other
			var pool []json.RawMessage
			for s.ctx.Err() == nil {
				if pool = append(pool, s.taken()...); len(pool) == 0 {
					pass(every)
					continue
				}
				n := min(100, len(pool))
				s.batch(pool[:n]...)
				pool = pool[n:]
			}
		})
		var all sync.WaitGroup
		for i := range tasks {
			all.Go(func() {
				s.life(fmt.Sprint("well-", i), func() { pass(pace) }, "https://hangs.example/", "https://dead.example/")
			})
			pass(every)
		}
		all.Wait()
		pass(time.Minute)
		late := map[bool]int{}
		for i := range tasks {
			name := fmt.Sprint("well-", i)
			// Updates are committed at an even pace from the task's beginning: two or three
			// at a time, in the entries' order.
			began := float64(i) * every.Seconds()
			committed := []int{0, 1, 2, 2, 3, 3, 4, 4, 5}
			tries := s.tries[name+".example"]
			if len(tries) != len(committed) {
				t.Fatalf("%s: %d updates, want %d", name, len(tries), len(committed))
			}
			for n, one := range tries {
				at := began + float64(committed[n])*pace.Seconds()
				behind := one.At - at
				if discovering := at < found.Seconds(); behind > prompt.Seconds() {
					late[discovering]++
					if !discovering || behind > (firstBudget+prompt).Seconds() {
						t.Fatalf("%s: update %d, of %.2f s, came %.2f s late", name, one.Seq, at, behind)
					}
				}
			}
		}
		if late[true] == 0 {
			t.Error("nobody was waited for: what the test is about did not happen")
		}
	})
}
