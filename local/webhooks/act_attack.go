package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// attack is a message that must be refused, and how.
type attack struct {
	about, status string
	spoil         func(s *sender, m message) message
}

// set changes a header.
func set(name string, value func(old string) string) func(*sender, message) message {
	return func(_ *sender, m message) message {
		m.header.Set(name, value(m.header.Get(name)))
		return m
	}
}

func to(text string) func(string) string { return func(string) string { return text } }

// signedAt signs it at another time.
func signedAt(off time.Duration) func(*sender, message) message {
	return func(s *sender, m message) message {
		return s.signed(m.header.Get("Webhook-Id"), 7, m.body, time.Now().Add(off))
	}
}

var attacks = []attack{
	{"forged with a key of one's own", "401", func(s *sender, _ message) message { return s.update("T", 7, s.private[2]) }},
	{"another body", "401", func(_ *sender, m message) message { m.body[30] ^= 1; return m }},
	{"half a body", "401", func(_ *sender, m message) message { m.body = m.body[:len(m.body)/2]; return m }},
	{"a body cut off on the wire", "400", func(_ *sender, m message) message { m.cut = 1; return m }},
	{"another webhook-id", "401", set("Webhook-Id", to("msg_other"))},
	{"a webhook-id with a dot", "401", func(s *sender, m message) message { return s.signed("msg.7", 7, m.body, time.Now()) }},
	{"two webhook-ids", "401", func(_ *sender, m message) message { m.header.Add("Webhook-Id", "msg_other"); return m }},
	{"another timestamp", "401", set("Webhook-Timestamp", to("1772442000"))},
	{"no timestamp", "401", set("Webhook-Timestamp", to("now"))},
	{"replayed after six minutes", "401", signedAt(-6 * time.Minute)},
	{"signed six minutes ahead", "401", signedAt(6 * time.Minute)},
	{"no signature", "401", func(_ *sender, m message) message { m.header.Del("Webhook-Signature"); return m }},
	{"a signature of the symmetric kind", "401", set("Webhook-Signature", func(old string) string { return "v1" + strings.TrimPrefix(old, "v1a") })},
	{"half a signature", "401", set("Webhook-Signature", func(old string) string { return old[:len(old)/2] })},
	{"too many signatures", "401", set("Webhook-Signature", func(old string) string {
		return strings.Repeat("v1a,"+base64.StdEncoding.EncodeToString(make([]byte, 64))+" ", 8) + old
	})},
	{"signed, for somebody else", "401", set("A2A-Notification-Token", to("another"))},
	{"signed, for nobody", "401", func(_ *sender, m message) message { m.header.Del("A2A-Notification-Token"); return m }},
	{"another sequence beside what is signed", "400", set("Holdfast-Sequence", to("99"))},
	{"signed, and no JSON", "400", func(s *sender, _ message) message { return s.signed("msg_a", 7, []byte("hello"), time.Now()) }},
	{"signed, and no update", "400", func(s *sender, _ message) message { return s.signed("msg_a", 7, []byte("{}"), time.Now()) }},
	{"signed, and no sequence", "400", func(s *sender, _ message) message {
		return s.signed("msg_a", 0, []byte(`{"statusUpdate":{"taskId":"T"}}`), time.Now())
	}},
	{"more than an update", "413", func(_ *sender, m message) message { m.body = make([]byte, 1<<20+1); m.cut = len(m.body); return m }},
	{"a GET", "405", func(_ *sender, m message) message { m.method = "GET"; m.body = nil; return m }},
}

// consumers are the acts of the receivers that are there to be copied: attacked by a
// sender of the driver's own, and fed by the product.
func (t *trial) consumers(p *product) []act {
	var acts []act
	for _, language := range []string{"Go", "Python"} {
		acts = append(acts,
			act{"the receiver in " + language + " is attacked", func(ctx context.Context) ([]outcome, error) {
				s, err := openSender(ctx)
				if err != nil {
					return nil, err
				}
				defer func() { _ = s.server.Close() }()
				c, err := t.receiver(ctx, language, "attacked", s.url)
				if err != nil {
					return nil, err
				}
				defer func() { _ = driver.End(c.running) }()
				return c.attacked(ctx, s)
			}},
			act{"the receiver in " + language + " is fed by the product, and killed", func(ctx context.Context) ([]outcome, error) {
				c, err := t.receiver(ctx, language, "fed", p.url())
				if err != nil {
					return nil, err
				}
				defer func() { _ = driver.End(c.running) }()
				return c.fed(ctx, p)
			}})
	}
	return acts
}

// attacked plays all attacks on one receiver.
func (c *consumer) attacked(ctx context.Context, s *sender) ([]outcome, error) {
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	var failed []error
	for _, a := range attacks {
		failed = append(failed, c.want(ctx, a.about, a.spoil(s, s.update("T", 7)), a.status))
	}
	failed = append(failed, c.wantStored(ctx))
	for _, part := range []func(context.Context, *sender) error{c.ordered, c.rotated, c.keysAway, c.killed} {
		failed = append(failed, part(ctx, s))
	}
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	return told("%d kinds of requests refused, none stored; repeats, late ones and %d kills, half of them between commit and answer: each update stored once, in order; a key replaced, and keys that cannot be had",
		len(attacks), 2*killRounds), nil
}

