package lifecycle_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/gowebpki/jcs"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// mutations changes one field of an entry each. The chain covers all of them (I1).
func mutations() map[string]func(*lifecycle.Entry, int64) {
	return map[string]func(*lifecycle.Entry, int64){
		"task":         func(e *lifecycle.Entry, n int64) { e.Task += "x" },
		"sequence":     func(e *lifecycle.Entry, n int64) { e.Seq += uint64(n) },
		"type":         func(e *lifecycle.Entry, n int64) { e.Type += "x" },
		"typeVersion":  func(e *lifecycle.Entry, n int64) { e.TypeVersion += int(n) },
		"payload":      func(e *lifecycle.Entry, n int64) { e.Payload = append(bytes.Clone(e.Payload), ' ') },
		"payload byte": func(e *lifecycle.Entry, n int64) { e.Payload = flip(e.Payload, n) },
		"payloadDigest": func(e *lifecycle.Entry, n int64) {
			e.PayloadDigest = lifecycle.Digest(flip([]byte(e.PayloadDigest), n))
		},
		"chain":      func(e *lifecycle.Entry, n int64) { e.Chain = lifecycle.Digest(flip([]byte(e.Chain), n)) },
		"producer":   func(e *lifecycle.Entry, n int64) { e.Producer += "x" },
		"eventId":    func(e *lifecycle.Entry, n int64) { e.EventID += "x" },
		"sourceSeq":  func(e *lifecycle.Entry, n int64) { e.SourceSeq += uint64(n) },
		"observedAt": func(e *lifecycle.Entry, n int64) { e.ObservedAt = e.ObservedAt.Add(time.Duration(n)) },
		"acceptedAt": func(e *lifecycle.Entry, n int64) { e.AcceptedAt = e.AcceptedAt.Add(time.Duration(n)) },
		"holder":     func(e *lifecycle.Entry, n int64) { e.Holder += "x" },
		"fence":      func(e *lifecycle.Entry, n int64) { e.Fence += uint64(n) },
		"opId":       func(e *lifecycle.Entry, n int64) { e.OpID += "x" },
		"text moved from one field to the next": func(e *lifecycle.Entry, n int64) {
			e.Producer, e.EventID = e.Producer+e.EventID[:1], e.EventID[1:]
		},
	}
}

func flip(b []byte, n int64) []byte {
	out := bytes.Clone(b)
	out[uint64(n)%uint64(len(out))] ^= 1
	return out
}

// richBook is a task with nearly every type of entry.
func richBook(t testing.TB) *book {
	t.Helper()
	b := started(t)
	r := b.report(lifecycle.VerbSubStep)
	r.Updates = []lifecycle.Update{{Message: say("a & b < c \u2028 \u00e9")}, {Chunk: chunk("report", "<one>", false)}}
	b.must(t, r, start.Add(time.Second))
	r = b.report(lifecycle.VerbPause)
	r.Message, r.Pause = say("May I?"), &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Challenge: &lifecycle.Challenge{Action: "revoke"}}
	b.must(t, r, start.Add(2*time.Second))
	b.must(t, lifecycle.Reply{Message: user("m-2", "Yes."), Grace: grace}, start.Add(3*time.Second))
	b.must(t, lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: 1, JTI: "A4"}, Grace: grace}, start.Add(4*time.Second))
	b.must(t, grant("a", 1), start.Add(5*time.Second))
	r = b.report(lifecycle.VerbPause)
	r.Message, r.Pause = say("Which?"), &lifecycle.PauseTerms{State: lifecycle.InputRequired}
	b.must(t, r, start.Add(6*time.Second))
	b.must(t, lifecycle.Reply{Message: user("m-3", "That one."), Grace: grace}, start.Add(7*time.Second))
	b.must(t, grant("b", 1), start.Add(8*time.Second))
	r = b.report(lifecycle.VerbRetry)
	r.Until, r.Reason = start.Add(9*time.Second), "refused"
	b.must(t, r, start.Add(8*time.Second))
	b.must(t, grant("b", 1), start.Add(9*time.Second))
	b.must(t, lifecycle.RequestCancel{Principal: "p"}, start.Add(9*time.Second))
	r = b.report(lifecycle.VerbComplete)
	r.Message, r.Updates = say("Done."), []lifecycle.Update{{Chunk: chunk("report", "two", true), Append: true}}
	b.must(t, r, start.Add(10*time.Second))
	return b
}

