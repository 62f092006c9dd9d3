package export_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// file is an export that somebody changes.
type file struct {
	t     *testing.T
	lines [][]byte // without their line feeds
}

func (f *file) bytes() []byte { return append(bytes.Join(f.lines, []byte{'\n'}), '\n') }

// at is the index of the nth line of a kind, from 0; -1 is the last one.
func (f *file) at(kind export.Kind, n int) int {
	var found []int
	for i, l := range f.lines {
		if bytes.HasPrefix(l, []byte(`{"kind":"`+kind+`"`)) {
			found = append(found, i)
		}
	}
	if n < 0 {
		n += len(found)
	}
	if n < 0 || n >= len(found) {
		f.t.Fatalf("there are %d lines of kind %s", len(found), kind)
	}
	return found[n]
}

// edit replaces text in the nth line of a kind.
func (f *file) edit(kind export.Kind, n int, pairs ...string) {
	i := f.at(kind, n)
	changed := strings.NewReplacer(pairs...).Replace(string(f.lines[i]))
	if changed == string(f.lines[i]) {
		f.t.Fatalf("%q is not in %s", pairs[0], f.lines[i])
	}
	f.lines[i] = []byte(changed)
}

func (f *file) drop(kind export.Kind, n int) {
	i := f.at(kind, n)
	f.lines = slices.Delete(f.lines, i, i+1)
}

func (f *file) swap(kind export.Kind, n, m int) {
	i, j := f.at(kind, n), f.at(kind, m)
	f.lines[i], f.lines[j] = f.lines[j], f.lines[i]
}

func (f *file) repeat(kind export.Kind, n int) {
	i := f.at(kind, n)
	f.lines = slices.Insert(f.lines, i, f.lines[i])
}

// entry changes an entry's envelope and payload, and recomputes its payload's digest.
func (f *file) entry(n int, change func(e *lifecycle.Entry, payload map[string]any)) {
	i := f.at(export.KindEntry, n)
	var l export.Line
	if err := json.Unmarshal(f.lines[i], &l); err != nil {
		f.t.Fatal(err)
	}
	var payload map[string]any
	if err := json.Unmarshal(l.Entry.Payload, &payload); err != nil {
		f.t.Fatal(err)
	}
	change(l.Entry, payload)
	raw, err := lifecycle.Canonical(payload)
	if err != nil {
		f.t.Fatal(err)
	}
	l.Entry.Payload, l.Entry.PayloadDigest = raw, lifecycle.DigestBytes(raw)
	f.put(i, l)
}

func (f *file) put(i int, l export.Line) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(l); err != nil {
		f.t.Fatal(err)
	}
	f.lines[i] = bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// rechain numbers and chains all entries anew and has head and trailer say the same: the work of somebody who knows how.
func (f *file) rechain() {
	var seq uint64
	var chain lifecycle.Digest
	for i, raw := range f.lines {
		var l export.Line
		if err := json.Unmarshal(raw, &l); err != nil {
			f.t.Fatal(err)
		}
		switch {
		case l.Entry != nil:
			seq++
			l.Entry.Seq = seq
			l.Entry.Chain = l.Entry.ChainAfter(chain)
			chain = l.Entry.Chain
		case l.Settled != nil:
			l.Settled.Receipt = lifecycle.TerminalReceipt{Seq: seq, Chain: chain}
		case l.Head != nil:
			l.Head.Seq, l.Head.Chain = seq, chain
		default:
			continue
		}
		f.put(i, l)
	}
	f.reseal()
}

// reseal writes the trailer anew.
func (f *file) reseal() {
	f.lines = f.lines[:f.at(export.KindTrailer, 0)]
	var t export.Trailer
	h := sha256.New()
	for _, raw := range f.lines {
		h.Write(append(slices.Clone(raw), '\n'))
		var l export.Line
		if err := json.Unmarshal(raw, &l); err != nil {
			f.t.Fatal(err)
		}
		if l.Entry != nil {
			t.Seq, t.Chain = l.Entry.Seq, l.Entry.Chain
		}
		counts := map[export.Kind]*int{
			export.KindHeader: &t.Counts.Header, export.KindEntry: &t.Counts.Entry, export.KindArtifact: &t.Counts.Artifact, export.KindEffect: &t.Counts.Effect,
			export.KindPolicy: &t.Counts.Policy, export.KindSettled: &t.Counts.Settled, export.KindRejection: &t.Counts.Rejection, export.KindLate: &t.Counts.Late, export.KindAct: &t.Counts.Act, export.KindEndpoint: &t.Counts.Endpoint, export.KindHead: &t.Counts.Head,
		}
		*counts[l.Kind]++
	}
	t.Digest = lifecycle.Digest(hex.EncodeToString(h.Sum(nil)))
	f.lines = append(f.lines, nil)
	f.put(len(f.lines)-1, export.Line{Kind: export.KindTrailer, Trailer: &t})
}

// strip decodes and encodes a line, which drops what its kind does not have.
func (f *file) strip(kind export.Kind, n int) {
	i := f.at(kind, n)
	var l export.Line
	if err := json.Unmarshal(f.lines[i], &l); err != nil {
		f.t.Fatal(err)
	}
	f.put(i, l)
}

func open(t *testing.T, raw []byte) *file {
	t.Helper()
	f := &file{t: t}
	for line := range bytes.Lines(raw) {
		f.lines = append(f.lines, bytes.TrimSuffix(slices.Clone(line), []byte{'\n'}))
	}
	return f
}

func (f *file) resealed() string {
	f.reseal()
	return string(f.bytes())
}
