package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Follow shows every update behind a sequence, 0 for all from the beginning, each
// once and in order, until the task has ended: then it returns nil. It returns the
// error of see, of the context, of a server that refuses (*Refusal), or of one that
// stayed away for longer than the client's patience.
func (c Client) Follow(ctx context.Context, task a2a.TaskID, after uint64, see func(Update) error) error {
	f := &follower{Client: c.complete(), id: task, last: after, see: see}
	f.heardAt = f.Now()
	for {
		err := f.connection(ctx)
		switch {
		case f.ended:
			return nil
		case f.refused != nil:
			return f.refused
		case ctx.Err() != nil:
			return ctx.Err()
		case final(err):
			return err
		}
		if err := f.rest(ctx, err); err != nil {
			return err
		}
	}
}

// follower is one call of Follow.
type follower struct {
	Client
	id   a2a.TaskID
	see  func(Update) error
	last uint64 // the last sequence shown

	ended   bool          // the last update was shown
	refused error         // what see returned
	state   a2a.TaskState // as last heard on this connection
	heard   bool          // the server told something on this connection
	moved   bool          // this connection showed something new
	heardAt time.Time     // when the server was last heard
	rests   int           // in a row without anything new
}

var (
	errSilent = errors.New("the stream fell silent")
	errCut    = errors.New("the stream was cut")
)

// connection shows what one connection brings and returns why it is over.
func (f *follower) connection(ctx context.Context) error {
	f.state, f.heard, f.moved = "", false, false
	silent, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(f.Silence, func() { cancel(errSilent) })
	defer timer.Stop()

	resp, err := f.subscribe(silent, f.id, f.last)
	if r, ok := errors.AsType[*Refusal](err); ok && r.Reason == "UNSUPPORTED_OPERATION" {
		return f.readEnd(ctx, err)
	}
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	frames := newFrames(awake{resp.Body, func() { timer.Reset(f.Silence) }}, maxFrameBytes)
	for {
		one, err := frames.next()
		switch {
		case errors.Is(err, io.EOF) && f.state.Terminal() && !f.moved: // nothing is missing
			return f.readEnd(ctx, errCut)
		case errors.Is(err, io.EOF):
			return errCut
		case err != nil && silent.Err() != nil:
			return context.Cause(silent)
		case err != nil:
			return fmt.Errorf("%w: %w", errCut, err)
		}
		if err := f.frame(one); err != nil || f.ended || f.refused != nil {
			return err
		}
	}
}

// frame notes a snapshot and shows an update that is new.
func (f *follower) frame(one frame) error {
	u, numbered, err := parseUpdate(one)
	if err != nil {
		return fmt.Errorf("%w: %w", errForeign, err)
	}
	f.heard = true
	if state := u.State(); state != "" && !u.Replay {
		f.state = state
	}
	if numbered && u.Seq > f.last {
		f.show(u)
	}
	return nil
}

func (f *follower) show(u Update) {
	if f.refused = f.see(u); f.refused != nil {
		return
	}
	f.last, f.moved, f.ended = u.Seq, true, u.Last()
}

// readEnd shows a task that cannot be subscribed to because it has ended. For one
// that has not, the refusal stands.
func (f *follower) readEnd(ctx context.Context, refusal error) error {
	_, u, err := f.task(ctx, f.id)
	if err != nil {
		return err
	}
	if !u.Last() {
		return refusal
	}
	f.show(u)
	return nil
}

// rest waits before the next connection: not at all after one that showed something
// new, unless the task waits for somebody.
func (f *follower) rest(ctx context.Context, why error) error {
	if f.heard {
		f.heardAt = f.Now()
	}
	paused := f.state == a2a.TaskStateInputRequired
	if f.moved {
		f.rests = 0
		if !paused {
			return nil
		}
	}
	if f.Now().Sub(f.heardAt) >= f.Patience {
		return fmt.Errorf("no answer for %s: %w", f.Patience, why)
	}
	delay := backoff(f.rests, f.Rand())
	f.rests++
	if !paused {
		f.Retrying(why, delay)
	}
	return f.Sleep(ctx, delay)
}

// backoff doubles from firstDelay to maxDelay; jitter takes up to half of it away.
func backoff(rests int, jitter float64) time.Duration {
	delay := min(firstDelay<<min(rests, 10), maxDelay)
	return delay - time.Duration(jitter*float64(delay/2))
}

// awake calls read whenever bytes have come, comments among them.
type awake struct {
	io.Reader
	read func()
}

func (a awake) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	a.read()
	return n, err
}
