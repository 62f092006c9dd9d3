package webhook

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/seal"
)

// errMore is an idle delivery that was refused because more is wanted.
var errMore = errors.New("more is wanted")

// work is one sender at one endpoint. Its delivery is what is stored, or what is about
// to be: it is written before every request, so that at most one update is sent again
// by a successor.
type work struct {
	s      *Sender
	at     ledger.DueDelivery
	until  time.Time     // the end of the budget
	least  time.Duration // what must be left of it for another attempt
	e      ledger.Endpoint
	result Result

	execution *Execution // that calls; nil: none

	secrets *Secrets // once they are opened
	unsaved bool     // an update was taken and this is not stored
	ended   bool     // the task's last update is behind the cursor
	idling  *uint64  // the cursor at which rest was refused last
}

// attempted is an attempt with its answer.
type attempted struct {
	answer

	seq  uint64
	at   time.Time
	took time.Duration
}

// claim takes the endpoint's lease, if there is reason to and nobody has it.
func (w *work) claim(ctx context.Context) (bool, error) {
	holder := w.s.NewID()
	for range maxRounds {
		var err error
		if w.e, err = w.s.Endpoints.Endpoint(ctx, w.at.Ref, w.at.ID); err != nil {
			return false, err
		}
		d, now := w.e.Delivery, w.s.Now()
		w.result.State = d.State
		switch {
		case d.State != ledger.DeliveryActive, w.execution != nil && !w.execution.current(d):
			return false, nil
		case held(d, now):
			w.result.Held = true
			w.wait(d.LeaseUntil.Sub(now))
			return false, nil
		case now.Before(d.NextAt):
			w.wait(d.NextAt.Sub(now))
			return false, nil
		}
		if w.orphaned(now); w.e.Delivery.State != ledger.DeliveryActive {
			d := w.released()
			w.tell(ctx, d, d.Cursor+1)
			return false, w.write(ctx, d)
		}
		w.e.Delivery.Holder = holder
		if err = w.hold(ctx); !errors.Is(err, ledger.ErrDeliveryChanged) {
			return err == nil, err
		}
	}
	return false, ledger.ErrDeliveryChanged
}

// orphaned counts the attempt of a sender that has died over it, if one has. What
// became of it nobody knows; what kills its sender each time must come to an end.
func (w *work) orphaned(now time.Time) {
	d := w.e.Delivery
	if d.Holder == "" {
		return
	}
	d = d.Attempted(ledger.Attempt{At: d.LeaseUntil, Seq: d.Cursor + 1, Number: d.Attempt + 1, Millis: Lease.Milliseconds(), Error: causeInterrupted})
	d.Attempt++
	d.Failures++
	if d.Attempt > len(Ladder) {
		d.State, d.NextAt, d.DueAt = ledger.DeliveryGivenUp, time.Time{}, time.Time{}
		w.result.State, w.result.Failed = d.State, true
	}
	w.e.Delivery = d
	w.complain(attempted{seq: d.Cursor + 1, at: now, answer: answer{cause: causeInterrupted}}, d)
}

// held says whether somebody is at work who may be alive.
func held(d ledger.Delivery, now time.Time) bool { return d.Holder != "" && now.Before(d.LeaseUntil) }

// hold stores how far the work is, and renews the lease.
func (w *work) hold(ctx context.Context) error {
	d := w.e.Delivery
	d.LeaseUntil = w.s.Now().Add(Lease)
	w.soon(&d, d.LeaseUntil.Add(w.s.Grace))
	return w.write(ctx, d)
}

// pause gives the endpoint back before it has everything.
func (w *work) pause(ctx context.Context) error {
	d := w.released()
	w.again(&d, 0)
	return w.write(ctx, d)
}

// trouble gives the endpoint back for a while because of something that is not the
// receiver's fault.
func (w *work) trouble(ctx context.Context, err error) error {
	w.s.Logger.Warn("a delivery waits for something of ours", append(w.names(), "error", err)...)
	d := w.released()
	w.again(&d, troubleWait)
	w.tell(ctx, d, d.Cursor+1)
	return w.write(ctx, d)
}

