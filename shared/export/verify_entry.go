package export

import (
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// entry checks an entry: its links to the one before, then what it says.
func (v *verifier) entry(e lifecycle.Entry) {
	if v.task.Task == "" { // there was no header
		v.task.Task = e.Task
	}
	err := v.link(e)
	v.report.Seq, v.report.Chain = e.Seq, e.Chain
	if err != nil {
		v.broken("I1", "%v", err)
		v.folding = false
	}
	if known, is := v.holders[e.Fence]; e.Fence > 0 && is && known != e.Holder {
		v.broken("I3", "entry %d was written by %q under fence %d, which was granted to %q", e.Seq, e.Holder, e.Fence, known)
	}
	if e.Fence > 0 {
		v.holders[e.Fence] = e.Holder
	}
	if last := v.sources[e.Producer]; e.SourceSeq > 0 && e.SourceSeq < last {
		v.broken("I1", "entry %d is report %d of %s, after its report %d", e.Seq, e.SourceSeq, e.Producer, last)
	}
	v.sources[e.Producer] = max(v.sources[e.Producer], e.SourceSeq)
	if !v.folding {
		return
	}
	ev, err := e.Event()
	if err != nil {
		v.broken("I1", "%v", err)
		v.folding = false
		return
	}
	next, err := lifecycle.Apply(v.task, e)
	if err != nil {
		v.broken(invariantOf(v.task, e, ev, err), "%v", err)
		v.folding = false
		return
	}
	v.content(e, ev)
	v.task = next
	if err := v.record.add(e); err != nil {
		v.broken("I1", "%v", err)
	}
	if ev.Ending != nil {
		v.report.Manifest = ev.Ending.ManifestDigest
	}
	if err := v.folded(v.task.Ref(), e); err != nil {
		v.broken("I1", "%v", err)
		v.folding = false
	}
}

// link holds an entry against the one before it.
func (v *verifier) link(e lifecycle.Entry) error {
	switch {
	case e.Task != v.task.Task:
		return fmt.Errorf("entry %d belongs to task %s, the export is of %s", e.Seq, e.Task, v.task.Task)
	case e.Seq != v.report.Seq+1:
		return fmt.Errorf("entry %d follows entry %d: the numbering has a gap", e.Seq, v.report.Seq)
	}
	if got := lifecycle.DigestBytes(e.Payload); got != e.PayloadDigest {
		return fmt.Errorf("entry %d: the payload's digest is %s, recorded is %s", e.Seq, got, e.PayloadDigest)
	}
	if got := e.ChainAfter(v.report.Chain); got != e.Chain {
		return fmt.Errorf("entry %d: the chain gives %s, recorded is %s", e.Seq, got, e.Chain)
	}
	return nil
}

// invariantOf names what is broken by an entry that is linked and does not fold.
func invariantOf(t lifecycle.Task, e lifecycle.Entry, ev lifecycle.Event, err error) string {
	switch {
	case t.Seq > 0 && ev.Type == lifecycle.TypeSubmitted:
		return "I5"
	case lifecycle.RejectedFor(err, lifecycle.PostTerminal):
		return "I2"
	case lifecycle.RejectedFor(err, lifecycle.ReceiptRequired, lifecycle.ReceiptInvalid), leavesUnauthorized(t, ev):
		return "I12"
	case e.Fence > 0 && e.Fence < t.EntryFence:
		return "I3"
	case ev.Type == lifecycle.TypePaused && (ev.Pause == nil || ev.Pause.DeadlineAt.IsZero() || !ev.Pause.Outcome.Terminal()):
		return "I8"
	case lifecycle.RejectedFor(err, lifecycle.OpenArtifact), ev.Chunk != nil, ev.Ending != nil && !lifecycle.RejectedFor(err, lifecycle.IllegalTransition):
		return "I6"
	}
	return "I1"
}

// leavesUnauthorized says whether an event goes on from auth-required without being
// a receipt.
func leavesUnauthorized(t lifecycle.Task, ev lifecycle.Event) bool {
	if t.State != lifecycle.AuthRequired || ev.Type == lifecycle.TypeAuthorized {
		return false
	}
	return ev.State == lifecycle.Working || ev.State == lifecycle.InputRequired || ev.State == lifecycle.Completed
}

// content checks what folding does not look at.
func (v *verifier) content(e lifecycle.Entry, ev lifecycle.Event) {
	if e.Fence > 0 && e.Holder == "" { // the other way round is whoever asks for the lease
		v.broken("I3", "entry %d has fence %d and no holder: a lease has both", e.Seq, e.Fence)
	}
	if c := ev.Chunk; c != nil {
		if err := checkChunk(c); err != nil {
			v.broken("I6", "entry %d, chunk %d of revision %d of artifact %q: %v", e.Seq, c.Number, c.Revision, c.Artifact, err)
		}
	}
	if p, longest := ev.Pause, v.task.LongestPause(); p != nil && p.DeadlineAt.After(e.AcceptedAt.Add(longest)) {
		v.broken("I8", "entry %d: pause %d lasts until %s, longer than the %s that its policy allows", e.Seq, p.Number, p.DeadlineAt.Format("2006-01-02T15:04:05Z"), longest)
	}
	if s := ev.Submission; s != nil {
		h := v.report.Header
		if h.Format > 0 && (s.Agent != h.Agent || s.AgentVersion != h.AgentVersion || s.Policy != h.Policy) {
			v.broken("I4", "the header says agent %s@%d under policy %s, the submission %s@%d under %s", h.Agent, h.AgentVersion, h.Policy, s.Agent, s.AgentVersion, s.Policy)
		}
		if s.RetainSeconds <= 0 || !s.LifeEndsAt.After(e.AcceptedAt) {
			v.broken("I8", "entry %d: a task with a life until %s and a retention of %d s", e.Seq, s.LifeEndsAt, s.RetainSeconds)
		}
	}
}

// checkChunk holds a chunk's content against its checksum. Bytes in the blob store
// are named by it.
func checkChunk(c *lifecycle.Chunk) error {
	if blob, moved := lifecycle.AsBlob(c.Part); moved {
		if blob.Digest != c.Checksum || blob.Bytes != c.Bytes {
			return fmt.Errorf("it names %d bytes with digest %s, its checksum is %s over %d", blob.Bytes, blob.Digest, c.Checksum, c.Bytes)
		}
		return nil
	}
	content, err := lifecycle.PartContent(c.Part)
	if err != nil {
		return err
	}
	if got := lifecycle.DigestBytes(content); got != c.Checksum || int64(len(content)) != c.Bytes {
		return fmt.Errorf("its content of %d bytes has the checksum %s, recorded is %s over %d", len(content), got, c.Checksum, c.Bytes)
	}
	return nil
}
