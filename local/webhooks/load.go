package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// load is how much.
type load struct {
	tasks int
	rate  float64 // submitted in a second
	pairs int
}

// measure submits so many tasks to a product whose tasks have one healthy receiver, and so
// many to one whose tasks have a dead and a slow one beside it. What is measured is the
// time from an entry's commit, as the ledger has it, to its arrival at the healthy one.
//
// The machine is not ours alone. So the two take turns, every half second, and what
// disturbs one disturbs the other; and when the bound does not hold both are measured
// again, at half the rate if the machine could not keep up: then work waits for work,
// whoever's it is. What keeps the healthy one waiting for the others does so at any rate.
func (t *trial) measure(ctx context.Context) ([]outcome, error) {
	var ratios []string
	rate := t.load.rate
	for pair := range t.load.pairs {
		alone, beside, err := t.pair(ctx, pair+1, rate)
		if err != nil {
			return nil, err
		}
		ratio := float64(beside.p99) / float64(alone.p99)
		ratios = append(ratios, fmt.Sprintf("%.2f×", ratio))
		figures := fmt.Sprintf("the healthy one's p99 from commit to arrival is %s alone and %s beside them: %.2f×, of at most %.0f× (p50 %s and %s; %d and %d updates; the dead one was tried %d times, the slow one took %d)",
			span(alone.p99), span(beside.p99), ratio, ratioBound, span(alone.p50), span(beside.p50), alone.updates, beside.updates, beside.refused, beside.slow)
		if ratio <= ratioBound {
			t.note("%d tasks × 3 webhooks, p99 of the healthy one %s beside %s alone, %.2f×", t.load.tasks, span(beside.p99), span(alone.p99), ratio)
			return told("%s; measured so: %v", figures, ratios), nil
		}
		driver.Tell(t.out, "      at %.0f tasks a second %s", rate, figures)
		if max(alone.p50, beside.p50) > keepsUp {
			rate /= 2
		}
	}
	return nil, fmt.Errorf("the healthy receiver's p99 beside a dead and a slow one is %v what it is alone, want at most %.0f×", ratios, ratioBound)
}

// pair measures both once.
func (t *trial) pair(ctx context.Context, n int, rate float64) (alone, beside measured, err error) {
	var sides [2]*side
	for i, name := range []string{"alone", "beside"} {
		sides[i], err = t.openSide(ctx, fmt.Sprintf("%s-%d", name, n), name == "beside")
		defer sides[i].shut()
		if err != nil {
			return alone, beside, err
		}
	}
	const turn = 500 * time.Millisecond
	inTurn := max(1, int(rate*turn.Seconds()))
	err = paced(ctx, 2*t.load.tasks, rate, func(ctx context.Context, i int) error { return sides[i/inTurn%2].submit(ctx, i) })
	if err == nil {
		alone, err = sides[0].measure(ctx)
	}
	if err == nil {
		beside, err = sides[1].measure(ctx)
	}
	return alone, beside, err
}

// side is a product with the receivers of its tasks.
type side struct {
	*product

	others        bool
	healthy, slow *crowd
	dead          string // an address where nobody listens

	mu    sync.Mutex
	tasks []string
}

func (t *trial) openSide(ctx context.Context, name string, others bool) (*side, error) {
	s := &side{others: others}
	var failed [4]error
	s.product, failed[0] = t.openProduct(ctx, name)
	s.healthy, failed[1] = openCrowd(ctx, 0)
	s.slow, failed[2] = openCrowd(ctx, slowReceiver)
	s.dead, failed[3] = freeAddress(ctx)
	return s, errors.Join(failed[:]...)
}

func (s *side) shut() {
	s.product.end()
	for _, c := range []*crowd{s.healthy, s.slow} {
		if c != nil {
			c.shut()
		}
	}
}

// submit makes a task with its webhooks.
func (s *side) submit(ctx context.Context, i int) error {
	id, err := s.product.submit(ctx, fmt.Sprint("load-", i), countTo, s.healthy.url)
	if err == nil && s.others {
		err = errors.Join(s.register(ctx, id, "dead", "http://"+s.dead+"/hook"), s.register(ctx, id, "slow", s.slow.url))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks = append(s.tasks, id)
	return err
}

// measured is what one side came to.
type measured struct {
	p50, p99 time.Duration
	updates  int
	refused  int // attempts at the dead receiver
	slow     int // updates that the slow one has taken
}

// measure waits until the healthy receiver has everything, and looks how late it came.
func (s *side) measure(ctx context.Context) (m measured, err error) {
	err = until(ctx, "the healthy receiver has the ends of all tasks", s.running, func(context.Context) (bool, error) {
		n, err := s.healthy.ends()
		return n == len(s.tasks), errors.Join(err, fmt.Errorf("it has %d", n))
	})
	if err != nil {
		return m, err
	}
	var took []time.Duration
	for _, id := range s.tasks {
		all, err := s.ledger(ctx, id)
		if err != nil {
			return m, err
		}
		got := s.healthy.of(id)
		for _, e := range all.Entries {
			if at, is := got[e.Seq]; is {
				took = append(took, at.Sub(e.AcceptedAt))
			}
		}
		if want := all.visible(); len(got) != len(want) {
			return m, fmt.Errorf("of task %s callers see %v, the healthy receiver has %d updates", id, want, len(got))
		}
	}
	if m.refused, err = s.refused(); err != nil {
		return m, err
	}
	slices.Sort(took)
	m.updates, m.slow = len(took), s.slow.total()
	m.p50, m.p99 = quantile(took, 0.5), quantile(took, 0.99)
	if s.others && (m.slow == 0 || m.refused == 0) {
		return m, fmt.Errorf("the slow receiver has taken %d updates and the dead one was tried %d times: they were not there", m.slow, m.refused)
	}
	return m, nil
}

func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(math.Ceil(q*float64(len(sorted)))))]
}

// paced does something so many times, at a rate, however long each takes.
func paced(ctx context.Context, times int, rate float64, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	tick := time.NewTicker(time.Duration(float64(time.Second) / rate))
	defer tick.Stop()
	var all sync.WaitGroup
	for i := range times {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			if err := do(ctx, i); err != nil {
				stop(err)
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}
