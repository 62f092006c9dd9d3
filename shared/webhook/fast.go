package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Fast makes first attempts, for as long as there is time, side by side. What it does not
// bring about it leaves to executions: who is slow or fails, and whoever comes when the
// time is over.
type Fast struct {
	Sender *Sender
	// Budget is for all of one call together: who hangs holds up nobody for longer.
	Budget time.Duration
	// Beside is how many endpoints are delivered to at a time.
	Beside int
}

// Tell tells the endpoints of tasks of their entries and makes first attempts. It returns
// the changes whose endpoints could not all be told: they are to come again. A delivery
// that fails is none of them.
func (f *Fast) Tell(ctx context.Context, changes []ledger.Change) (again []ledger.Change) {
	var (
		mu    sync.Mutex
		all   sync.WaitGroup
		looks = make(chan struct{}, max(1, f.Beside))
		slots = make(chan struct{}, max(1, f.Beside))
		until = f.Sender.Now().Add(f.Budget)
	)
	for _, c := range changes {
		all.Go(func() {
			looks <- struct{}{}
			now, later, err := f.Sender.Hint(ctx, c)
			<-looks
			if err != nil {
				f.Sender.Logger.Warn("endpoints were not told", "tenant", c.Ref.Tenant, "task", c.Ref.Task, "seq", c.Entry.Seq, "error", err)
				mu.Lock()
				again = append(again, c)
				mu.Unlock()
			}
			for _, at := range now {
				all.Go(func() {
					slots <- struct{}{} // those who hang have them for no longer than the budget
					f.first(ctx, at, c.Entry.Seq, until)
					<-slots
				})
			}
			for _, at := range later {
				all.Go(func() { f.hand(ctx, at) })
			}
		})
	}
	all.Wait()
	return again
}

// first makes the first attempt. What goes wrong is on the endpoint, and the sweep's.
func (f *Fast) first(ctx context.Context, at ledger.DueDelivery, seq uint64, until time.Time) {
	for range maxRounds {
		left := until.Sub(f.Sender.Now())
		if left < minBudget {
			f.hand(ctx, at)
			return
		}
		result, err := f.Sender.Send(ctx, at, left)
		if err == nil {
			err = f.Sender.start(ctx, result.Execution)
		}
		if err != nil {
			f.complain(ctx, at, err)
			return
		}
		if !result.Held {
			return
		}
		// Whoever is at work may have looked for updates before this one was there.
		if still, err := f.Sender.remind(ctx, at, seq); still || err != nil {
			f.complain(ctx, at, err)
			return
		}
	}
}

func (f *Fast) hand(ctx context.Context, at ledger.DueDelivery) {
	f.complain(ctx, at, f.Sender.Hand(ctx, at))
}

func (f *Fast) complain(ctx context.Context, at ledger.DueDelivery, err error) {
	if err != nil && ctx.Err() == nil {
		f.Sender.Logger.Warn("a delivery was broken off; the sweep goes on with it", "tenant", at.Ref.Tenant, "task", at.Ref.Task, "endpoint", at.ID, "error", err)
	}
}
