package simulation_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// turn is a call that waits until the schedule lets it happen.
type turn struct {
	of    *process // whose call it is; nil: an actor's, or the world's
	who   string   // the process or the actor, and on whose behalf
	what  string
	about string
	port  bool               // it is a call of the ledger or the blob store
	may   []ledgertest.Fault // that can happen to it
	do    func()             // done by the schedule itself when its turn comes

	stack uint64 // who asks: tells apart what says the same
	after time.Time
	grant chan ledgertest.Fault
	gone  bool // nobody waits for it any more
}

// schedule lets one thing happen at a time. A round begins when everything in the
// bubble waits: for a turn, for time, or for somebody else. What has come in the
// meantime is put in an order that does not depend on who was scheduled first, and one
// call is picked. Time passes only when nothing can be picked. All decisions are
// drawn from one source in this one goroutine, so a seed replays.
type schedule struct {
	begun time.Time
	dice  *rand.Rand
	style style
	storm *storm
	// asleep is until when all processes stand still, as on a machine that was suspended.
	asleep time.Time
	// quiet is called before time passes.
	quiet func()

	mu      sync.Mutex
	fresh   []*turn
	arrived chan struct{}

	waiting []*turn
	rank    map[string]int // of style byRank
	rounds  int
	picks   int
	log     hash.Hash // everything that happened, with its instant
	order   hash.Hash // who did what to which task, in this order, and nothing else
	hits    map[string]int
	trace   func(format string, args ...any)
}

// style is how the next call is picked.
type style int

const (
	anyOne  style = iota // any
	byRank               // of whoever is ranked highest, which changes now and then
	inOrder              // the oldest, with exceptions
	styles
)

func newSchedule(dice *rand.Rand, s *storm) *schedule {
	return &schedule{
		begun: time.Now(), dice: dice, style: style(dice.IntN(int(styles))), storm: s,
		arrived: make(chan struct{}, 1), rank: map[string]int{}, hits: map[string]int{},
		log: sha256.New(), order: sha256.New(),
	}
}

// wait is a call's wait for its turn. It comes back with what is to happen to the
// call; at once when the caller gives up or its process dies.
func (s *schedule) wait(ctx context.Context, t *turn) ledgertest.Fault {
	var dead <-chan struct{}
	if t.of != nil {
		if t.of.crash.Crashed() {
			return ledgertest.None
		}
		dead = t.of.crash.Done()
	}
	if ctx.Err() != nil {
		return ledgertest.None
	}
	t.grant = make(chan ledgertest.Fault, 1)
	t.stack = caller()
	s.enter(t)
	select {
	case f := <-t.grant:
		return f
	case <-ctx.Done():
	case <-dead:
	}
	s.mu.Lock()
	t.gone = true
	s.mu.Unlock()
	return ledgertest.None
}

// enter queues a turn.
func (s *schedule) enter(t *turn) {
	s.mu.Lock()
	s.fresh = append(s.fresh, t)
	s.mu.Unlock()
	select {
	case s.arrived <- struct{}{}:
	default:
	}
}

// run gives turns until over says so, or the time has come.
func (s *schedule) run(until time.Time, over func() bool) {
	for {
		synctest.Wait()
		s.rounds++
		s.take()
		if over() {
			return
		}
		if t := s.pick(); t != nil {
			s.give(t)
			continue
		}
		if s.quiet != nil {
			s.quiet()
		}
		if !s.pass(until) {
			return
		}
	}
}

// take puts what has come in order, and says when the turn of each can be: calls take
// time, and those of a process that stalls take longer.
func (s *schedule) take() {
	s.mu.Lock()
	gone := func(t *turn) bool { return t.gone }
	fresh := slices.DeleteFunc(s.fresh, gone)
	s.fresh = nil
	s.waiting = slices.DeleteFunc(s.waiting, gone)
	s.mu.Unlock()
	slices.SortStableFunc(fresh, func(a, b *turn) int {
		return cmp.Or(cmp.Compare(a.who, b.who), cmp.Compare(a.what, b.what), cmp.Compare(a.about, b.about), cmp.Compare(a.stack, b.stack))
	})
	now := time.Now()
	for _, t := range fresh {
		if t.after.IsZero() {
			t.after = now.Add(s.storm.latency(s.dice))
		}
		if t.of != nil && t.of.stalledUntil.After(t.after) {
			t.after = t.of.stalledUntil
		}
		if t.of != nil && s.asleep.After(t.after) {
			t.after = s.asleep
		}
	}
	s.waiting = append(s.waiting, fresh...)
}

// pick chooses among the calls whose time has come.
func (s *schedule) pick() *turn {
	now := time.Now()
	ready := make([]int, 0, len(s.waiting))
	for i, t := range s.waiting {
		if !t.after.After(now) {
			ready = append(ready, i)
		}
	}
	if len(ready) == 0 {
		return nil
	}
	chosen := ready[0]
	switch {
	case s.style == anyOne, s.style == inOrder && s.dice.IntN(8) == 0:
		chosen = ready[s.dice.IntN(len(ready))]
	case s.style == byRank:
		for _, i := range ready {
			if s.ranked(s.waiting[i].who) > s.ranked(s.waiting[chosen].who) {
				chosen = i
			}
		}
		if s.dice.IntN(16) == 0 {
			s.rank[s.waiting[chosen].who] = s.dice.IntN(1 << 20)
		}
	}
	t := s.waiting[chosen]
	s.waiting = slices.Delete(s.waiting, chosen, chosen+1)
	return t
}

func (s *schedule) ranked(who string) int {
	r, known := s.rank[who]
	if !known {
		r = s.dice.IntN(1 << 20)
		s.rank[who] = r
	}
	return r
}

// give lets a call happen, in one way or another.
func (s *schedule) give(t *turn) {
	s.picks++
	b := s.storm.strike(s.dice, t)
	name := b.String()
	if name != "" {
		s.hits[name]++
	}
	fmt.Fprintf(s.log, "%d %s %s %s %s\n", time.Since(s.begun), t.who, t.what, t.about, name)
	fmt.Fprintf(s.order, "%s %s %s\n", role(t.who), t.what, name)
	if s.trace != nil {
		s.trace("%14s  %-24s %-16s %s %s", time.Since(s.begun), t.who, t.what, t.about, name)
	}
	switch {
	case t.do != nil:
		t.do()
	case b.dies:
		t.of.crash.Kill() // which ends its wait, and those of the others
	case b.stalls > 0:
		t.of.stalledUntil = time.Now().Add(b.stalls)
		t.after = t.of.stalledUntil
		s.waiting = append(s.waiting, t)
	default:
		t.grant <- b.fault
	}
}

// role is who, without the number that a life of a process has, and without whom it
// works for.
func role(who string) string {
	name, _, _ := strings.Cut(who, " ")
	return strings.TrimRight(name, ".0123456789")
}

// pass lets time go on to the next thing that happens; false: the time is over.
func (s *schedule) pass(until time.Time) bool {
	next := until
	for _, t := range s.waiting {
		if t.after.Before(next) {
			next = t.after
		}
	}
	timer := time.NewTimer(time.Until(next))
	defer timer.Stop()
	select {
	case <-s.arrived:
	case <-timer.C:
		return next.Before(until)
	}
	return time.Now().Before(until)
}

// digest is of everything that has happened.
func (s *schedule) digest() string { return hex.EncodeToString(s.log.Sum(nil)[:12]) }

// interleaving is of the order alone in which things have happened.
func (s *schedule) interleaving() string { return hex.EncodeToString(s.order.Sum(nil)[:12]) }
