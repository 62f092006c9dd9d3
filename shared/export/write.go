package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Source is what an export reads of a ledger: reads that see every commit that was
// answered before they began.
type Source interface {
	Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error)
	Entries(ctx context.Context, ref lifecycle.Ref, after uint64, limit int) ([]lifecycle.Entry, error)
	Artifacts(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Artifact, error)
	Rejections(ctx context.Context, ref lifecycle.Ref) ([]ledger.Rejected, error)
	Counts(ctx context.Context, ref lifecycle.Ref) (ledger.Counts, error)
	EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error)
	Quarantine(ctx context.Context, ref lifecycle.Ref) ([]ledger.Quarantined, error)
	Acts(ctx context.Context, ref lifecycle.Ref) ([]ledger.Acted, error)
	EndpointList(ctx context.Context, ref lifecycle.Ref) ([]ledger.Endpoint, error)
}

const (
	// pageEntries is how many entries are held in memory: an entry may have 384 KB.
	pageEntries = 32
	// maxRounds is how often a task that moves is followed.
	maxRounds = 8
)

// Options say for whom an export is, and when it was made.
type Options struct {
	Scope Scope
	At    time.Time
	// Policies are where the task's document is looked up; nil: the export has none.
	Policies *policy.Set
}

// writer writes lines and accounts for them.
type writer struct {
	out    io.Writer
	buf    bytes.Buffer
	sum    hash.Hash
	counts Counts
	seq    uint64
	chain  lifecycle.Digest
	record settling
}

// Write exports a task. ErrNotFound of package ledger comes before anything was
// written, or when the task was purged meanwhile; what was written is then cut, and
// lacks its trailer.
func Write(ctx context.Context, out io.Writer, src Source, ref lifecycle.Ref, o Options) (Trailer, error) {
	h, err := src.Head(ctx, ref)
	if err != nil {
		return Trailer{}, err
	}
	w := &writer{out: out, sum: sha256.New()}
	if err := w.line(Line{Kind: KindHeader, Header: &Header{
		Format: Format, Task: h.Task, Tenant: h.Tenant, Agent: h.Agent, AgentVersion: h.AgentVersion, Policy: h.Policy,
		Scope: o.Scope, ExportedAt: lifecycle.Millis(o.At), SDK: SDK,
	}}); err != nil {
		return Trailer{}, err
	}
	for round := 1; ; round++ {
		if err := w.entries(ctx, src, ref, h.Seq); err != nil {
			return Trailer{}, err
		}
		beside, err := readBeside(ctx, src, ref, o.Scope, w.record)
		if err != nil {
			return Trailer{}, err
		}
		now, err := src.Head(ctx, ref)
		if err != nil {
			return Trailer{}, err
		}
		var moved *Moved
		switch {
		case now.Seq == h.Seq && beside.steady && beside.seq <= now.Seq:
			h = now // the same entries, perhaps another lease
		case round < maxRounds:
			h = now
			continue
		default:
			moved = &Moved{Seq: max(now.Seq, beside.seq), Fence: now.Fence}
		}
		head := Line{Kind: KindHead, Head: &Head{HeadFields: HeadFields(h), Counts: beside.counts, Moved: moved}}
		lines := append(slices.Concat(beside.lines, []Line{head}), w.record.document(o.Policies)...)
		if beside.settlement != nil {
			lines = append(lines, Line{Kind: KindSettled, Settled: beside.settlement})
		}
		return w.close(lines)
	}
}

