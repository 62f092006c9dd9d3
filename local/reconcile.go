package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/holdfast-a2a/holdfast/local/watch"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// reconcile lists every effect of a task with its evidence, who undoes it, and what may
// be done about it, and settles a task that has ended by what was recorded. It changes
// nothing.
func reconcile(ctx context.Context, args []string, out, logs io.Writer) error {
	o, err := parseOrigin("reconcile", "Lists every outside call of a task with its state, its evidence, who can undo it, and what may be done about it, and says what of an ended task is billed and what is to be undone. It changes nothing. exit code: 0; 1 when the record is broken or not there.", args, logs, true)
	if err != nil {
		return err
	}
	p, report, err := o.read(ctx)
	if err != nil {
		return err
	}
	s := sheet{out: out, now: p.Header.ExportedAt, task: p}
	if p.Header.Scope == export.Caller {
		return fmt.Errorf("effects are for operators, and this is the export of a caller")
	}
	states := map[lifecycle.EffectState]int{}
	for _, e := range p.Effects {
		states[e.State]++
	}
	fmt.Fprintf(out, "task %s, %s: %d effects, of which %d done, %d failed, %d in doubt, %d intended\n", printable(string(p.Header.Task)), watch.StateName(p.Head.State),
		len(p.Effects), states[lifecycle.EffectDone], states[lifecycle.EffectFailed], states[lifecycle.EffectInDoubt], states[lifecycle.EffectIntended])
	for _, e := range p.Effects {
		s.title(printable(e.Key))
		s.field("state", "%s, policy %s, %d calls", e.State, e.Policy, e.Calls)
		s.field("begun", "%s by %s under fence %d, to be called until %s", instant(e.IntendedAt), e.Holder, e.Fence, instant(e.CallUntil))
		s.field("request", "digest %s", e.RequestDigest)
		if !e.SettledAt.IsZero() {
			s.field("settled", "%s, evidence: %s", instant(e.SettledAt), e.Evidence)
		}
		if e.ResultDigest != "" {
			s.field("result", "%d bytes, digest %s", e.ResultBytes, e.ResultDigest)
		}
		if len(e.Result) > 0 {
			s.field("", "%s", e.Result)
		}
		s.field("undo", "%s", undone(p.Terms, e.Name))
		s.field("now", "%s", s.remedy(e.Effect))
	}
	s.settlement()
	return broken("the record", report, logs)
}

// undone says what the policy says of undoing an effect.
func undone(terms *lifecycle.Terms, name string) string {
	if terms == nil {
		return "not compensable: no policy says anything of it"
	}
	if of := policy.TermsOf(terms.Effects, name); of.By != "" {
		return "compensable, by " + of.By
	}
	return "not compensable"
}

// settlement shows what the task came to: it is made of the terminal receipt, the
// effects' records and what was recorded of the policy, and of nothing else.
func (s sheet) settlement() {
	p := s.task
	s.title("settlement")
	if p.Terms != nil {
		s.field("policy", "%s, digest %s", p.Head.Policy, p.Terms.Digest)
	} else {
		s.field("policy", "%s, of which only life and retention were recorded", p.Head.Policy)
	}
	if p.Policy != nil {
		s.field("owner", "%s", ownerOf(p.Policy))
	}
	done := p.Settlement
	if done == nil {
		s.field("now", "nothing is settled before the task has ended")
		return
	}
	s.field("receipt", "entry %d, digest %s", done.Receipt.Seq, done.Receipt.Chain)
	s.field("billed", "%d units, by the basis %s", done.Units, cmp.Or(string(done.Basis), "nothing"))
	s.field("undo", "%d effects", done.Compensate)
	for _, e := range done.Effects {
		if e.Duty == policy.DutyCompensate {
			s.line("           %s, by %s", e.Key, e.By)
		}
	}
	s.field("open", "%d effects", done.Open)
	for _, e := range done.Effects {
		if e.Duty == policy.DutyFindOut {
			s.line("           %s: find out whether it was done", e.Key)
		}
	}
}

// ownerOf is who answers for a policy, as its document says.
func ownerOf(p *export.Policy) string {
	var said struct{ Owner string }
	if err := json.Unmarshal(p.Document, &said); err != nil {
		return err.Error()
	}
	return said.Owner
}

// remedy says what becomes of an effect, and what an operator may do.
func (s sheet) remedy(e lifecycle.Effect) string {
	if done := s.task.Settlement; done != nil {
		for _, one := range done.Effects {
			if one.Key == e.Key && one.Duty == policy.DutyCompensate {
				return "to be undone, by " + one.By + ": it was done for a task that did not complete"
			}
		}
	}
	return export.Remedy(e, s.task.Head.State.Terminal(), s.now)
}
