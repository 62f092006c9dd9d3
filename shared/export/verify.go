package export

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Verify checks an export on its own: the form of its lines and its trailer (I4:
// what is shown is what was committed), the numbering, the chain and the fold (I1),
// terminal states (I2), fences (I3), coordinates, checksums and the manifest (I6),
// effects (I7), deadlines and expiry (I8), whose data it holds (I10), deliveries
// (I11) and authorizations (I12).
//
// The error is one of reading, ErrNoExport or ErrNewer. What is wrong with the export is in the
// report.
func Verify(r io.Reader) (Report, error) {
	v := newVerifier(func(lifecycle.Ref, lifecycle.Entry) error { return nil })
	err := v.read(r)
	return v.report, err
}

// newVerifier hands on each entry that was folded.
func newVerifier(folded func(lifecycle.Ref, lifecycle.Entry) error) *verifier {
	return &verifier{sum: sha256.New(), folding: true, folded: folded, holders: map[uint64]string{}, sources: map[string]uint64{}}
}

// read checks all lines, and then what needs all of them.
func (v *verifier) read(r io.Reader) error {
	const chunk = 64 << 10
	for in := bufio.NewReaderSize(r, chunk); ; {
		raw, ended, err := nextLine(in)
		if errors.Is(err, io.EOF) {
			break
		}
		v.line++
		if errors.Is(err, errLong) {
			v.broken("I4", "%v", err)
			break
		}
		if err == nil {
			err = v.take(raw, ended)
		}
		if err != nil {
			return err
		}
	}
	v.end()
	slices.SortStableFunc(v.report.Violations, func(a, b Violation) int { return cmp.Compare(a.Line, b.Line) })
	return nil
}

// verifier is the state of a check between two lines.
type verifier struct {
	report  Report
	line    int
	rank    int // of the last line's kind
	sum     hash.Hash
	trailer bool

	task lifecycle.Task
	// folding says that all entries so far could be folded. After one that could not,
	// links alone are checked.
	folding bool
	folded  func(lifecycle.Ref, lifecycle.Entry) error
	holders map[uint64]string // by fence, as far as entries show them

	artifacts []located[lifecycle.Artifact]
	effects   []located[Effect]
	rejected  []ledger.Rejected
	late      []located[Late]
	acts      []ledger.Acted
	// record is what was recorded of the policy, and the end; settlement is the line.
	record     settling
	settlement located[*policy.Settlement]
	document   *Policy
	sources    map[string]uint64 // how far outside producers have counted
	endpoints  []located[Endpoint]
	headLine   int
}

// located is the content of a line, with its number.
type located[T any] struct {
	line int
	T    T
}

func (v *verifier) broken(invariant, format string, args ...any) {
	v.brokenAt(v.line, invariant, format, args...)
}

func (v *verifier) brokenAt(line int, invariant, format string, args ...any) {
	if len(v.report.Violations) < maxViolations {
		v.report.Violations = append(v.report.Violations, Violation{line, invariant, fmt.Sprintf(format, args...)})
	}
}

// take checks a line.
func (v *verifier) take(raw []byte, ended bool) error {
	if v.trailer {
		v.broken("I4", "something follows the trailer")
		return nil
	}
	if !ended {
		v.broken("I4", "the export ends within a line: it was cut")
	}
	l, err := decode(raw)
	if err != nil && v.line == 1 && l.Kind == "" {
		return ErrNoExport
	}
	if err == nil {
		err = v.place(l.Kind)
	}
	if l.Kind != KindTrailer {
		v.sum.Write(raw)
		v.sum.Write([]byte{'\n'})
	}
	if err != nil {
		v.broken("I4", "%v", err)
		v.folding = v.folding && l.Kind != KindEntry && l.Kind != ""
		return nil
	}
	v.report.Counts.add(l.Kind)
	switch l.Kind {
	case KindHeader:
		return v.header(*l.Header)
	case KindEntry:
		v.entry(*l.Entry)
		v.exact(raw, l)
	case KindPolicy:
		v.document = l.Policy
		v.policy(*l.Policy)
	case KindSettled:
		v.settlement = located[*policy.Settlement]{v.line, l.Settled}
	case KindArtifact:
		v.artifacts = append(v.artifacts, located[lifecycle.Artifact]{v.line, *l.Artifact})
	case KindEffect:
		v.effects = append(v.effects, located[Effect]{v.line, *l.Effect})
	case KindRejection:
		v.rejected = append(v.rejected, *l.Rejection)
	case KindLate:
		v.late = append(v.late, located[Late]{v.line, *l.Late})
	case KindAct:
		v.acts = append(v.acts, *l.Act)
	case KindEndpoint:
		v.endpoints = append(v.endpoints, located[Endpoint]{v.line, *l.Endpoint})
	case KindHead:
		v.report.Head, v.headLine = *l.Head, v.line
	case KindTrailer:
		v.trailer = true
		v.close(*l.Trailer)
	}
	return nil
}

// place holds a line's kind against the order of kinds.
func (v *verifier) place(k Kind) error {
	rank := slices.Index(kinds, k) + 1
	once := k == KindHeader || k == KindPolicy || k == KindSettled || k == KindHead || k == KindTrailer
	switch {
	case v.rank == 0 && k != KindHeader:
		v.rank = 1 // said once, not of every line
		return fmt.Errorf("an export begins with its header, not with a line of kind %s", k)
	case rank < v.rank, once && rank == v.rank:
		return fmt.Errorf("a line of kind %s after one of kind %s: it was moved or repeated", k, kinds[v.rank-1])
	}
	v.rank = rank
	if v.report.Header.Scope == Caller && (k == KindEffect || k == KindSettled || k == KindRejection || k == KindLate || k == KindAct || k == KindEndpoint) {
		return fmt.Errorf("a line of kind %s in an export for a caller", k)
	}
	if f := v.report.Header.Format; f > 0 && f < settled && (k == KindPolicy || k == KindSettled) {
		return fmt.Errorf("a line of kind %s in an export of format %d, which has none", k, f)
	}
	return nil
}

func (v *verifier) header(h Header) error {
	switch {
	case h.Format > Format:
		return fmt.Errorf("format %d, this build reads up to %d: %w", h.Format, Format, ErrNewer)
	case h.Format < 1:
		v.broken("I4", "format %d", h.Format)
	case h.Scope != Caller && h.Scope != Operator:
		v.broken("I4", "an export for %q: neither a caller nor an operator", h.Scope)
	}
	v.report.Header = h
	v.task = lifecycle.Task{Head: lifecycle.Head{Tenant: h.Tenant, Task: h.Task}}
	return nil
}

// exact wants an entry's line as the export writes it: what an entry has besides its
// fields is in no digest of the chain.
func (v *verifier) exact(raw []byte, l Line) {
	if last := len(v.report.Violations); last > 0 && v.report.Violations[last-1].Line == v.line {
		return // it has said more than that
	}
	var b bytes.Buffer
	if err := encode(&b, l); err != nil || !bytes.Equal(bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), raw) {
		v.broken("I4", "entry %d is not written as ledgers keep it", l.Entry.Seq)
	}
}