// ordered sends repeats and late ones: they are acknowledged, and not applied.
func (c *consumer) ordered(ctx context.Context, s *sender) error {
	var failed []error
	for _, seq := range []uint64{1, 1, 2, 5, 2, 1, 5, 4, 6} {
		failed = append(failed, c.want(ctx, fmt.Sprint("update ", seq), s.update("A", seq), "204"))
	}
	again := s.update("A", 6)
	again = s.signed("msg_of-another-endpoint", 6, again.body, time.Now())
	failed = append(failed, c.want(ctx, "under another id", again, "204"), c.want(ctx, "another task", s.update("B", 2), "204"))
	failed = append(failed, c.wantStored(ctx, "A:1", "A:2", "A:5", "A:6", "B:2"), c.restart(ctx))
	failed = append(failed, c.want(ctx, "again after a restart", s.update("A", 6), "204"), c.want(ctx, "late after a restart", s.update("B", 1), "204"))
	return errors.Join(append(failed, c.wantStored(ctx, "A:1", "A:2", "A:5", "A:6", "B:2"))...)
}

// rotated replaces the key in three steps. A signature that fits none makes it look for
// keys once, and not for each.
func (c *consumer) rotated(ctx context.Context, s *sender) error {
	if err := c.restart(ctx); err != nil {
		return err
	}
	before := s.fetched()
	old, next, foreign := s.private[0], s.private[1], s.private[2]
	failed := []error{c.want(ctx, "the old key", s.update("K", 1, old), "204")}
	s.publish(false, old, next)
	failed = append(failed, c.want(ctx, "both keys", s.update("K", 2, next, old), "204"))
	s.publish(false, next)
	// It has just looked, and looks again some seconds later at most.
	failed = append(failed, until(ctx, "the next key is known", c.running, func(ctx context.Context) (bool, error) {
		status, err := s.update("K", 3, next).send(ctx, c.address)
		return status == "204", err
	}))
	failed = append(failed, c.want(ctx, "the old key, withdrawn", s.update("K", 4, old), "401"))
	fetched := s.fetched() - before
	for range forgedRequests {
		failed = append(failed, c.want(ctx, "forged", s.update("K", 5, foreign), "401"))
	}
	if n := s.fetched() - before; fetched != 2 || n > 3 {
		failed = append(failed, fmt.Errorf("the keys were fetched %d times for one that was replaced, and %d times with what was forged", fetched, n))
	}
	s.publish(false, old)
	return errors.Join(append(failed, c.wantStored(ctx, "A:1", "A:2", "A:5", "A:6", "B:2", "K:1", "K:2", "K:3"))...)
}

// keysAway asks it while it cannot know: nothing is believed, and nothing refused for good.
func (c *consumer) keysAway(ctx context.Context, s *sender) error {
	s.publish(true, s.private[0])
	defer s.publish(false, s.private[0])
	if err := c.restart(ctx); err != nil {
		return err
	}
	err := c.want(ctx, "without keys", s.update("W", 1), "503")
	s.publish(false, s.private[0])
	return errors.Join(err, until(ctx, "the keys are known", c.running, func(ctx context.Context) (bool, error) {
		status, err := s.update("W", 1).send(ctx, c.address)
		return status == "204", err
	}))
}

// killed kills it when it has stored an update, which it says before it answers, and
// leaves the answer unread; and once more somewhere within a row of updates. What is sent
// again is acknowledged, what was acknowledged is stored, and nothing is stored twice.
func (c *consumer) killed(ctx context.Context, s *sender) error {
	var want []string
	for seq := range uint64(killRounds) {
		m := s.update("X", seq+1)
		said, err := c.said()
		if err != nil {
			return err
		}
		conn, err := m.begin(ctx, c.address)
		if err != nil {
			return err
		}
		err = errors.Join(c.saysMore(ctx, len(said)), c.restart(ctx), conn.Close(), c.want(ctx, "again after the kill", s.update("X", seq+1), "204"))
		if err != nil {
			return err
		}
		want = append(want, fmt.Sprintf("X:%d", seq+1))
	}
	for round := range killRounds {
		done := make(chan struct{})
		reached := make(chan struct{})
		first := uint64(1 + 10*round)
		go func() {
			defer close(done)
			for seq := first; seq < first+10; seq++ {
				status, _ := s.update("Y", seq).send(ctx, c.address) // there is no answer when it dies
				if status != "204" {
					return
				}
				if seq == first+uint64(round) {
					close(reached)
				}
			}
		}()
		select {
		case <-reached:
		case <-done:
			return errors.New("updates in a row were not taken")
		}
		if err := c.restart(ctx); err != nil {
			return err
		}
		<-done
		for seq := first; seq < first+10; seq++ {
			if err := c.want(ctx, "again after the kill", s.update("Y", seq), "204"); err != nil {
				return err
			}
			want = append(want, fmt.Sprintf("Y:%d", seq))
		}
	}
	got, err := c.stored(ctx)
	if err != nil {
		return err
	}
	const before = 9 // what was stored by then
	if len(got) < before || fmt.Sprint(got[before:]) != fmt.Sprint(want) {
		return fmt.Errorf("after the kills %v is stored, want %v at its end", got, want)
	}
	return nil
}
