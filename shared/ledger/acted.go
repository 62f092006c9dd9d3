package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Acted is what an operator did about a task. It is written before anything is done,
// so that nothing is done without it; what was refused then has a second record.
type Acted struct {
	At time.Time `json:"at"`
	// By is the principal's name: the record is for operators, who must know whom to ask.
	By     string `json:"by"`
	Action Action `json:"action"`
	// Detail says what it was done to, and with what reason.
	Detail string `json:"detail,omitempty"`
	// Refused says why it was not done.
	Refused string `json:"refused,omitempty"`
}

// Action is something that an operator may do.
type Action string

// Actions. The strings are part of the ledger's format.
const (
	ActionCancel Action = "cancel" // ask to cancel the task
	ActionAnswer Action = "answer" // answer its question
	ActionResume Action = "resume" // have it go on now
	ActionReplay Action = "replay" // have a webhook told again
	ActionSettle Action = "settle" // say what became of an effect
	ActionExport Action = "export" // take its ledger away
)

// ErrActsFull says that the task's record of what operators did has no place left for
// this; it must not be done.
var ErrActsFull = errors.New("as many operators' actions are on record as there may be")

// Places are how many records there may be with this one. Exports, which whoever may
// read can take, do not use up those of what changes a task; and that something was
// refused, which comes behind it, has a place when that had one.
func (a Acted) Places() int {
	switch {
	case a.Refused != "":
		return lifecycle.MaxActs
	case a.Action == ActionExport:
		return lifecycle.MaxActs / 2
	default:
		return lifecycle.MaxActs * 3 / 4
	}
}

// recordTime is what a refusal's record has, when what was refused took all the time
// that there was.
const recordTime = 5 * time.Second

// Act does something to a task for an operator: first it is on record, so that nothing is
// done without it, and afterwards why it was not done, if it was not. why says that of
// do's error. unkept: there is no record of the refusal.
func (a *Authority) Act(ctx context.Context, ref lifecycle.Ref, record Acted, do func(context.Context) error, why func(error) string) (refused, unkept error) {
	record.At = lifecycle.Millis(a.Now())
	if err := a.Ledger.Act(ctx, ref, record); err != nil {
		return err, nil
	}
	if refused = do(ctx); refused == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	record.At, record.Refused = lifecycle.Millis(a.Now()), why(refused)
	return refused, a.Ledger.Act(ctx, ref, record)
}

// Check bounds a record. Adapters call it first.
func (a Acted) Check() error {
	const of = " of an operator's record"
	err := errors.Join(
		bounded("the operator's name"+of, a.By, lifecycle.MaxOperatorBytes), bounded("the action"+of, string(a.Action), lifecycle.MaxNameBytes),
		bounded("the detail"+of, a.Detail, lifecycle.MaxDetailBytes), bounded("the refusal"+of, a.Refused, lifecycle.MaxDetailBytes))
	if err != nil {
		return err
	}
	if a.By == "" || a.Action == "" {
		return fmt.Errorf("an operator's record says who did what")
	}
	return nil
}