// close holds the trailer against the lines before it.
func (v *verifier) close(t Trailer) {
	if got := hex.EncodeToString(v.sum.Sum(nil)); lifecycle.Digest(got) != t.Digest {
		v.broken("I4", "the lines before the trailer have the digest %s, it says %s", got, t.Digest)
	}
	if t.Counts != v.report.Counts {
		v.broken("I4", "the trailer counts %+v, there are %+v", t.Counts, v.report.Counts)
	}
	if t.Seq != v.report.Seq || t.Chain != v.report.Chain {
		v.broken("I1", "the trailer ends at entry %d with chain %s, the entries at %d with %s", t.Seq, t.Chain, v.report.Seq, v.report.Chain)
	}
}

// end checks what needs all lines.
func (v *verifier) end() {
	if !v.trailer {
		v.line++
		v.broken("I4", "the trailer is missing: the export was cut")
	}
	if v.headLine == 0 {
		v.broken("I4", "the head is missing")
		return
	}
	if v.folding {
		v.checkHead()
		v.checkArtifacts()
	}
	v.checkEffects()
	if v.folding {
		v.checkSettlement()
	}
	v.checkCounts()
	v.checkEndpoints()
}

// reach is how far the ledger was when the export ended.
func (v *verifier) reach() (seq, fence uint64) {
	h := v.report.Head
	if h.Moved != nil {
		return h.Moved.Seq, h.Moved.Fence
	}
	return h.Seq, h.Fence
}
