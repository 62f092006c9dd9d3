package asl

import "time"

// execution is one run through the machine. Its fields belong to the goroutine that owns the execution, but for those below the line, which
// belong to Runtime.mu.
type execution struct {
	name      string
	rawInput  []byte // as given, to compare
	input     any    // never changed: data is copied where it changes
	data      any    // what the states pass on
	at        *node
	enteredAt time.Time
	tries     []int  // retries so far for each retrier of this state
	retries   int    // their sum
	token     string // of the latest callback attempt; open while it is in Runtime.tokens

	transitions int
	events      int

	// ---
	turn   uint64 // rises whenever someone takes the execution over
	parked bool
	timer  *time.Timer // of the present turn; nil: none
}

func (e *execution) stopTimer() {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// move says how an execution goes on.
type move struct {
	kind moveKind
	next string // of enter
	err  *Error // of failed
}

type moveKind int

const (
	enter     moveKind = iota // enter the state next
	again                     // try the present state again
	released                  // the execution belongs to someone else by now: do not touch it
	succeeded                 // it ends
	failed                    // it ends with err
)

func moveTo(next string) move { return move{kind: enter, next: next} }

// work carries an execution on until it is parked, taken over or ended. The caller has counted the goroutine and owns the execution.
func (r *Runtime) work(e *execution, m move) {
	defer r.leave()
	for {
		switch m.kind {
		case enter:
			m = r.enter(e, r.machine.states[m.next])
		case again:
			m = r.transit(e, e.at, 0)
		case released:
			return
		case succeeded, failed:
			r.end(e, m.err)
			return
		}
	}
}

// enter leaves the present state, if there is one, and lets the next one act.
func (r *Runtime) enter(e *execution, next *node) move {
	events := 1 // StateEntered
	if e.at != nil {
		events++ // StateExited
	}
	e.at, e.enteredAt, e.tries, e.retries = next, r.options.Now(), nil, 0
	return r.transit(e, next, events)
}

// transit counts a transition and lets the state act.
func (r *Runtime) transit(e *execution, at *node, events int) move {
	r.mu.Lock()
	stopped := r.stopped
	if !stopped {
		r.stats.Transitions++
	}
	r.mu.Unlock()
	if stopped {
		return move{kind: released}
	}
	e.transitions++
	if err := r.record(e, events); err != nil {
		return move{kind: failed, err: err}
	}
	if r.options.OnTransition != nil {
		r.options.OnTransition(e.name, at.name)
	}
	return at.run(r, e)
}

// record adds events to the history; the last one that fits is kept for the end ("Avoid reaching the history quota").
func (r *Runtime) record(e *execution, events int) *Error {
	if e.events+events >= r.options.MaxEvents {
		e.events = r.options.MaxEvents - 1
		return runtimeError("The execution reached the maximum number of history events (%d).", r.options.MaxEvents)
	}
	e.events += events
	return nil
}

// park lets an execution wait without a goroutine and go on with then after the delay.
func (r *Runtime) park(e *execution, delay time.Duration, then move) move {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return move{kind: released}
	}
	r.setParked(e, true)
	turn := e.turn
	e.timer = time.AfterFunc(delay, func() {
		if r.own(e, turn) {
			r.work(e, then)
		}
	})
	return move{kind: released}
}

// setParked keeps the count right. The caller holds the lock.
func (r *Runtime) setParked(e *execution, parked bool) {
	if e.parked == parked {
		return
	}
	e.parked = parked
	if parked {
		r.stats.Parked++
	} else {
		r.stats.Parked--
	}
}

// own takes an execution over for a goroutine that did not work on it before; false when the turn is past.
func (r *Runtime) own(e *execution, turn uint64) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.take(e, turn) {
		return false
	}
	r.goroutines++
	return true
}

// take begins a new turn: it ends the timer and closes the token of the old one. The caller holds the lock.
func (r *Runtime) take(e *execution, turn uint64) bool {
	if r.stopped || e.turn != turn {
		return false
	}
	e.turn++
	e.stopTimer()
	r.setParked(e, false)
	if r.tokens[e.token] == e {
		delete(r.tokens, e.token)
		r.closedTokens.add(e.token)
	}
	return true
}

// leave uncounts a goroutine.
func (r *Runtime) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.goroutines--
	if r.stopped && r.goroutines == 0 {
		close(r.idle)
	}
}

// end closes an execution and tells OnEnd. err nil: it succeeded.
func (r *Runtime) end(e *execution, err *Error) {
	e.events++ // ExecutionSucceeded or ExecutionFailed
	result := Result{Err: err, Transitions: e.transitions, Events: e.events}
	if err == nil && r.options.OnEnd != nil {
		result.Output = appendValue(nil, e.data)
	}
	r.mu.Lock()
	stopped := r.stopped
	if !stopped {
		delete(r.open, e.name)
		r.closed.add(e.name)
		if err == nil {
			r.stats.Succeeded++
		} else {
			r.stats.Failed++
		}
	}
	r.mu.Unlock()
	if !stopped && r.options.OnEnd != nil {
		r.options.OnEnd(e.name, result)
	}
}
