package sqlite

import (
	"bytes"
	"slices"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Bounds of the entries that are kept in memory beside a head.
const (
	maxTailEntries = 64
	maxTailBytes   = 32 << 10
	// maxTails bounds all of them together.
	maxTails = 32 << 20
)

// tail is the last entries of a task, for those who read what was just
// committed: the next step, a waiting caller, a stream. Entries never change, so
// a tail is a picture that can be handed on.
type tail struct {
	entries []lifecycle.Entry // contiguous, up to the head's sequence
	bytes   int
}

// and is the tail with more entries behind it. Only the writer extends a tail,
// and a task has one history, so pictures may share an array: nobody looks
// beyond the end of its own. When it is too long it is cut to the half of what it may
// be, into an array of its own: in the old one all that was cut off would stay as well.
func (t tail) and(added []lifecycle.Entry) tail {
	for _, e := range added {
		t.entries = append(t.entries, e)
		t.bytes += weightOf(e)
	}
	if len(t.entries) <= maxTailEntries && t.bytes <= maxTailBytes {
		return t
	}
	for len(t.entries) > maxTailEntries/2 || t.bytes > maxTailBytes/2 && len(t.entries) > 1 || t.bytes > maxTailBytes {
		t.bytes -= weightOf(t.entries[0])
		t.entries = t.entries[1:]
	}
	t.entries = slices.Clone(t.entries)
	return t
}

func weightOf(e lifecycle.Entry) int { return len(e.Payload) + 400 }

// after gives up to limit entries after a sequence (0 for all), or false when
// they are not all here.
func (t tail) after(seq uint64, limit int) ([]lifecycle.Entry, bool) {
	if len(t.entries) == 0 || t.entries[0].Seq > seq+1 {
		return nil, false
	}
	from := min(seq+1-t.entries[0].Seq, uint64(len(t.entries)))
	rest := t.entries[from:]
	if limit > 0 && limit < len(rest) {
		rest = rest[:limit]
	}
	return own(rest), true
}

// own copies entries, so that whoever handed them in or gets them may go on with
// its own.
func own(entries []lifecycle.Entry) []lifecycle.Entry {
	out := make([]lifecycle.Entry, len(entries))
	for i, e := range entries {
		e.Payload = bytes.Clone(e.Payload)
		out[i] = e
	}
	return out
}
