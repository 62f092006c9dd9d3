package lifecycle

import (
	"cmp"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Policy is what a new task is judged by. All of it but the grace is recorded when
// the task is accepted, and the task is judged by what was recorded: nobody needs
// the policy's document again.
type Policy struct {
	Version   string        // name@version of its document
	Life      time.Duration // longest life
	Retention time.Duration // after the end; the terms may say otherwise of some ends
	Grace     time.Duration // before the sweep looks
	// Terms are what else the document says. nil: there is none, as for tasks that
	// were accepted before there were documents.
	Terms *Terms
}

// DefaultPolicy is the policy of limits.go, without a document.
func DefaultPolicy() Policy {
	return Policy{Version: "default@1", Life: DefaultLife, Retention: DefaultRetention, Grace: DefaultGrace}
}

// Terms are what a policy's document says beside life and retention. They are in the
// submission, an entry like any other: what is added has to be absent in old ones.
type Terms struct {
	// Digest is that of the document's canonical JSON. A document never changes under
	// its version.
	Digest  Digest                 `json:"digest"`
	Seconds Spans                  `json:"seconds,omitzero"`
	Billing Billing                `json:"billing,omitzero"`
	Effects map[string]EffectTerms `json:"effects,omitempty"`
}

// Spans are durations in seconds, each 0 where nothing is said.
type Spans struct {
	Lease    int64 `json:"lease,omitempty"`    // without renewal; 0: as the deployment says
	Pause    int64 `json:"pause,omitempty"`    // the longest; 0: MaxPause
	Failed   int64 `json:"failed,omitempty"`   // retention of a failed task; 0: RetainSeconds
	Canceled int64 `json:"canceled,omitempty"` // of a canceled one
	Rejected int64 `json:"rejected,omitempty"` // of a rejected one
	// Exported is the retention once its caller has acknowledged the export; 0: as
	// without.
	Exported int64 `json:"exported,omitempty"`
}

// Basis says what of a task is billed.
type Basis string

// Bases. The strings are part of the ledger's format.
const (
	BillNothing   Basis = ""          // nothing is
	BillAccepted  Basis = "accepted"  // a task that was taken on, however it ended; a rejected one was not
	BillCompleted Basis = "completed" // a completed task
	BillEffects   Basis = "effects"   // each effect that was done and is not to be undone
)

// Billing is the basis, and how many units a task is where the task is billed.
type Billing struct {
	Basis Basis `json:"basis,omitempty"`
	Units int64 `json:"units,omitempty"`
}

// EffectTerms say what becomes of an effect whose task did not complete, and what it
// is billed with. Their names are those of effects; one that ends in "*" stands for
// all that begin so.
type EffectTerms struct {
	// By is who undoes the effect; empty: it cannot be undone.
	By    string `json:"by,omitempty"`
	Units int64  `json:"units,omitempty"`
}

// check bounds what a policy says.
func (p Policy) check() *Rejection {
	if p.Life <= 0 || p.Retention < time.Second {
		return reject(LimitReached, "policy %q: a longest life of %s and a retention of %s; nothing lives for ever, nor for no time", p.Version, p.Life, p.Retention)
	}
	if r := checkName("a policy's version", p.Version, MaxNameBytes); r != nil || p.Terms == nil {
		return r
	}
	t := p.Terms
	for _, s := range []int64{t.Seconds.Lease, t.Seconds.Pause, t.Seconds.Failed, t.Seconds.Canceled, t.Seconds.Rejected, t.Seconds.Exported, t.Billing.Units} {
		if s < 0 {
			return reject(LimitReached, "policy %q: a term of %d", p.Version, s)
		}
	}
	if len(t.Effects) > MaxEffectTerms {
		return reject(LimitReached, "policy %q has terms for %d effects, the limit is %d", p.Version, len(t.Effects), MaxEffectTerms)
	}
	for name, e := range t.Effects {
		if r := checkNames(MaxNameBytes, "an effect's name", name, "whoever undoes an effect", e.By); r != nil {
			return r
		}
		if e.Units < 0 {
			return reject(LimitReached, "policy %q: effect %q is %d units", p.Version, name, e.Units)
		}
	}
	return nil
}

// LongestPause is how long a task under the policy may wait for somebody.
func (p Policy) LongestPause() time.Duration { return p.head().LongestPause() }

// RetentionOf is how long a task under the policy can be read once it has ended in a
// state.
func (p Policy) RetentionOf(state a2a.TaskState) time.Duration { return p.head().retention(state) }

// head is that of a task under the policy.
func (p Policy) head() Head {
	h := Head{RetainSecs: int64(p.Retention / time.Second)}
	h.judgedBy(p.Terms)
	return h
}

// judgedBy puts what is needed later of a submission's terms on the head.
func (h *Head) judgedBy(t *Terms) {
	if t == nil {
		return
	}
	s := t.Seconds
	h.LeaseSecs, h.PauseSecs = s.Lease, s.Pause
	h.FailedSecs, h.CanceledSecs, h.RejectedSecs, h.ExportedSecs = s.Failed, s.Canceled, s.Rejected, s.Exported
}

// Lease is how long a lease on the task lasts without renewal: as its policy says,
// otherwise as its holder is configured.
func (h Head) Lease(configured time.Duration) time.Duration {
	return cmp.Or(seconds(h.LeaseSecs), configured)
}

// LongestPause is how long the task may wait for somebody.
func (h Head) LongestPause() time.Duration {
	return min(cmp.Or(seconds(h.PauseSecs), MaxPause), MaxPause)
}

// retention is how long the task can be read once it has ended in a state.
func (h Head) retention(state a2a.TaskState) time.Duration {
	var own int64
	switch state {
	case Failed:
		own = h.FailedSecs
	case Canceled:
		own = h.CanceledSecs
	case Rejected:
		own = h.RejectedSecs
	}
	return seconds(cmp.Or(own, h.RetainSecs))
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
