package sqlite

import (
	"bytes"
	"runtime"
	"testing"
	"weak"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestTailIsBounded: a tail has the last entries without a gap, within its bounds, and
// what is no longer in it is not kept alive by it.
func TestTailIsBounded(t *testing.T) {
	for name, size := range map[string]int{"small": 10, "medium": 1_000, "large": 7_000, "half": maxTailBytes/2 - 400, "whole": maxTailBytes - 400, "too large": maxTailBytes} {
		var all tail
		var payloads []weak.Pointer[byte]
		for seq := uint64(1); seq <= 300; seq++ {
			payload := bytes.Repeat([]byte("x"), size)
			payloads = append(payloads, weak.Make(&payload[0]))
			all = all.and([]lifecycle.Entry{{Seq: seq, Payload: payload}})
			weight := 0
			for i, e := range all.entries {
				weight += weightOf(e)
				if e.Seq != seq-uint64(len(all.entries)-1-i) {
					t.Fatalf("%s: at entry %d, place %d has entry %d", name, seq, i, e.Seq)
				}
			}
			if weight != all.bytes || weight > maxTailBytes || len(all.entries) > maxTailEntries {
				t.Fatalf("%s: at entry %d, %d entries of %d bytes, counted are %d", name, seq, len(all.entries), weight, all.bytes)
			}
			if fits := weight > 0; fits != (size < maxTailBytes-399) {
				t.Fatalf("%s: at entry %d it is empty: %t", name, seq, !fits)
			}
		}
		runtime.GC()
		alive := 0
		for _, p := range payloads {
			if p.Value() != nil {
				alive++
			}
		}
		if alive > len(all.entries) {
			t.Errorf("%s: %d payloads are alive, %d entries are in the tail", name, alive, len(all.entries))
		}
		runtime.KeepAlive(all)
	}
}
