package agenttest

import (
	"errors"
	"slices"
	"strconv"
	"testing"
)

// place is where a fault can happen.
type place string

// Places. The first five are where a process can die.
const (
	beforeCommit place = "before the commit of"
	afterCommit  place = "after the commit of"
	beforeCall   place = "before the call of"
	afterCall    place = "after the call of"
	afterRecord  place = "after the record of"
	failCall     place = "instead of the call of"
	loseAnswer   place = "before the answer of"
	cancelDuring place = "during"
)

// fault is something that will go wrong once.
type fault struct {
	method string
	place  place
	name   string
	err    error
}

func (r *Run) arm(f fault) *Run {
	r.faults = append(r.faults, &f)
	return r
}

// take finds the next fault for a place, and uses it up.
func (r *Run) take(p place, name string) *fault {
	i := slices.IndexFunc(r.faults, func(f *fault) bool { return f.place == p && f.name == name })
	if i < 0 {
		return nil
	}
	f := r.faults[i]
	r.faults = slices.Delete(r.faults, i, i+1)
	return f
}

// crashes says whether the process dies here.
func (r *Run) crashes(p place, name string) bool {
	dies := r.take(p, name) != nil
	if r.point != nil && r.point.reach() {
		dies = true
	}
	if dies {
		r.leased = false
		r.logf("process", "dies %s %s", p, name)
	}
	return dies
}

// checkFaults fails a test whose faults did not all happen.
func (r *Run) checkFaults() {
	for _, f := range r.faults {
		r.t.Errorf("agenttest: %s(%q) never happened: the test proves nothing about it\n%s", f.method, f.name, r.sofar())
	}
}

// CrashBeforeCommit kills the process before the next commit of a step: its work
// is done, and nothing of it is kept but what its effects recorded.
func (r *Run) CrashBeforeCommit(step string) *Run {
	return r.arm(fault{method: "CrashBeforeCommit", place: beforeCommit, name: step})
}

// CrashAfterCommit kills the process right after the next commit of a step.
func (r *Run) CrashAfterCommit(step string) *Run {
	return r.arm(fault{method: "CrashAfterCommit", place: afterCommit, name: step})
}

// CrashBeforeCall kills the process when an effect's intent is recorded and the
// call not yet made. The effect is in doubt.
func (r *Run) CrashBeforeCall(effect string) *Run {
	return r.arm(fault{method: "CrashBeforeCall", place: beforeCall, name: effect})
}

// CrashAfterCall kills the process when an effect's call was made and its result
// not yet recorded. The effect is in doubt.
func (r *Run) CrashAfterCall(effect string) *Run {
	return r.arm(fault{method: "CrashAfterCall", place: afterCall, name: effect})
}

// FailCall lets an effect's call fail without having done anything; the call is not
// made, and the step gets the error.
func (r *Run) FailCall(effect string, err error) *Run {
	return r.arm(fault{method: "FailCall", place: failCall, name: effect, err: err})
}

// LoseAnswer lets the answer of an effect's call get lost: the call is made, and
// the step gets an error. The effect is in doubt.
func (r *Run) LoseAnswer(effect string) *Run {
	return r.arm(fault{method: "LoseAnswer", place: loseAnswer, name: effect, err: errors.New("the connection broke before the answer came")})
}

// CancelDuring requests a cancellation while a step runs: its next commit cancels
// the task, unless it is the end.
func (r *Run) CancelDuring(step string) *Run {
	return r.arm(fault{method: "CancelDuring", place: cancelDuring, name: step})
}

// CrashPoint is the test of one point where the process dies. See EveryCrash.
type CrashPoint struct {
	*testing.T

	at, seen int
}

func (p *CrashPoint) reach() bool {
	p.seen++
	return p.seen == p.at
}

// CrashAt lets the process die at a point that EveryCrash chose.
func (r *Run) CrashAt(p *CrashPoint) *Run {
	r.point = p
	return r
}

// EveryCrash runs a scenario without a crash, and then once for each point where
// the process can die: before and after each commit, before and after each call of
// an effect, after its record. It returns the number of points. The scenario must
// begin with nothing, begin one run with CrashAt, and come to the same end each
// time:
//
//	agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) {
//		agenttest.Start(t, Travel, "Plan a trip").CrashAt(t).
//			Reply("Oslo").
//			WantCompleted("Booked …")
//	})
func EveryCrash(t *testing.T, scenario func(t *CrashPoint)) int {
	t.Helper()
	points := 0
	if !t.Run("no crash", func(t *testing.T) {
		p := &CrashPoint{T: t}
		scenario(p)
		points = p.seen
	}) {
		return 0
	}
	for n := 1; n <= points; n++ {
		t.Run("crash "+strconv.Itoa(n), func(t *testing.T) {
			p := &CrashPoint{T: t, at: n}
			scenario(p)
			if p.seen < n {
				t.Errorf("agenttest: crash point %d of %d was not reached: the scenario goes another way each time", n, points)
			}
		})
	}
	return points
}