// entries writes the entries up to a sequence.
func (w *writer) entries(ctx context.Context, src Source, ref lifecycle.Ref, upTo uint64) error {
	for w.seq < upTo {
		page, err := src.Entries(ctx, ref, w.seq, int(min(pageEntries, upTo-w.seq)))
		if err != nil {
			return err
		}
		if len(page) == 0 {
			return nil // the ledger lacks some; whoever verifies the export will see
		}
		for _, e := range page {
			if err := w.line(Line{Kind: KindEntry, Entry: &e}); err != nil {
				return err
			}
			w.seq, w.chain = e.Seq, e.Chain
			if err := w.record.add(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// close writes what comes after the entries.
func (w *writer) close(lines []Line) (Trailer, error) {
	for _, l := range lines {
		if err := w.line(l); err != nil {
			return Trailer{}, err
		}
	}
	t := Trailer{Counts: w.counts, Digest: lifecycle.Digest(hex.EncodeToString(w.sum.Sum(nil))), Seq: w.seq, Chain: w.chain}
	return t, w.line(Line{Kind: KindTrailer, Trailer: &t})
}

// line writes one line.
func (w *writer) line(l Line) error {
	w.buf.Reset()
	if err := encode(&w.buf, l); err != nil {
		return err
	}
	w.counts.add(l.Kind)
	w.sum.Write(w.buf.Bytes())
	_, err := w.out.Write(w.buf.Bytes())
	return err
}

// encode appends a line with its line feed. Payloads stay byte by byte what they
// are: HTML's characters are not escaped.
func encode(b *bytes.Buffer, l Line) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		return fmt.Errorf("encoding a line of kind %s: %w", l.Kind, err)
	}
	return nil
}

// beside is what a ledger keeps beside the entries, as lines in their order.
type beside struct {
	lines  []Line
	counts *ledger.Counts
	// settlement is of these effects; nil while the task lives, and for callers.
	settlement *policy.Settlement
	// steady says that nothing was refused, and no operator acted, while this was read.
	steady bool
	// seq is how far the artifacts are. A ledger may show them a moment before the head
	// that came with them.
	seq uint64
}

func readBeside(ctx context.Context, src Source, ref lifecycle.Ref, scope Scope, record settling) (beside, error) {
	var b beside
	arts, err := src.Artifacts(ctx, ref)
	if err != nil {
		return b, err
	}
	for _, a := range arts {
		b.lines, b.seq = append(b.lines, Line{Kind: KindArtifact, Artifact: &a}), max(b.seq, a.Seq)
	}
	if scope != Operator {
		b.steady = true
		return b, nil
	}
	before, err := src.Counts(ctx, ref)
	if err != nil {
		return b, err
	}
	effects, err := src.EffectList(ctx, ref)
	if err != nil {
		return b, err
	}
	for _, e := range effects {
		b.lines = append(b.lines, Line{Kind: KindEffect, Effect: EffectOf(e)})
	}
	if b.settlement, err = record.settle(effects); err != nil {
		return b, err
	}
	rejections, err := src.Rejections(ctx, ref)
	if err != nil {
		return b, err
	}
	for _, r := range rejections {
		r.At = r.At.UTC()
		b.lines = append(b.lines, Line{Kind: KindRejection, Rejection: &r})
	}
	late, err := src.Quarantine(ctx, ref)
	if err != nil {
		return b, err
	}
	for _, q := range late {
		b.lines = append(b.lines, Line{Kind: KindLate, Late: &Late{At: q.At.UTC(), Producer: q.Producer, EventID: q.EventID, Digest: q.Digest, Bytes: q.Bytes}})
	}
	acts, err := src.Acts(ctx, ref)
	if err != nil {
		return b, err
	}
	for _, a := range acts {
		a.At = a.At.UTC()
		b.lines = append(b.lines, Line{Kind: KindAct, Act: &a})
	}
	endpoints, err := src.EndpointList(ctx, ref)
	if err != nil {
		return b, err
	}
	for _, e := range endpoints {
		b.lines = append(b.lines, Line{Kind: KindEndpoint, Endpoint: EndpointOf(e)})
	}
	counts, err := src.Counts(ctx, ref)
	b.counts, b.steady = &counts, counts.Rejections == before.Rejections && counts.Quarantined == before.Quarantined && counts.Acts == before.Acts
	return b, err
}

// EffectOf is an effect's record with its result, or with the result's digest alone.
func EffectOf(e lifecycle.Effect) *Effect {
	out := &Effect{Effect: e}
	out.Result = nil
	if len(e.Result) == 0 {
		return out
	}
	var compact bytes.Buffer
	if json.Compact(&compact, e.Result) != nil { // no JSON: an operator's note
		out.ResultDigest, out.ResultBytes = lifecycle.DigestBytes(e.Result), len(e.Result)
		return out
	}
	out.ResultDigest, out.ResultBytes = lifecycle.DigestBytes(compact.Bytes()), compact.Len()
	if compact.Len() <= maxResultBytes {
		out.Result = compact.Bytes()
	}
	return out
}

// EndpointOf is a webhook without its secrets.
func EndpointOf(e ledger.Endpoint) *Endpoint {
	d := e.Delivery
	var attempts []Attempt
	for _, a := range d.Attempts {
		a.At = a.At.UTC() // ledgers keep instants, and some their zones
		attempts = append(attempts, Attempt(a))
	}
	return &Endpoint{
		ID: e.ID, Origin: e.Origin(), Scheme: e.Scheme, CreatedAt: e.CreatedAt.UTC(), State: d.State, Cursor: d.Cursor, Wanted: d.Wanted,
		Delivered: d.Delivered, Failures: d.Failures, Attempt: d.Attempt, NextAt: d.NextAt.UTC(), Holder: d.Holder, Attempts: attempts,
	}
}
