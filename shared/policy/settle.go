package policy

import (
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Duty is what is left to be done about an effect of a task that has ended.
type Duty string

// Duties.
const (
	DutyNone       Duty = "none"       // it stands, or nothing was done
	DutyCompensate Duty = "compensate" // it was done for a task that did not complete, and can be undone
	DutyFindOut    Duty = "find-out"   // nobody knows whether it was done: ask the other side, by its key
)

// Settlement says what of an ended task is billed and what has to be undone.
type Settlement struct {
	State   a2a.TaskState             `json:"state"`
	Receipt lifecycle.TerminalReceipt `json:"receipt"`
	Policy  string                    `json:"policy"`
	Basis   lifecycle.Basis           `json:"basis,omitempty"`
	// Units are what is billed. While effects are open, more may come.
	Units int64 `json:"units"`
	// Compensate and Open count the effects that are to be undone, and those of which
	// nobody knows whether they were done.
	Compensate int             `json:"compensate"`
	Open       int             `json:"open"`
	Effects    []SettledEffect `json:"effects,omitempty"`
}

// SettledEffect is what becomes of one effect.
type SettledEffect struct {
	Key   string                `json:"key"`
	State lifecycle.EffectState `json:"state"`
	Duty  Duty                  `json:"duty"`
	// By is who can undo it; empty: it cannot be undone.
	By    string `json:"by,omitempty"`
	Units int64  `json:"units,omitempty"`
}

// Recorded is all that a settlement is made of: the terminal entry, what the
// submission recorded of the policy, and the records of the effects.
type Recorded struct {
	End     lifecycle.Entry
	Policy  string
	Terms   *lifecycle.Terms
	Effects []lifecycle.Effect
}

// Settle settles an ended task. It reads nothing but what it is given: the same record
// gives the same settlement, wherever and whenever it is asked. What becomes of an
// effect:
//
//	             the task completed    the task failed, was canceled or rejected
//	done         stands, billed        compensable: to be undone, not billed; otherwise stands, billed
//	failed       nothing was done      nothing was done
//	in doubt     find out              find out; if it was done, as above
//
// Effects are billed where the basis is effects; otherwise the task is: a completed one,
// or any that was not rejected. An effect that the policy does not name cannot be undone
// and is no units.
func Settle(r Recorded) (Settlement, error) {
	ev, err := r.End.Event()
	if err != nil {
		return Settlement{}, err
	}
	if r.End.Type != lifecycle.TypeEnded || !ev.State.Terminal() {
		return Settlement{}, fmt.Errorf("entry %d (%s) is no terminal entry: a task is settled when it has ended", r.End.Seq, r.End.Type)
	}
	s := Settlement{State: ev.State, Receipt: lifecycle.TerminalReceipt{Seq: r.End.Seq, Chain: r.End.Chain}, Policy: r.Policy}
	var terms lifecycle.Terms
	if r.Terms != nil {
		terms = *r.Terms
	}
	s.Basis = terms.Billing.Basis
	if s.Basis == lifecycle.BillCompleted && s.State == lifecycle.Completed || s.Basis == lifecycle.BillAccepted && s.State != lifecycle.Rejected {
		s.Units = terms.Billing.Units
	}
	for _, e := range r.Effects {
		one := settle(e, TermsOf(terms.Effects, e.Name), s.State, s.Basis)
		s.Units += one.Units
		switch one.Duty {
		case DutyCompensate:
			s.Compensate++
		case DutyFindOut:
			s.Open++
		case DutyNone:
		}
		s.Effects = append(s.Effects, one)
	}
	return s, nil
}

func settle(e lifecycle.Effect, terms lifecycle.EffectTerms, state a2a.TaskState, basis lifecycle.Basis) SettledEffect {
	out := SettledEffect{Key: e.Key, State: e.State, Duty: DutyNone, By: terms.By}
	switch e.State {
	case lifecycle.EffectFailed:
	case lifecycle.EffectDone:
		if state != lifecycle.Completed && terms.By != "" {
			out.Duty = DutyCompensate
		} else if basis == lifecycle.BillEffects {
			out.Units = terms.Units
		}
	default: // begun and not recorded, or in doubt: its task has ended, and its caller is gone
		out.Duty = DutyFindOut
	}
	return out
}

// TermsOf are the terms of an effect: those of its name, otherwise those of the longest
// beginning of it; none where no name fits.
func TermsOf(all map[string]lifecycle.EffectTerms, name string) lifecycle.EffectTerms {
	if own, named := all[name]; named {
		return own
	}
	longest := -1
	var out lifecycle.EffectTerms
	for pattern, terms := range all {
		beginning, open := strings.CutSuffix(pattern, "*")
		if open && strings.HasPrefix(name, beginning) && len(beginning) > longest {
			longest, out = len(beginning), terms
		}
	}
	return out
}