// TestMutatedEntriesAreRefused changes every field of every entry of a rich history.
func TestMutatedEntriesAreRefused(t *testing.T) {
	b := richBook(t)
	for i := range b.entries {
		before, err := lifecycle.Fold(b.task.Ref(), b.entries[:i])
		if err != nil {
			t.Fatal(err)
		}
		for field, mutate := range mutations() {
			e := b.entries[i]
			mutate(&e, 1)
			if _, err := lifecycle.Apply(before, e); err == nil {
				t.Errorf("entry %d with another %s was accepted", i+1, field)
			}
		}
		for field, order := range map[string][]lifecycle.Entry{
			"left out": append(append([]lifecycle.Entry{}, b.entries[:i]...), b.entries[i+1:]...),
			"twice":    append(append([]lifecycle.Entry{}, b.entries[:i+1]...), b.entries[i:]...),
		} {
			if _, err := lifecycle.Fold(b.task.Ref(), order); err == nil && i+1 < len(b.entries) {
				t.Errorf("a history with entry %d %s was accepted", i+1, field)
			}
		}
	}
}

// FuzzApply: an entry that was changed in any way is refused, and nothing makes Apply panic, also not an entry
// that a forger has chained correctly.
func FuzzApply(f *testing.F) {
	f.Add(uint(0), uint(0), int64(1), []byte(`{"state":"TASK_STATE_COMPLETED"}`))
	f.Add(uint(3), uint(5), int64(-1), []byte(`{"chunk":{"artifact":"report","revision":1,"number":3}}`))
	f.Add(uint(7), uint(9), int64(1_000_000), []byte(`{"ending":null,"pause":{}}`))
	b := richBook(f)
	names := make([]string, 0, len(mutations()))
	for field := range mutations() {
		names = append(names, field)
	}
	f.Fuzz(func(t *testing.T, at, field uint, n int64, payload []byte) {
		i := int(at % uint(len(b.entries)))
		before, err := lifecycle.Fold(b.task.Ref(), b.entries[:i])
		if err != nil {
			t.Fatal(err)
		}
		e := b.entries[i]
		name := names[field%uint(len(names))]
		mutations()[name](&e, n)
		if _, err := lifecycle.Apply(before, e); err == nil && !reflect.DeepEqual(e, b.entries[i]) {
			t.Fatalf("entry %d with another %s (%d) was accepted", i+1, name, n)
		}
		e = b.entries[i]
		e.Payload = payload
		e = lifecycle.Rechain(before, e)
		after, err := lifecycle.Apply(before, e)
		if err != nil {
			return
		}
		if after.Seq != before.Seq+1 || before.Terminal() {
			t.Fatalf("a forged %s entry made %+v of %+v", e.Type, after.Head, before.Head)
		}
		v, err := lifecycle.Seen(b.task.Ref(), append(append([]lifecycle.Entry{}, b.entries[:i]...), e), blobURL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(v.Task()); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzSealRoundTrip: whatever is sealed survives JSON, whatever characters are in it, and folds to the same.
func FuzzSealRoundTrip(f *testing.F) {
	for _, s := range []string{"plain", "<a href=\"x\">&amp;</a>", "\u2028\u2029", "\x00\x1f\x7f", "\xff\xfe", "\U0001F600", "é\u0301", `\u0041`, "\ufffd"} {
		f.Add(s, []byte(s), `{"n":9007199254740993,"f":1e-7,"s":"<&>"}`, 1.5)
	}
	f.Fuzz(func(t *testing.T, text string, raw []byte, state string, number float64) {
		b := started(t)
		r := b.report(lifecycle.VerbSubStep)
		r.State, r.Reason = json.RawMessage(state), text
		data := map[string]any{text: number, "k": []any{text, nil, true, number}}
		for _, part := range []*a2a.Part{a2a.NewTextPart(text), a2a.NewRawPart(raw), a2a.NewDataPart(data), a2a.NewFileURLPart(a2a.URL("x:"+text), text)} {
			m := say(text)
			m.Parts, m.Metadata = append(m.Parts, part), map[string]any{text: text}
			content, err := lifecycle.PartContent(part)
			if err != nil {
				continue
			}
			c := &lifecycle.Chunk{Artifact: "report", Name: text, Last: true, Part: part, Bytes: int64(len(content)), Checksum: lifecycle.DigestBytes(content)}
			r.Updates = append(r.Updates, lifecycle.Update{Message: m}, lifecycle.Update{Chunk: c})
		}
		_, rejection, broken := b.do(r, lifecycle.Source{Producer: text, EventID: text}, start)
		if broken != nil {
			t.Fatal(broken)
		}
		if rejection != nil && utf8JSON(text, state) {
			t.Fatalf("refused: %v", rejection)
		}
		for _, indent := range []string{"", "  "} {
			line, err := json.MarshalIndent(b.entries, "", indent)
			if err != nil {
				t.Fatal(err)
			}
			var back []lifecycle.Entry
			if err := json.Unmarshal(line, &back); err != nil {
				t.Fatal(err)
			}
			copied := *b
			copied.entries = back
			if err := copied.fold(); err != nil && utf8JSON(text, "{}") {
				t.Fatalf("after JSON: %v", err)
			}
		}
		checkpoint(t, b, rejection, state)
		checksums(t, b)
	})
}

// checkpoint wants the agent's state back as it was, to the last digit.
func checkpoint(t *testing.T, b *book, rejection *lifecycle.Rejection, state string) {
	t.Helper()
	if rejection != nil || b.task.CheckpointSeq == 0 {
		return
	}
	ev, err := b.entries[b.task.CheckpointSeq-1].Event()
	if err != nil {
		t.Fatal(err)
	}
	if string(ev.Checkpoint.State) != state {
		t.Fatalf("the state was %s and is %s", state, ev.Checkpoint.State)
	}
}

// checksums wants every stored chunk to be what its checksum says.
func checksums(t *testing.T, b *book) {
	t.Helper()
	for _, e := range b.entries {
		ev, err := e.Event()
		if err != nil {
			t.Fatal(err)
		}
		if ev.Chunk == nil {
			continue
		}
		content, err := lifecycle.PartContent(ev.Chunk.Part)
		if err != nil {
			t.Fatal(err)
		}
		if got := lifecycle.DigestBytes(content); got != ev.Chunk.Checksum {
			t.Fatalf("I6: entry %d stores %q with the checksum of something else", e.Seq, content)
		}
	}
}

// utf8JSON says whether nothing in the input is a reason to refuse it.
func utf8JSON(text, state string) bool {
	const inline = 1 << 10
	return strings.ToValidUTF8(text, "") == text && strings.ToValidUTF8(state, "") == state && (state == "" || json.Valid([]byte(state))) && len(text) < inline && len(state) < inline
}

// FuzzCanonical holds the one-pass canonical form against the library (RFC 8785), on its own output too.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{"b":1,"a":2}`, `{"a":{"z":[1,2,{"y":null,"x":true}]}}`, `"\u003c\u2028\ud83d\ude00"`, `{"\u00e9":1,"e":2}`, `-0`, `-1`, `0`, `01`, `1e3`, `1.0`, `123456789012345`,
		`1234567890123456`, `{"a":1,"a":2}`, `{"a":1,"b":2,"a":3}`, ` {"a" : 1}`, `"\/"`, `"\u0008\u001f\u007f"`, `[]`, `{}`, `[1,]`, `{"a":}`, `tru`, `truex`, `"a`, "\"\x01\"", "\"\xff\"", `"\ufffd"`, `{"aa":1,"a":2,"":3}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, gotErr := lifecycle.Canonicalize(raw)
		want, wantErr := jcs.Transform(raw)
		if (gotErr == nil) != (wantErr == nil) || !bytes.Equal(got, want) {
			t.Fatalf("%s\n got %s (%v)\nwant %s (%v)", raw, got, gotErr, want, wantErr)
		}
		if gotErr != nil {
			return
		}
		again, err := lifecycle.Canonicalize(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("the canonical form %s becomes %s (%v)", got, again, err)
		}
	})
}

// TestCanonicalOfRandomValues is FuzzCanonical over what encoding/json writes.
func TestCanonicalOfRandomValues(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 7))
	for range 20_000 {
		raw, err := json.Marshal(randomValue(r, 0))
		if err != nil {
			t.Fatal(err)
		}
		got, gotErr := lifecycle.Canonicalize(raw)
		want, wantErr := jcs.Transform(raw)
		if gotErr != nil || wantErr != nil || !bytes.Equal(got, want) {
			t.Fatalf("%s\n got %s (%v)\nwant %s (%v)", raw, got, gotErr, want, wantErr)
		}
	}
}

func randomValue(r *rand.Rand, depth int) any {
	alphabet := []rune("ab<>&\"\\/\n\t\x00\x1fé\u2028\U0001F600\ufffd{}[],: 019-")
	text := func() string {
		out := make([]rune, r.IntN(5))
		for i := range out {
			out[i] = alphabet[r.IntN(len(alphabet))]
		}
		return string(out)
	}
	kinds := 8
	if depth > 4 {
		kinds = 6
	}
	switch r.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.Int64() >> r.IntN(64)
	case 3:
		return -r.NormFloat64()
	case 4, 5:
		return text()
	case 6:
		out := make([]any, r.IntN(4))
		for i := range out {
			out[i] = randomValue(r, depth+1)
		}
		return out
	}
	out := map[string]any{}
	for range r.IntN(5) {
		out[text()] = randomValue(r, depth+1)
	}
	return out
}
