package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/seal"
)

// Update is what an entry gives a caller to see.
type Update struct {
	Seq  uint64
	Body []byte // one StreamResponse; nil: callers do not see this entry
	// Final says that the task has ended with this entry.
	Final bool
}

// Source reads the updates of a task after a sequence, for an endpoint, one for each
// committed entry, in order, strongly consistent. Fewer than limit: there were no more.
// ledger.ErrNotFound: the task has expired.
type Source func(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, after uint64, limit int) ([]Update, error)

// Sender delivers. Several of them, in any number of processes, may be at it at once.
type Sender struct {
	Endpoints ledger.Endpoints
	Updates   Source
	// Client is a Guard's.
	Client *http.Client
	Sealer seal.Sealer
	Signer Signer
	// Receivers remember who is slow; nil: nobody.
	Receivers *Receivers
	Now       func() time.Time
	// Dice is from [0,1), for the ladder's jitter.
	Dice func() float64
	// NewID names a holder; no two are alike.
	NewID func() string
	// Grace is how long the sweep leaves to those who were told when to go on.
	Grace time.Duration
	// Executions go on with what is not delivered at once. nil: whoever called does.
	Executions Executions
	// Watch is told of what operators must know; nil: nobody is.
	Watch  Watch
	Logger *slog.Logger
}

// Watch is told of what operators must know.
type Watch interface {
	// NotDelivered: an endpoint has not taken an update, or we could not bring it; it is
	// tried again.
	NotDelivered(ctx context.Context, at ledger.DueDelivery)
	// GivenUp: an endpoint has not taken an update, and it was the last attempt.
	GivenUp(ctx context.Context, at ledger.DueDelivery, seq uint64)
}

// Word says how a delivery goes on.
type Word string

// Words.
const (
	Done Word = "done" // nothing to do until somebody wants more
	Wait Word = "wait" // go on after so many seconds
)

// Result is what became of a call of Send.
type Result struct {
	Word    Word
	Seconds int64 // of Wait, at least 1
	// Held: somebody else is at work, and will say how it goes on. Seconds is until it
	// would have to be dead.
	Held  bool
	State ledger.DeliveryState
	// Execution is what goes on, when Word is Wait and nobody else will say how: it has
	// not been told yet. Zero in a call by an execution, which goes on itself.
	Execution Execution
	Sent      int // updates that were taken
	// Failed: the last attempt was. Recovered: one has succeeded after failures.
	Failed, Recovered bool
}

// Send delivers what an endpoint lacks, update by update, until it has everything, an
// attempt fails or the budget is spent. One attempt is always made. With a budget of
// Timeout or more, none is cut short by its end; a smaller one is for receivers that
// are quick, and those that are not count as failed. An error is ours, not the
// receiver's; the sweep goes on where this stopped.
func (s *Sender) Send(ctx context.Context, at ledger.DueDelivery, budget time.Duration) (Result, error) {
	w := s.work(at, budget)
	if nothing, err := w.nothing(ctx); nothing || err != nil {
		return w.result, ledger.IgnoreNotFound(err)
	}
	return w.run(ctx)
}

// Go is Send for an execution. One that has been followed by another is done.
func (s *Sender) Go(ctx context.Context, x Execution, budget time.Duration) (Result, error) {
	w := s.work(x.at(), budget)
	w.execution = &x
	return w.run(ctx)
}

func (s *Sender) work(at ledger.DueDelivery, budget time.Duration) *work {
	w := &work{s: s, at: at, until: s.Now().Add(budget), least: minBudget, result: Result{Word: Done}}
	if budget >= Timeout {
		w.least = Timeout
	}
	return w
}

func (w *work) run(ctx context.Context) (Result, error) {
	going, err := w.claim(ctx)
	for going && err == nil {
		going, err = w.page(ctx)
	}
	switch {
	case errors.Is(err, ledger.ErrNotFound): // removed, perhaps with its task
		w.result.Word, w.result.Seconds = Done, 0
	case errors.Is(err, ledger.ErrDeliveryChanged): // somebody else took over
		w.result.Held, w.result.Execution = true, Execution{}
		w.wait(Lease)
	case err != nil:
		return w.result, err
	}
	return w.result, nil
}

// nothing says whether the endpoint lacks only what callers do not see, which needs no
// lease and no note. The entries count as delivered with the next update.
func (w *work) nothing(ctx context.Context) (bool, error) {
	e, err := w.s.Endpoints.Endpoint(ctx, w.at.Ref, w.at.ID)
	if err != nil {
		return false, err
	}
	d, now := e.Delivery, w.s.Now()
	if !d.Idle() || d.Behind() || !d.DueAt.After(now) {
		return false, nil
	}
	updates, err := w.s.Updates(ctx, w.at, e, d.Cursor, pageSize)
	if err != nil {
		return false, ctx.Err() // found again, and noted, under the lease
	}
	for _, u := range updates {
		if u.Body != nil || u.Final {
			return false, nil
		}
	}
	return len(updates) < pageSize, nil
}

// page reads the next updates and delivers them. It says whether to go on.
func (w *work) page(ctx context.Context) (bool, error) {
	after := w.e.Delivery.Cursor
	updates, err := w.s.Updates(ctx, w.at, w.e, after, pageSize)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if errors.Is(err, ledger.ErrNotFound) {
		return false, w.write(ctx, over(w.released(), w.s.Now()))
	}
	if passes(err) {
		return false, w.trouble(ctx, err)
	}
	if err == nil {
		err = ordered(updates, after)
	}
	if err != nil {
		w.s.Logger.Warn("the updates of a task cannot be read", append(w.names(), "error", err)...)
		return false, w.failed(ctx, attempted{seq: after + 1, at: w.s.Now(), answer: answer{cause: causeUpdates}})
	}
	for _, u := range updates {
		if u.Body != nil {
			if going, err := w.deliver(ctx, u); !going || err != nil {
				return false, err
			}
		}
		w.e.Delivery.Cursor = u.Seq
		w.ended = w.ended || u.Final
	}
	if len(updates) == pageSize {
		return true, nil
	}
	return w.rest(ctx)
}

// deliver makes one attempt at one update. It says whether it was taken.
func (w *work) deliver(ctx context.Context, u Update) (bool, error) {
	left := w.until.Sub(w.s.Now())
	if w.result.Sent > 0 && left < w.least {
		return false, w.pause(ctx)
	}
	// What may take its time comes before the lease is looked at.
	sealed := w.open(ctx)
	if passes(sealed) {
		return false, w.trouble(ctx, sealed)
	}
	if err := w.secure(ctx); err != nil {
		return false, err
	}
	a := attempted{seq: u.Seq, at: w.s.Now(), answer: answer{cause: causeSecrets}}
	if sealed == nil {
		a = w.attempt(ctx, u, min(max(left, minBudget), Timeout))
	}
	switch {
	case a.cause == "":
		w.taken(a)
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err() // we broke off, not the receiver
	}
	return false, w.failed(ctx, a)
}

// passes says whether trouble is ours and goes by: it is no attempt of the receiver's.
func passes(err error) bool {
	return errors.Is(err, ledger.ErrUnavailable) || errors.Is(err, ledger.ErrBusy) || errors.Is(err, errKeys)
}

// ordered refuses what would break the order at the receiver (I11).
func ordered(updates []Update, after uint64) error {
	for _, u := range updates {
		if u.Seq <= after {
			return fmt.Errorf("update %d comes after update %d", u.Seq, after)
		}
		after = u.Seq
	}
	return nil
}
