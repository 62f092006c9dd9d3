package export

import (
	"fmt"
	"io"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Replayed is a task rebuilt from its export.
type Replayed struct {
	Header Header
	// Task is the task as callers see it.
	Task *a2a.Task
	// Head is folded from the entries; what entries do not determine is the export's.
	Head      Head
	Artifacts []Content
	Entries   []lifecycle.Entry
	Effects   []Effect
	Rejected  []ledger.Rejected
	Late      []Late
	Acts      []ledger.Acted
	Endpoints []Endpoint
	// Terms are what was recorded of the policy, nil for nothing; Policy is its document,
	// if the export has it.
	Terms  *lifecycle.Terms
	Policy *Policy
	// Settlement is made of what else the export has: of ended tasks, for operators.
	Settlement *policy.Settlement
	pieces     map[a2a.ArtifactID]*Content
	view       *lifecycle.View
}

// Content is an artifact with what the export holds of its content.
type Content struct {
	lifecycle.ArtifactItem

	Name string `json:"name,omitempty"`
	// Parts are the content of the chunks, as they were committed.
	Parts []*a2a.Part `json:"-"`
	// Blobs are the parts that are in the blob store and not in the export.
	Blobs []Blob `json:"blobs,omitempty"`
}

// Blob is a part that is not in the export.
type Blob struct {
	Number int              `json:"number"` // of its chunk
	SHA256 lifecycle.Digest `json:"sha256"`
	Bytes  int64            `json:"bytes"`
	Kind   string           `json:"kind"`
}

// Replay rebuilds a task from its export alone: entries are folded as they were
// when the task was committed. blobURL gives the addresses of what is in the blob
// store; nil names it by digest. With violations there is no task, for what cannot
// be trusted is not rebuilt.
func Replay(r io.Reader, blobURL func(lifecycle.Digest) string) (*Replayed, Report, error) {
	p, report, err := Read(r, blobURL)
	if err != nil || !report.OK() {
		return nil, report, err
	}
	return p, report, nil
}

// Read is Replay for those who have to see what is there although something is
// broken: the task is folded as far as its entries go.
func Read(r io.Reader, blobURL func(lifecycle.Digest) string) (*Replayed, Report, error) {
	if blobURL == nil {
		blobURL = func(d lifecycle.Digest) string { return "sha256:" + string(d) }
	}
	p := &Replayed{pieces: map[a2a.ArtifactID]*Content{}}
	v := newVerifier(func(ref lifecycle.Ref, e lifecycle.Entry) error {
		if p.view == nil {
			p.view = lifecycle.NewView(ref, blobURL)
		}
		return p.add(e)
	})
	if err := v.read(r); err != nil {
		return nil, v.report, err
	}
	p.Header, p.Head, p.Rejected, p.Acts = v.report.Header, v.report.Head, v.rejected, v.acts
	p.Head.HeadFields = HeadFields(restored(v.task.Head, lifecycle.Head(v.report.Head.HeadFields)))
	if p.view != nil {
		p.Task = p.view.Task()
	}
	var effects []lifecycle.Effect
	for _, e := range v.effects {
		p.Effects, effects = append(p.Effects, e.T), append(effects, e.T.Effect)
	}
	if v.record.accepted != nil {
		p.Terms, p.Policy = v.record.accepted.Terms, v.document
	}
	if p.Header.Scope == Operator {
		var err error
		if p.Settlement, err = v.record.settle(effects); err != nil {
			return nil, v.report, err
		}
	}
	for _, q := range v.late {
		p.Late = append(p.Late, q.T)
	}
	for _, e := range v.endpoints {
		p.Endpoints = append(p.Endpoints, e.T)
	}
	for _, item := range lifecycle.Manifest(v.task.Arts) {
		if c := p.pieces[item.ID]; c != nil {
			c.ArtifactItem = item
			p.Artifacts = append(p.Artifacts, *c)
		}
	}
	return p, v.report, nil
}

// add folds one entry into what callers see.
func (p *Replayed) add(e lifecycle.Entry) error {
	if _, err := p.view.Add(e); err != nil {
		return err
	}
	p.Entries = append(p.Entries, e)
	ev, err := e.Event()
	if err != nil || ev.Chunk == nil {
		return err
	}
	c := ev.Chunk
	if c.Part == nil {
		return fmt.Errorf("entry %d: a chunk without a part", e.Seq)
	}
	if c.Number == 1 {
		p.pieces[c.Artifact] = &Content{Name: c.Name}
	}
	content := p.pieces[c.Artifact]
	content.Parts = append(content.Parts, c.Part)
	if ref, moved := lifecycle.AsBlob(c.Part); moved {
		content.Blobs = append(content.Blobs, Blob{c.Number, ref.Digest, ref.Bytes, ref.Kind})
	}
	return nil
}

// restored is a folded head with the fields of another one that are not folded.
func restored(folded, other lifecycle.Head) lifecycle.Head {
	folded.Holder, folded.Fence, folded.LeaseUntil, folded.Grants = other.Holder, other.Fence, other.LeaseUntil, other.Grants
	folded.Generation, folded.Untaken, folded.Turns = other.Generation, other.Untaken, other.Turns
	folded.Cancel, folded.DueAt, folded.Key, folded.Op = other.Cancel, other.DueAt, other.Key, other.Op
	if !other.AckedAt.IsZero() {
		folded.AckedAt, folded.ExpiresAt = other.AckedAt, other.ExpiresAt
	}
	return folded
}
