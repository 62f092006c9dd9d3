package lifecycle

import (
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The eight concrete task states of A2A 1.0 (§4.1.3), under the names that this
// package uses. The specification defines what they mean and which are terminal;
// which may follow which is this product's own policy (see Transitions).
const (
	// Submitted is where every task begins: recorded, not yet picked up. It ends
	// when an execution takes the first lease.
	Submitted = a2a.TaskStateSubmitted
	// Working is a task whose steps run, wait for a retry, or sleep.
	Working = a2a.TaskStateWorking
	// InputRequired is an interrupted task: it waits for a reply, holds no lease
	// and has a deadline.
	InputRequired = a2a.TaskStateInputRequired
	// AuthRequired is an interrupted task: it waits for an authorization receipt
	// and has a deadline. The state itself authorizes nothing (I12).
	AuthRequired = a2a.TaskStateAuthRequired
	// Completed is terminal: the agent finished.
	Completed = a2a.TaskStateCompleted
	// Failed is terminal: a permanent error, too many attempts, a passed deadline
	// or the end of the task's longest life.
	Failed = a2a.TaskStateFailed
	// Canceled is terminal: a cancellation was requested and acknowledged.
	Canceled = a2a.TaskStateCanceled
	// Rejected is terminal: the agent declined the work.
	Rejected = a2a.TaskStateRejected
)

// States lists the eight states in the order of the transition table.
func States() []a2a.TaskState {
	return []a2a.TaskState{Submitted, Working, InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected}
}

// Transition is one row of the table: what may follow a state, and what may
// follow it only when the open challenge was closed by a receipt.
type Transition struct {
	From a2a.TaskState
	// To may follow without further condition.
	To []a2a.TaskState
	// WithReceipt may follow only with the authorization receipt of the open
	// challenge (I12).
	WithReceipt []a2a.TaskState
}

// transitions is the table that moves are looked up in.
var transitions = Transitions()

// Transitions is the declared transition table. Terminal states have no row
// that leads out: they never reopen (I2).
func Transitions() []Transition {
	return []Transition{
		{From: Submitted, To: []a2a.TaskState{Working, InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected}},
		{From: Working, To: []a2a.TaskState{InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected}},
		{From: InputRequired, To: []a2a.TaskState{Working, AuthRequired, Completed, Failed, Canceled, Rejected}},
		{From: AuthRequired, To: []a2a.TaskState{Failed, Canceled, Rejected}, WithReceipt: []a2a.TaskState{Working, InputRequired, Completed}},
		{From: Completed},
		{From: Failed},
		{From: Canceled},
		{From: Rejected},
	}
}

// Known says whether s is one of the eight states.
func Known(s a2a.TaskState) bool { return slices.Contains(States(), s) }

// Interrupted says whether a task in state s waits for somebody.
func Interrupted(s a2a.TaskState) bool { return s == InputRequired || s == AuthRequired }

// mayMove looks the move up in the table. It returns nil when the move is
// allowed, and the rejection that names the reason otherwise.
func mayMove(from, to a2a.TaskState, receipt bool) *Rejection {
	if from.Terminal() {
		return reject(PostTerminal, "the task has ended as %s; an ended task never reopens", from)
	}
	for _, row := range transitions {
		if row.From != from {
			continue
		}
		switch {
		case slices.Contains(row.To, to):
			return nil
		case slices.Contains(row.WithReceipt, to) && receipt:
			return nil
		case slices.Contains(row.WithReceipt, to):
			return reject(ReceiptRequired, "a task in %s moves to %s only with the authorization receipt of its open challenge", from, to)
		}
	}
	return reject(IllegalTransition, "a task in %s cannot move to %s", from, to)
}
