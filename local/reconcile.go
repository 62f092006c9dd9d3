package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// reconcile lists every effect of a task with its evidence and what may be done
// about it. It changes nothing.
func reconcile(ctx context.Context, args []string, out, logs io.Writer) error {
	o, err := parseOrigin("reconcile", "Lists every outside call of a task with its state, its evidence, and what may be done about it. It changes nothing. exit code: 0; 1 when the record is broken or not there.", args, logs, true)
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
	fmt.Fprintf(out, "task %s, %s: %d effects, of which %d done, %d failed, %d in doubt, %d intended\n", printable(string(p.Header.Task)), stateName(p.Head.State),
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
		s.field("now", "%s", remedy(e.Effect, p.Head.State.Terminal(), s.now))
	}
	return broken("the record", report, logs)
}

// remedy says what becomes of an effect, and what an operator may do.
func remedy(e lifecycle.Effect, ended bool, now time.Time) string {
	switch {
	case e.State == lifecycle.EffectDone:
		return "nothing: the recorded result is the answer, it is never called again"
	case e.State == lifecycle.EffectFailed && ended:
		return "nothing: its call said that it did nothing, and the task has ended"
	case e.State == lifecycle.EffectFailed:
		return "it did nothing, and is called again when its step runs again"
	case e.State == lifecycle.EffectIntended && now.Before(e.CallUntil):
		return "its caller may still be calling: look again at " + instant(e.CallUntil)
	case ended:
		return "in doubt, and the task has ended: ask the other side what became of this key"
	}
	switch e.Policy {
	case lifecycle.PolicyRetry:
		return "in doubt: it is called again with this key when its step runs again"
	case lifecycle.PolicyReconcile:
		return "in doubt: its step asks the other side when it runs again"
	default:
		return "in doubt and held: an operator asks the other side what became of this key; the task waits"
	}
}
