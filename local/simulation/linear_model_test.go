package simulation_test

import (
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/anishathalye/porcupine"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What one submission key may look like to its callers, as a sequential object: every
// operation takes effect at one instant between its call and its return. What the
// worker and the deadlines do to the task happens between operations, so a read may
// find it further than the one before; it may never find it further back, and not
// where no operation can have brought it.

// op is what a caller asks.
type op struct {
	what    string // submit, get, answer, cancel
	key     int
	message string // of an answer
}

// out is the answer. One that never came is unknown: the operation may have taken
// effect, then or at any time later, or not.
type out struct {
	unknown bool
	refused string // a reason
	task    a2a.TaskID
	seq     uint64
	state   a2a.TaskState
}

// object is one key's task as far as callers can know it.
type object struct {
	exists   bool
	task     a2a.TaskID // "": created by a submission whose answer was lost
	seq      uint64
	state    a2a.TaskState
	answered string // the message that was accepted; there is one question
	asked    bool   // somebody has asked to cancel
}

// lookup is a lookup of an object after a task was answered, false where that answer
// cannot be.
func (s object) lookup(o out) (object, bool) {
	switch {
	case !s.exists, s.task != "" && s.task != o.task, o.seq < s.seq, o.seq == s.seq && s.state != "" && o.state != s.state:
		return s, false
	case s.state.Terminal() && o.seq != s.seq:
		return s, false // an ended task has no more entries
	case o.state == lifecycle.Canceled && !s.asked:
		return s, false // the question is canceled by nobody else: its deadline is far away
	case s.state == lifecycle.InputRequired && o.state != s.state && s.answered == "" && o.state != lifecycle.Canceled:
		return s, false
	}
	s.task, s.seq, s.state = o.task, o.seq, o.state
	return s, true
}

// step gives the states in which an object may be after an operation; none where its
// answer is not allowed.
func step(s object, in op, o out) []object {
	after := s
	switch in.what {
	case "submit":
		after.exists = true
		if o.unknown {
			return []object{s, after}
		}
	case "get":
		if o.unknown {
			return []object{s}
		}
	case "answer":
		return answerStep(s, in, o)
	case "cancel":
		after.asked = true
		switch {
		case o.unknown:
			return []object{s, after}
		case o.refused == "TASK_NOT_CANCELABLE" && s.state != lifecycle.Canceled:
			return []object{s} // it has ended otherwise; reads say how
		}
	}
	if o.refused != "" {
		return nil
	}
	if next, ok := after.lookup(o); ok {
		return []object{next}
	}
	return nil
}

func answerStep(s object, in op, o out) []object {
	after := s
	if after.answered == "" {
		after.answered = in.message
	}
	switch {
	case o.unknown && s.exists && !s.state.Terminal() && after.answered == in.message:
		return []object{s, after}
	case o.unknown:
		return []object{s}
	case o.refused != "" && s.answered == in.message:
		return nil // what was accepted is accepted again
	case o.refused != "":
		return []object{s}
	case after.answered != in.message, s.answered == "" && s.state.Terminal():
		return nil // two answers to one question, or one to an ended task
	}
	if next, ok := after.lookup(o); ok && (s.answered != "" || o.seq > s.seq) {
		return []object{next}
	}
	return nil
}

// model is the object for porcupine, for each key by itself.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
			by := map[int][]porcupine.Operation{}
			for _, o := range history {
				in, _ := o.Input.(op)
				by[in.key] = append(by[in.key], o)
			}
			var all [][]porcupine.Operation
			for _, part := range by {
				all = append(all, part)
			}
			return all
		},
		Init: func() []any { return []any{object{}} },
		Step: func(state, input, output any) []any {
			s, _ := state.(object)
			in, _ := input.(op)
			o, _ := output.(out)
			var next []any
			for _, n := range step(s, in, o) {
				next = append(next, n)
			}
			return next
		},
		Equal: func(a, b any) bool { return a == b },
		DescribeOperation: func(input, output any) string {
			return fmt.Sprintf("%+v → %+v", input, output)
		},
	}
	return m.ToModel()
}

// The model refuses what must not be, and takes what may.
func TestModel(t *testing.T) {
	submit, get, cancel := op{what: "submit"}, op{what: "get"}, op{what: "cancel"}
	yes, no := op{what: "answer", message: "yes"}, op{what: "answer", message: "no"}
	at := func(seq uint64, state a2a.TaskState) out { return out{task: "t", seq: seq, state: state} }
	unknown := out{unknown: true}
	type call struct {
		in         op
		out        out
		call, back int64
	}
	for name, c := range map[string]struct {
		history []call
		want    bool
	}{
		"in order":                     {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {get, at(3, lifecycle.InputRequired), 3, 4}, {yes, at(4, lifecycle.Working), 5, 6}, {get, at(5, lifecycle.Completed), 7, 8}}, true},
		"an older read":                {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {get, at(3, lifecycle.InputRequired), 3, 4}, {get, at(2, lifecycle.Working), 5, 6}}, false},
		"an older read at once":        {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {get, at(3, lifecycle.InputRequired), 3, 9}, {get, at(2, lifecycle.Working), 5, 6}}, true},
		"another task":                 {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {submit, out{task: "u", seq: 1, state: lifecycle.Submitted}, 3, 4}}, false},
		"another task, the first lost": {[]call{{submit, unknown, 1, 100}, {submit, out{task: "u", seq: 1, state: lifecycle.Submitted}, 3, 4}}, true},
		"two answers":                  {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {yes, at(4, lifecycle.Working), 5, 9}, {no, at(5, lifecycle.Working), 5, 9}}, false},
		"one answer twice":             {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {yes, at(4, lifecycle.Working), 5, 6}, {yes, at(4, lifecycle.Working), 7, 8}}, true},
		"taken and then refused":       {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {yes, at(4, lifecycle.Working), 5, 6}, {yes, out{refused: "UNSUPPORTED_OPERATION"}, 7, 8}}, false},
		"an answer that was lost":      {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {yes, unknown, 3, 100}, {get, at(3, lifecycle.InputRequired), 5, 6}, {get, at(4, lifecycle.Working), 7, 8}}, true},
		"nobody has answered":          {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {get, at(3, lifecycle.InputRequired), 5, 6}, {get, at(4, lifecycle.Working), 7, 8}}, false},
		"nobody has canceled":          {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {get, at(3, lifecycle.Canceled), 5, 6}}, false},
		"canceled, and then completed": {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {cancel, at(3, lifecycle.Canceled), 3, 4}, {get, at(5, lifecycle.Completed), 5, 6}}, false},
		"canceled or completed":        {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {cancel, out{refused: "TASK_NOT_CANCELABLE"}, 3, 9}, {get, at(3, lifecycle.Completed), 5, 6}}, true},
		"an ended task goes on":        {[]call{{submit, at(1, lifecycle.Submitted), 1, 2}, {get, at(3, lifecycle.Completed), 5, 6}, {get, at(4, lifecycle.Completed), 7, 8}}, false},
		"a task from nowhere":          {[]call{{get, at(1, lifecycle.Submitted), 1, 2}, {submit, at(1, lifecycle.Submitted), 3, 4}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			var history []porcupine.Operation
			for i, o := range c.history {
				history = append(history, porcupine.Operation{ClientId: i, Input: o.in, Output: o.out, Call: o.call, Return: o.back})
			}
			if got := porcupine.CheckOperations(model(), history); got != c.want {
				t.Errorf("linearizable: %t, want %t", got, c.want)
			}
		})
	}
}
