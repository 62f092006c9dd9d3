package asl

// state is what one type of state does.
type state interface {
	// targets are the states that it can lead to.
	targets() []string
	// run acts for the execution, which the calling goroutine owns, and says how it goes on.
	run(r *Runtime, e *execution) move
}

// parseState reads a state of any known type.
func parseState(o *object) (state, error) {
	kind := o.text("Type")
	o.comment()
	var s state
	switch {
	case o.err != nil:
	case kind == "Task":
		s = parseTask(o)
	case kind == "Choice":
		s = parseChoice(o)
	case kind == "Wait":
		s = parseWait(o)
	case kind == "Succeed":
		s = succeed{}
	case kind == "Fail":
		s = fail{err: &Error{Name: o.text("Error"), Cause: o.text("Cause")}}
	default:
		o.fail("Type", "%q is not known to this interpreter", kind)
	}
	return s, o.done()
}

// wait is a Wait state: time alone ends it.
type wait struct {
	delay span
	next  string
}

func parseWait(o *object) state { return wait{delay: parseSpan(o, "Seconds", 0), next: o.text("Next")} }

func (w wait) targets() []string { return []string{w.next} }

func (w wait) run(r *Runtime, e *execution) move {
	delay, err := w.delay.in(e)
	if err != nil {
		return move{kind: failed, err: err}
	}
	return r.park(e, delay, moveTo(w.next))
}

// succeed is a Succeed state.
type succeed struct{}

func (succeed) targets() []string { return nil }

func (succeed) run(r *Runtime, e *execution) move {
	if err := r.record(e, 1); err != nil { // StateExited
		return move{kind: failed, err: err}
	}
	return move{kind: succeeded}
}

// fail is a Fail state with a fixed error.
type fail struct{ err *Error }

func (f fail) targets() []string             { return nil }
func (f fail) run(*Runtime, *execution) move { return move{kind: failed, err: f.err} }