// secure stores what was taken, and sees to it that the next request is over before the
// lease is: however long it takes to write that down.
func (w *work) secure(ctx context.Context) error {
	for range maxRounds {
		if !w.unsaved && w.e.Delivery.LeaseUntil.Sub(w.s.Now()) >= Timeout {
			return nil
		}
		if err := w.hold(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("a lease takes longer to write than it lasts: %w", ledger.ErrUnavailable)
}

// again says when to go on, and by whom.
func (w *work) again(d *ledger.Delivery, pause time.Duration) {
	d.NextAt = w.s.Now().Add(pause)
	d.DueAt = d.NextAt.Add(w.s.Grace)
	w.wait(pause)
	if w.execution == nil {
		d.Generation++
		w.result.Execution = executionOf(w.at, *d, pause)
	}
}

// rest gives back an endpoint that has everything. When more came meanwhile there is
// more to do, and it says so.
func (w *work) rest(ctx context.Context) (bool, error) {
	d := w.released()
	d.Attempt, d.NextAt = 0, time.Time{}
	if w.ended {
		d.DueAt = time.Time{}
	} else {
		w.soon(&d, w.s.Now().Add(CheckEvery))
	}
	err := w.write(ctx, d)
	if !errors.Is(err, errMore) {
		return false, err
	}
	if w.idling != nil && *w.idling == d.Cursor {
		// What is wanted is not there: a hint of something that was never committed.
		return false, w.failed(ctx, attempted{seq: d.Cursor + 1, at: w.s.Now(), answer: answer{cause: causeUpdates}})
	}
	w.idling = &d.Cursor
	return true, nil
}

// over is a delivery whose task has expired: nobody looks at it again, and the purge
// removes it. It is not idle, for such a one would have to have what is wanted.
func over(d ledger.Delivery, now time.Time) ledger.Delivery {
	d.NextAt, d.DueAt = now, time.Time{}
	return d
}

// soon sets when somebody must look, unless somebody will within CheckEvery anyway: to
// move a place in the index costs as much as two updates.
func (w *work) soon(d *ledger.Delivery, at time.Time) {
	now := w.s.Now()
	if d.DueAt.After(now) && !d.DueAt.After(now.Add(CheckEvery)) {
		return
	}
	d.DueAt = at
}

func (w *work) released() ledger.Delivery {
	d := w.e.Delivery
	d.Holder, d.LeaseUntil = "", time.Time{}
	return d
}

// errKeys is about a key that cannot be had now.
var errKeys = errors.New("the keys cannot be had")

// open opens the endpoint's secrets, once.
func (w *work) open(ctx context.Context) error {
	if w.secrets != nil {
		return nil
	}
	opened, err := openSecrets(ctx, w.s.Sealer, w.at, w.e)
	switch {
	case errors.Is(err, seal.ErrSealed), errors.Is(err, seal.ErrKey):
		return err
	case err != nil:
		return fmt.Errorf("%w: %w", errKeys, err)
	}
	w.secrets = &opened
	return nil
}

// attempt sends one update.
func (w *work) attempt(ctx context.Context, u Update, within time.Duration) attempted {
	a := attempted{seq: u.Seq, at: w.s.Now()}
	a.answer = w.s.post(ctx, w.at, w.e, *w.secrets, u, within)
	a.took = w.s.Now().Sub(a.at)
	w.s.Receivers.note(w.e.Origin(), a.took, w.s.Now())
	return a
}

// taken notes a success. It is stored with what comes next.
func (w *work) taken(a attempted) {
	d := w.remembered(a)
	if d.Failures > 0 {
		w.result.Recovered = true
		w.s.Logger.Info("an endpoint takes updates again", append(w.names(), "seq", a.seq, "failures", d.Failures)...)
	}
	d.Cursor, d.Attempt, d.NextAt, d.Failures = a.seq, 0, time.Time{}, 0
	d.Delivered++
	w.e.Delivery, w.unsaved = d, true
	w.result.Sent++
}

// failed notes a failure and gives the endpoint back: until the next attempt, or for
// good.
func (w *work) failed(ctx context.Context, a attempted) error {
	d := w.remembered(a)
	d.Holder, d.LeaseUntil, d.NextAt, d.DueAt = "", time.Time{}, time.Time{}, time.Time{}
	d.Attempt++
	d.Failures++
	pause, again := backoff(d.Attempt, a.retryAfter, w.s.Dice())
	switch {
	case a.status == http.StatusGone:
		d.State = ledger.DeliveryDisabled
	case !again:
		d.State = ledger.DeliveryGivenUp
	default:
		w.again(&d, pause)
	}
	w.result.State, w.result.Failed = d.State, true
	w.complain(a, d)
	w.tell(ctx, d, a.seq)
	return w.write(ctx, d)
}

// tell says what operators must know of a delivery that was not made. It comes before
// the write: whoever dies between the two is followed by somebody who tells again, and
// what is told only says where to look.
func (w *work) tell(ctx context.Context, d ledger.Delivery, seq uint64) {
	switch {
	case w.s.Watch == nil:
	case d.State == ledger.DeliveryGivenUp:
		w.s.Watch.GivenUp(ctx, w.at, seq)
	case d.State == ledger.DeliveryActive:
		w.s.Watch.NotDelivered(ctx, w.at)
	}
}

func (w *work) complain(a attempted, d ledger.Delivery) {
	w.s.Logger.Warn("an update was not delivered", append(w.names(), "seq", a.seq, "attempt", d.Attempt, "status", a.status, "cause", a.cause, "state", string(d.State))...)
}

func (w *work) remembered(a attempted) ledger.Delivery {
	d := w.e.Delivery
	return d.Attempted(ledger.Attempt{At: a.at, Seq: a.seq, Number: d.Attempt + 1, Status: a.status, Millis: a.took.Milliseconds(), Error: a.cause})
}

// write stores a delivery. A write whose answer was lost is recognised. errMore: it
// rests and more is wanted. ErrDeliveryChanged: somebody else has written.
func (w *work) write(ctx context.Context, d ledger.Delivery) error {
	d.Revision = w.e.Delivery.Revision + 1
	var err error
	for range maxRounds {
		err = w.s.Endpoints.Deliver(ctx, w.at.Ref, w.at.ID, d)
		stored := err == nil
		switch {
		case errors.Is(err, ledger.ErrDeliveryChanged):
			if stored, err = w.compare(ctx, d); err != nil {
				return err
			}
		case err != nil && !errors.Is(err, ledger.ErrUnavailable):
			return err
		}
		if stored {
			w.e.Delivery, w.unsaved = d, false
			return nil
		}
	}
	return errors.Join(ledger.ErrUnavailable, err)
}

// compare looks what stands where a write was refused: that same write, whose answer
// was lost; more that is wanted; somebody else's; or nothing new, to be tried again.
func (w *work) compare(ctx context.Context, d ledger.Delivery) (stored bool, err error) {
	e, err := w.s.Endpoints.Endpoint(ctx, w.at.Ref, w.at.ID)
	if err != nil {
		return false, err
	}
	switch now := e.Delivery; {
	case now.Incarnation != d.Incarnation:
		return false, ledger.ErrDeliveryChanged
	case now.Revision == d.Revision && now.Holder == d.Holder && now.Cursor == d.Cursor && now.State == d.State && now.Attempt == d.Attempt:
		return true, nil
	case now.Revision != w.e.Delivery.Revision:
		return false, ledger.ErrDeliveryChanged
	case d.Idle() && now.Wanted > d.Cursor:
		return false, errMore
	}
	return false, nil
}

// wait says when to go on.
func (w *work) wait(d time.Duration) {
	w.result.Word, w.result.Seconds = Wait, max(1, seconds(d))
}

// seconds are whole ones, for a state machine: not too few.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

func (w *work) names() []any {
	return []any{"tenant", w.at.Ref.Tenant, "task", w.at.Ref.Task, "endpoint", w.at.ID}
}
