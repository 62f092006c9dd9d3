package export

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// checkHead holds the head against the fold of the entries, and against the
// invariants of one task.
func (v *verifier) checkHead() {
	h := lifecycle.Head(v.report.Head.HeadFields)
	if other := differing(h.Folded(), v.task.Folded()); len(other) > 0 {
		v.brokenAt(v.headLine, "I1", "folding the entries gives another head: %s differ", strings.Join(other, ", "))
		return
	}
	for _, b := range lifecycle.Check(lifecycle.Task{Head: h, Arts: v.task.Arts}) {
		v.brokenAt(v.headLine, b.Invariant, "%s", b.Detail)
	}
	if m := v.report.Head.Moved; m != nil && (m.Seq < h.Seq || m.Fence < h.Fence) {
		v.brokenAt(v.headLine, "I3", "the task moved from entry %d and fence %d to entry %d and fence %d", h.Seq, h.Fence, m.Seq, m.Fence)
	}
	if holder, is := v.holders[h.Fence]; is && h.Fence > 0 && h.Holder != "" && h.Holder != holder {
		v.brokenAt(v.headLine, "I3", "%q holds fence %d, under which %q has written", h.Holder, h.Fence, holder)
	}
}

// differing names the fields in which two heads differ.
func differing(a, b lifecycle.Head) []string {
	x, y := fields(a), fields(b)
	var out []string
	for name := range maps.Keys(x) {
		if x[name] != y[name] {
			out = append(out, name)
		}
	}
	for name := range maps.Keys(y) {
		if _, is := x[name]; !is {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

func fields(h lifecycle.Head) map[string]string {
	raw, err := json.Marshal(HeadFields(h))
	var members map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(raw, &members)
	}
	out := map[string]string{}
	if err != nil {
		out["the head, which cannot be written as JSON"] = err.Error()
	}
	for name, value := range members {
		out[name] = string(value)
	}
	return out
}

// checkArtifacts holds the artifacts against the chunks that were folded.
func (v *verifier) checkArtifacts() {
	seen := map[a2a.ArtifactID]bool{}
	for i, a := range v.artifacts {
		if i > 0 && a.T.ID <= v.artifacts[i-1].T.ID {
			v.brokenAt(a.line, "I6", "artifact %q after %q: they come once, by ID", a.T.ID, v.artifacts[i-1].T.ID)
		}
		seen[a.T.ID] = true
		if v.report.Head.Moved != nil && a.T.Seq > v.report.Seq {
			continue // it grew behind the last entry of the export
		}
		if want, is := v.task.Arts[a.T.ID]; !is || want != a.T {
			v.brokenAt(a.line, "I6", "artifact %q has revision %d, %d chunks, %d bytes and digest %s; its entries give revision %d, %d chunks, %d bytes and %s",
				a.T.ID, a.T.Revision, a.T.Chunks, a.T.Bytes, a.T.Digest, want.Revision, want.Chunks, want.Bytes, want.Digest)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(v.task.Arts)) {
		if !seen[id] {
			v.brokenAt(v.headLine, "I6", "artifact %q is in the entries and has no line", id)
		}
	}
}

// checkEffects tests each record by itself, and that there is one for each effect.
func (v *verifier) checkEffects() {
	_, fence := v.reach()
	for i, located := range v.effects {
		e, say := located.T, func(format string, args ...any) {
			v.brokenAt(located.line, "I7", "effect %q of visit %d: "+format, append([]any{located.T.Name, located.T.Visit}, args...)...)
		}
		if i > 0 {
			if last := v.effects[i-1].T; e.Visit < last.Visit || e.Visit == last.Visit && e.Name <= last.Name {
				say("it comes after effect %q of visit %d: there is one record for each, in order", last.Name, last.Visit)
			}
		}
		if want := lifecycle.EffectKey(v.task.Task, e.Visit, e.Name); e.Key != want {
			say("its key is %q, which comes from task, visit and name as %q", e.Key, want)
		}
		if e.Fence < 1 || e.Fence > fence {
			say("begun under fence %d, and the task has had fences up to %d", e.Fence, fence)
		}
		if holder, is := v.holders[e.Fence]; is && holder != e.Holder {
			say("begun by %q under fence %d, under which %q has written", e.Holder, e.Fence, holder)
		}
		if v.folding && v.report.Head.Moved == nil && (e.Visit < 1 || e.Visit > v.task.Visit) {
			say("the task has had visits up to %d", v.task.Visit)
		}
		if problem := shapeOf(e); problem != "" {
			say("%s", problem)
		}
	}
}

// shapeOf says what is wrong with an effect's record as such.
func shapeOf(e Effect) string {
	settled := e.State == lifecycle.EffectDone || e.State == lifecycle.EffectFailed || e.State == lifecycle.EffectInDoubt
	switch {
	case !settled && e.State != lifecycle.EffectIntended:
		return "unknown state " + string(e.State)
	case e.Policy != lifecycle.PolicyRetry && e.Policy != lifecycle.PolicyReconcile && e.Policy != lifecycle.PolicyHold:
		return "unknown policy " + string(e.Policy)
	case e.Calls < 1 || e.Revision < 1:
		return "it was never begun"
	case e.IntendedAt.IsZero() || !e.CallUntil.After(e.IntendedAt):
		return "no time was left to call it when it was begun"
	case settled && (e.SettledAt.IsZero() || e.Revision < 2):
		return "it is " + string(e.State) + " and was never settled"
	case !settled && (!e.SettledAt.IsZero() || e.ResultDigest != "" || len(e.Result) > 0):
		return "it is " + string(e.State) + " and has been settled"
	case e.State == lifecycle.EffectDone && e.ResultDigest == "":
		return "it is done and has no result"
	case len(e.Result) > 0 && (lifecycle.DigestBytes(e.Result) != e.ResultDigest || len(e.Result) != e.ResultBytes):
		return "its result has the digest " + string(lifecycle.DigestBytes(e.Result)) + ", recorded is " + string(e.ResultDigest)
	}
	return ""
}

// checkCounts holds the counters against what was kept. What is refused is counted,
// and kept up to a limit (I2).
func (v *verifier) checkCounts() {
	c := v.report.Head.Counts
	if c == nil {
		if v.report.Header.Scope == Operator {
			v.brokenAt(v.headLine, "I4", "an operator's export without counters")
		}
		return
	}
	if v.report.Header.Scope == Caller {
		v.brokenAt(v.headLine, "I4", "counters in an export for a caller")
	}
	kept, incidents := len(v.rejected), 0
	for _, r := range v.rejected {
		if r.Reason == lifecycle.ConflictingContent {
			incidents++
		}
	}
	if kept > c.Rejections || kept < min(c.Rejections, lifecycle.MaxRejections) && v.report.Head.Moved == nil {
		v.brokenAt(v.headLine, "I2", "%d rejections are kept of %d that were counted", kept, c.Rejections)
	}
	if late := len(v.late); late > c.Quarantined || late < min(c.Quarantined, lifecycle.MaxQuarantined) && v.report.Head.Moved == nil {
		v.brokenAt(v.headLine, "I2", "%d late outputs are kept of %d that were counted", late, c.Quarantined)
	}
	if len(v.late) > 0 && v.folding && v.task.State != lifecycle.Canceled && v.report.Head.Moved == nil {
		v.brokenAt(v.late[0].line, "I2", "late output is kept of a task that is %s: only what comes after a cancellation is", v.task.State)
	}
	if acts := len(v.acts); acts > c.Acts || acts < c.Acts && v.report.Head.Moved == nil {
		v.brokenAt(v.headLine, "I4", "%d actions of operators are kept of %d that were counted", acts, c.Acts)
	}
	if incidents > c.Incidents || c.Incidents > c.Rejections {
		v.brokenAt(v.headLine, "I6", "%d incidents are kept of %d that were counted, in %d rejections", incidents, c.Incidents, c.Rejections)
	}
}

// beyond says whether an attempt sent what a task at a sequence does not have. One that
// has come to no answer may be about the place behind the last entry: its sender died
// after everything was taken, or was told of an entry that was never committed.
func (a Attempt) beyond(seq uint64) bool {
	return a.Seq > seq+1 || a.Seq == seq+1 && a.Status != 0
}

// checkEndpoints tests that nothing was delivered that there is not (I11).
func (v *verifier) checkEndpoints() {
	seq, _ := v.reach()
	for i, located := range v.endpoints {
		e := located.T
		if i > 0 && e.ID <= v.endpoints[i-1].T.ID {
			v.brokenAt(located.line, "I11", "endpoint %q after %q: they come once, by ID", e.ID, v.endpoints[i-1].T.ID)
		}
		if e.Cursor > seq {
			v.brokenAt(located.line, "I11", "endpoint %q has taken entry %d, and the task is at %d", e.ID, e.Cursor, seq)
		}
		if at := strings.Index(e.Origin, "://"); at < 0 || strings.ContainsAny(e.Origin[at+len("://"):], "/?#@") {
			v.brokenAt(located.line, "I9", "endpoint %q shows more of its address than scheme and host", e.ID)
		}
		if slices.ContainsFunc(e.Attempts, func(a Attempt) bool { return a.beyond(seq) }) {
			v.brokenAt(located.line, "I11", "endpoint %q was sent an entry behind %d", e.ID, seq)
		}
	}
}
