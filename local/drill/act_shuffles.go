package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"time"
)

// playShuffles tells the story of T-42 two hundred times, each time with its events,
// receipts and messages in another order, with duplicates, and with answers that get
// lost: the sender repeats what was not answered, and what was refused as too early.
func (d *drill) playShuffles(ctx context.Context) (string, error) {
	if d.t42s.Manifest == "" {
		return "", errors.New("there is no T-42 to compare with")
	}
	seed := rand.Uint64()
	var sent, lost, early atomic.Int64
	err := inLanes(ctx, shuffles, func(ctx context.Context, i int) error {
		s := &sender{
			trace: d.newTrace(fmt.Sprintf("T-42 shuffled %d", i)), rand: rand.New(rand.NewPCG(seed, uint64(i))), stamps: map[string]uint64{},
		}
		err := s.deliver(ctx)
		sent.Add(int64(s.sent))
		lost.Add(int64(s.lost))
		early.Add(int64(s.early))
		if err != nil {
			return fmt.Errorf("order %d of seed %d: %w", i, seed, err)
		}
		p, all, err := pictureOf(ctx, s.door, s.task)
		if err != nil {
			return err
		}
		if diff := d.t42s.differs(p); diff != "" {
			return fmt.Errorf("order %d of seed %d differs from act 1: %s", i, seed, diff)
		}
		if c := all.Head.Counts; c.Incidents != 0 || c.Quarantined != 0 {
			return fmt.Errorf("order %d of seed %d counts %+v", i, seed, c)
		}
		d.rest(s.door, s.task, all.Head)
		return nil
	})
	if err != nil {
		return "", err
	}
	d.note("%d orders of it with one head", shuffles)
	return fmt.Sprintf("one head, one manifest, equal digests of %d entries (chains differ: they name the task); %d deliveries, %d refused as too early, %d answers lost",
		len(d.t42s.Entries), sent.Load(), early.Load(), lost.Load()), nil
}

// sender delivers the story at least once each, in no order.
type sender struct {
	trace

	rand              *rand.Rand
	stamps            map[string]uint64 // the fence under which an event is sent, byte for byte the same each time
	sent, lost, early int
}

// letter is something to be delivered: an event, or what is not the worker's.
type letter struct {
	event *event
	other func(*trace, context.Context) (answer, error)
}

// deliver sends all letters until each copy of each was taken.
func (s *sender) deliver(ctx context.Context) error {
	if err := s.submission(ctx); err != nil {
		return err
	}
	var bag []letter
	for _, one := range []letter{
		{event: &e1}, {event: &e2}, {event: &e3}, {event: &e4}, {event: &e5}, {event: &c1}, {event: &c2}, {event: &c3}, {event: &e6}, {event: &e7},
		{other: (*trace).authorization}, {other: (*trace).replied}, {other: func(t *trace, ctx context.Context) (answer, error) { return t.submit(ctx, t.message, firstText) }},
	} {
		for range 1 + s.rand.IntN(3) {
			bag = append(bag, one)
		}
	}
	for round := 0; len(bag) > 0; round++ {
		if round > maxRounds {
			return s.stuck(ctx, len(bag))
		}
		s.rand.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		var left []letter
		for _, one := range bag {
			done, err := s.post(ctx, one)
			if err != nil {
				return err
			}
			if !done {
				left = append(left, one)
			}
		}
		bag = left
	}
	return nil
}

// stuck says how far a story has come that does not go on.
func (s *sender) stuck(ctx context.Context, left int) error {
	all, err := s.ledger(ctx, s.task, 0)
	if err != nil {
		return err
	}
	var told []string
	for _, e := range all.Entries {
		told = append(told, e.Type+" "+e.EventID)
	}
	return fmt.Errorf("%d letters were not taken in %d rounds; task %s is %s after %q: a letter that was answered with 200 has had no effect, or one is refused for good",
		left, maxRounds, s.task, all.Head.State, told)
}

// post sends a letter once. One in eight senders does not wait for the answer.
func (s *sender) post(ctx context.Context, one letter) (done bool, err error) {
	s.sent++
	impatient := s.rand.IntN(8) == 0
	if impatient {
		limited, stop := context.WithTimeout(ctx, time.Duration(s.rand.IntN(4000))*time.Microsecond)
		defer stop()
		done, err = s.attempt(limited, one)
		if err != nil && limited.Err() != nil && ctx.Err() == nil {
			s.lost++
			return false, nil
		}
		return done, err
	}
	return s.attempt(ctx, one)
}

func (s *sender) attempt(ctx context.Context, one letter) (bool, error) {
	if one.event != nil {
		return s.postEvent(ctx, *one.event)
	}
	a, err := one.other(&s.trace, ctx)
	switch {
	case err != nil:
		return false, err
	case a.Status == http.StatusOK:
		return true, nil
	case a.Status == http.StatusConflict || a.Reason() == unsupportedNow || a.Reason() == invalidParams:
		s.early++
		return false, nil
	}
	return false, errors.New(a.String())
}

// postEvent sends an event under the fence under which it was sent before, unless that
// is lost: then it needs another name under the next one. Only under the fence that it
// has in the story it goes by the name that it has there.
func (s *sender) postEvent(ctx context.Context, e event) (bool, error) {
	if s.fence == 0 {
		return false, s.tryClaim(ctx)
	}
	stamp, known := s.stamps[e.id]
	if !known {
		stamp = s.fence
		s.stamps[e.id] = stamp
	}
	named := event{e.id, e.seq, stamp, e.payload}
	if stamp != e.fence {
		named.id = fmt.Sprintf("%s under %d", e.id, stamp)
	}
	a, err := s.send(ctx, named)
	if err != nil {
		return false, err
	}
	switch a.Reason() {
	case "":
		if e.id == e7.id {
			return false, errors.New("E7 was accepted")
		}
		return true, nil
	case sequenceGap:
		s.early++
		return false, nil
	case fenceLost:
		s.early++
		if stamp == s.fence {
			if err := s.tryClaim(ctx); err != nil {
				return false, err
			}
		}
		s.stamps[e.id] = s.fence
		return false, nil
	case postTerminal:
		if e.id == e7.id {
			return true, nil
		}
	}
	return false, fmt.Errorf("event %s: %s", named.id, a)
}

// tryClaim claims the task, which may wait for something that is still in the bag, or
// have ended.
func (s *sender) tryClaim(ctx context.Context) error {
	a, err := s.send(ctx, s.claiming())
	if err != nil {
		return err
	}
	if r := a.Reason(); r == illegalMove || r == postTerminal {
		return nil
	}
	var got taken
	if err := a.Decode(&got); err != nil {
		return err
	}
	s.fence = got.Fence
	return nil
}
