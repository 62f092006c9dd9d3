package ledger

import (
	"fmt"
	"time"
	"unicode/utf8"

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

// Check bounds a record. Adapters call it first.
func (a Acted) Check() error {
	for _, f := range []struct {
		what, text string
		limit      int
	}{
		{"operator's name", a.By, lifecycle.MaxOperatorBytes},
		{"action", string(a.Action), lifecycle.MaxNameBytes},
		{"detail", a.Detail, lifecycle.MaxDetailBytes},
		{"refusal", a.Refused, lifecycle.MaxDetailBytes},
	} {
		switch {
		case len(f.text) > f.limit:
			return fmt.Errorf("%w: the %s of an operator's record has %d bytes, the limit is %d", ErrTooLarge, f.what, len(f.text), f.limit)
		case !utf8.ValidString(f.text):
			return fmt.Errorf("the %s of an operator's record is not UTF-8", f.what)
		}
	}
	if a.By == "" || a.Action == "" {
		return fmt.Errorf("an operator's record says who did what")
	}
	return nil
}
