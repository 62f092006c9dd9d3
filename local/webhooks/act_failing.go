package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// countTo is what every task does: it tells five updates in two seconds.
const countTo = "count 2"

// failure is a receiver that fails, and what must come of it.
type failure struct {
	about  string
	script []fate
	// away: nobody listens until the first attempt has failed.
	away    bool
	refused string // what an operator is shown of the first attempt
	gone    bool   // no more is delivered, until an operator has it delivered again
	// least is how long after the first attempt the second one may come.
	least time.Duration
}

// failing are acts of one task each, in real time: the second attempt comes after five
// seconds at most, and the third, a minute later, is not waited for.
func (t *trial) failing(p *product) []act {
	inside := &trap{}
	list := []failure{
		{about: "500, then 200", script: []fate{status(http.StatusInternalServerError)}, refused: "500 status"},
		{about: "a reset connection", script: []fate{reset}, refused: "connection"},
		{about: "nobody listens", away: true, refused: "refused"},
		{about: "it hangs", script: []fate{hang}, refused: "timeout", least: hangsAtLeast},
		{about: "the answer is lost", script: []fate{lost}, refused: "connection"},
		{about: "the second update takes 3 s (one at a time)", script: []fate{status(http.StatusOK), slow(slowUpdate)}},
		{about: "redirected to 127.0.0.1", script: []fate{inside.redirect(http.StatusFound)}, refused: "302 redirect"},
		{about: "redirected to 169.254.169.254", script: []fate{status(http.StatusPermanentRedirect, "Location", "http://169.254.169.254/latest/meta-data/")}, refused: "308 redirect"},
		{about: "429 with Retry-After", script: []fate{status(http.StatusTooManyRequests, "Retry-After", strconv.Itoa(int(retryAfter.Seconds())))}, refused: "429 status", least: retryAfter},
		{about: "410, and delivered again by an operator", script: []fate{status(http.StatusGone)}, refused: "410 status", gone: true},
	}
	var acts []act
	for i, f := range list {
		acts = append(acts, act{f.about, func(ctx context.Context) ([]outcome, error) {
			if err := inside.open(ctx); err != nil {
				return nil, err
			}
			o, err := t.fail(ctx, p, fmt.Sprint("failing-", i), f)
			if n := inside.sprung(); n > 0 {
				err = errors.Join(err, fmt.Errorf("redirects were followed %d times", n))
			}
			return o, err
		}})
	}
	return acts
}

// fail plays one failure.
func (t *trial) fail(ctx context.Context, p *product, name string, f failure) ([]outcome, error) {
	h, err := openHook(ctx, p.keys, f.script...)
	if err != nil {
		return nil, err
	}
	defer h.shut()
	if f.away {
		h.shut()
	}
	began := time.Now()
	task, err := p.submit(ctx, name, countTo, h.url)
	if err != nil {
		return nil, err
	}
	args := []string{"--server", p.url(), task}
	if f.refused != "" {
		if err := t.shown(ctx, p, h, f, args...); err != nil {
			return nil, err
		}
	}
	if f.away {
		if err := h.reopen(ctx); err != nil {
			return nil, err
		}
	}
	if f.gone {
		if err := t.gone(ctx, p, h, task, args...); err != nil {
			return nil, err
		}
	}
	var all page
	err = until(ctx, "the task and its webhook have ended", p.running, func(ctx context.Context) (bool, error) {
		all, err = p.ledger(ctx, task)
		return err == nil && all.Head.State == stateCompleted && h.ended(), err
	})
	if err != nil {
		return nil, fmt.Errorf("%w; %s", err, timeline(h.seen(), began))
	}
	tries := h.seen()
	o, err := inOrder(tries, all.visible(), true)
	if err = errors.Join(err, h.sound()); err != nil {
		return nil, err
	}
	if len(tries) > 1 && tries[1].at.Sub(tries[0].at) < f.least {
		return nil, fmt.Errorf("the second attempt came %s after the first", span(tries[1].at.Sub(tries[0].at)))
	}
	shown, err := t.rested(ctx, p, fmt.Sprintf("active, has %d of %d", all.Head.Seq, all.Head.Seq), args...)
	t.count(o)
	return told("%s; %s; shown: %s", o, timeline(tries, began), shown), err
}

// gone waits until the task has ended and nothing was delivered, and has it delivered
// again.
func (t *trial) gone(ctx context.Context, p *product, h *hook, task string, args ...string) error {
	err := until(ctx, "the task has ended", p.running, func(ctx context.Context) (bool, error) {
		all, err := p.ledger(ctx, task)
		return err == nil && all.Head.State == stateCompleted, err
	})
	if err != nil {
		return err
	}
	if _, err := t.rested(ctx, p, "disabled, has 0 of ", args...); err != nil {
		return err
	}
	if n := len(h.seen()); n != 1 {
		return fmt.Errorf("one that said that it is gone was tried %d times", n)
	}
	return p.redeliver(ctx, task)
}

// rested waits until an operator is shown that there is nothing to do.
func (t *trial) rested(ctx context.Context, p *product, want string, args ...string) (shown string, err error) {
	err = until(ctx, "an operator is shown "+want, p.running, func(ctx context.Context) (bool, error) {
		shown, err = show(ctx, p.binary, args...)
		return strings.HasPrefix(shown, want), errors.Join(err, errors.New(shown))
	})
	return shown, err
}

// shown waits until an operator is shown that the first attempt has failed, and why.
func (t *trial) shown(ctx context.Context, p *product, h *hook, f failure, args ...string) error {
	err := until(ctx, "the first attempt has failed", p.running, func(context.Context) (bool, error) {
		tries := h.seen()
		return f.away || len(tries) > 0 && tries[0].answer != "", nil
	})
	if err != nil {
		return err
	}
	return until(ctx, "an operator is shown "+f.refused, p.running, func(ctx context.Context) (bool, error) {
		text, err := showAll(ctx, p.binary, args...)
		return strings.Contains(text, f.refused), errors.Join(err, errors.New(text))
	})
}
