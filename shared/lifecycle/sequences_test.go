package lifecycle_test

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Any bytes are a sequence of commands, with any holder, fence, generation and time, the last also going back a
// little. book.do holds every invariant of one task after each of them.

// tape reads choices from bytes; when they are used up every choice is 0.
type tape struct{ bytes []byte }

func (t *tape) next() int {
	if len(t.bytes) == 0 {
		return 0
	}
	b := t.bytes[0]
	t.bytes = t.bytes[1:]
	return int(b)
}

// of is a choice below n.
func (t *tape) of(n int) int { return t.next() % n }

func (t *tape) once(in int) bool { return t.of(in) == 1 }

const maxCommands = 200

// playTape plays a tape on one task and returns how often commands were accepted.
func playTape(bytes []byte) (*book, int, error) {
	tp := &tape{bytes}
	b := newBook("t-1")
	b.quick = true
	now := start
	accepted := 0
	for i := 0; i < maxCommands && len(tp.bytes) > 0; i++ {
		steps := []time.Duration{0, 1, time.Millisecond, time.Second, 10 * time.Second, lease, time.Minute, -time.Second, -time.Minute}
		if now = now.Add(steps[tp.of(len(steps))]); tp.once(24) {
			now = now.Add([]time.Duration{time.Hour, 25 * time.Hour, 40 * 24 * time.Hour}[tp.of(3)])
		}
		if h := b.task.Head; h.Fence > 0 && !h.Terminal() && h.Cancel == nil && tp.once(32) {
			// Decided while it was held, and written after the holder gave its lease back: only the fence guards it.
			b.task.Cancel = &lifecycle.CancelMark{Principal: "p", At: lifecycle.Millis(now)}
		}
		cmd, src := tp.command(b, now)
		before := b.task
		entries, rejection, broken := b.do(cmd, src, now)
		if broken != nil {
			return b, accepted, fmt.Errorf("command %d, %T %+v in %s: %w", i, cmd, cmd, before.State, broken)
		}
		if rejection == nil {
			accepted++
		}
		if len(entries) > lifecycle.MaxEntriesPerCommit {
			return b, accepted, fmt.Errorf("command %d, %T: %d entries in one commit", i, cmd, len(entries))
		}
	}
	if len(bytes)%4 != 0 { // from the start is the same code as entry by entry; some runs prove it
		return b, accepted, nil
	}
	return b, accepted, b.fold()
}

var holders = []string{"a", "b", "c", ""}

func (t *tape) command(b *book, now time.Time) (lifecycle.Command, lifecycle.Source) {
	h := b.task.Head
	src := lifecycle.Source{Producer: "client"}
	if t.once(8) {
		src.EventID = fmt.Sprint("e", t.next())
	}
	if h.Seq == 0 && !t.once(16) {
		c := submit()
		if t.once(8) {
			c.Policy.Life = []time.Duration{time.Minute, 26 * time.Hour}[t.of(2)]
		}
		if t.once(4) {
			c.Policy.Terms = terms()
		}
		return c, src
	}
	holder, fence := h.Holder, h.Fence
	if t.once(16) || holder == "" {
		holder = holders[t.of(len(holders))]
	}
	if t.once(16) {
		fence = uint64(t.of(4)) + h.Fence - 2
	}
	pick := t.of(24)
	switch { // what the state waits for, more often than not
	case t.once(4):
	case h.State == lifecycle.InputRequired:
		pick = 6
	case h.State == lifecycle.AuthRequired:
		pick = 9
	case h.Holder == "":
		pick = 0
	default:
		pick = 23
	}
	switch pick {
	case 0, 1, 2, 3:
		g := lifecycle.Grant{Holder: holder, Generation: h.Generation, Lease: lease, Grace: grace}
		if t.once(8) {
			g.Generation = uint64(t.of(3))
		}
		return g, src
	case 4:
		return lifecycle.Renew{Holder: holder, Fence: fence, Lease: lease, Grace: time.Duration(t.of(2)) * grace}, src
	case 5:
		return lifecycle.Release{Holder: holder, Fence: fence, Grace: grace}, src
	case 6, 7, 8:
		c := lifecycle.Reply{Message: user("m", "yes"), Grace: grace}
		if t.once(2) {
			n := h.Pauses - 1 + t.of(3)
			c.Pause = &n
		}
		if t.once(8) {
			if c.Message = t.message(); c.Message != nil {
				c.Message.Role = a2a.MessageRoleUser
			}
		}
		return c, src
	case 9, 10:
		return lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{Challenge: h.Pauses - t.of(8)/7, JTI: "j"}, Grace: grace}, src
	case 11:
		if t.once(4) {
			return lifecycle.RequestCancel{Principal: "p"}, src
		}
		return lifecycle.Expire{}, src
	case 12:
		return lifecycle.Restart{HolderGone: t.once(2), EndWait: t.once(3), Grace: grace}, src
	case 13:
		switch t.of(8) {
		case 1:
			return lifecycle.Abandon{Reason: string([]byte{'x', byte(t.next())})}, src
		case 2:
			return submit(), src
		case 3:
			return lifecycle.Leave{}, src
		}
		return lifecycle.Expire{}, src
	}
	src.Producer, src.Holder, src.Fence = "runner", holder, fence
	return t.report(holder, fence, now), src
}

func (t *tape) report(holder string, fence uint64, now time.Time) lifecycle.Report {
	verbs := []lifecycle.Verb{
		lifecycle.VerbContinue, lifecycle.VerbSubStep, lifecycle.VerbContinue, lifecycle.VerbPause, lifecycle.VerbPause, lifecycle.VerbSleep,
		lifecycle.VerbRetry, lifecycle.VerbWait, lifecycle.VerbSubStep, lifecycle.VerbContinue, lifecycle.VerbPause,
		lifecycle.VerbComplete, lifecycle.VerbComplete, lifecycle.VerbCancel, lifecycle.VerbFail, lifecycle.VerbReject, "dance",
	}
	r := lifecycle.Report{
		Holder: holder, Fence: fence, Verb: verbs[t.of(len(verbs))], Next: "s" + fmt.Sprint(t.of(4)), State: json.RawMessage(`{"n":9007199254740993}`),
		Keep: t.once(2), Grace: time.Duration(t.of(2)) * grace, Reason: string([]byte{byte(t.next()), byte(t.next())}),
	}
	if t.once(2) {
		r.Message = t.message()
	}
	if r.Verb == lifecycle.VerbSleep || r.Verb == lifecycle.VerbRetry || r.Verb == lifecycle.VerbWait {
		r.Until = now.Add([]time.Duration{time.Second, -time.Hour, 26 * time.Hour, 1}[t.of(4)])
		if t.once(8) {
			r.Until = time.Time{}
		}
	}
	if r.Verb == lifecycle.VerbPause {
		r.Pause = &lifecycle.PauseTerms{
			State:   []a2a.TaskState{lifecycle.InputRequired, lifecycle.AuthRequired, lifecycle.Working}[t.of(9)%3],
			Timeout: []time.Duration{0, time.Minute, time.Hour + 1, 31 * 24 * time.Hour, -1}[t.of(5)],
			Outcome: []a2a.TaskState{"", lifecycle.Failed, lifecycle.Canceled, lifecycle.Completed}[t.of(4)], Named: t.once(2),
		}
		if !t.once(8) {
			r.Pause.Challenge = &lifecycle.Challenge{Action: "act"}
		}
	}
	for range t.of(4) {
		u := lifecycle.Update{Append: t.once(2), Chunk: chunk(a2a.ArtifactID("a"+fmt.Sprint(t.of(2))), "text", t.of(3) == 0)}
		switch t.of(32) {
		case 1, 2, 3, 4, 6, 7, 8, 9:
			u = lifecycle.Update{Message: t.message()}
		case 5:
			u.Chunk.Part = t.part()
		}
		r.Updates = append(r.Updates, u)
	}
	if t.once(6) {
		r.Place = &lifecycle.Place{Seq: uint64(3 + t.of(16)/15), Last: uint64(2 + t.of(16)/15)}
		if t.once(2) {
			r.Verb = lifecycle.VerbProgress
		}
		if t.once(2) {
			r.State = nil
		}
	}
	return r
}

func (t *tape) message() *a2a.Message {
	if t.once(32) {
		return nil
	}
	m := say("text")
	if t.once(8) {
		m.Parts = append(m.Parts, t.part())
	}
	if t.once(4) {
		m.Metadata = map[string]any{string([]byte{byte(t.next())}): t.next()}
	}
	return m
}

// part is any part, also those that have no content.
func (t *tape) part() *a2a.Part {
	text := string([]byte{byte(t.next()), byte(t.next()), byte(t.next())})
	parts := []*a2a.Part{
		a2a.NewTextPart(text), a2a.NewRawPart([]byte(text)), a2a.NewDataPart(map[string]any{text: 1.5}), a2a.NewFileURLPart("https://x.example/"+a2a.URL(text), "text/plain"),
		nil, {}, a2a.NewDataPart(nil), a2a.NewRawPart(nil), a2a.NewFileURLPart("", ""), a2a.NewDataPart(json.RawMessage("null")), a2a.NewTextPart(""),
		a2a.NewDataPart(map[string]any(nil)), lifecycle.BlobPart(a2a.NewTextPart("x"), lifecycle.BlobRef{Digest: "d", Bytes: 1 << 40, Kind: lifecycle.BlobText}),
	}
	return parts[t.of(len(parts))]
}

// FuzzCommands: no sequence of commands breaks an invariant (I1–I3, I6, I8, I12, case 43).
func FuzzCommands(f *testing.F) {
	for seed := range uint64(64) {
		f.Add(seeded(seed, 200))
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		if b, _, err := playTape(bytes); err != nil {
			t.Fatalf("after %d entries: %v", len(b.entries), err)
		}
	})
}

// TestSequences is FuzzCommands over 20,000 seeded sequences, and proves that they get everywhere.
func TestSequences(t *testing.T) {
	t.Parallel()
	sequences := thinned(t, 20_000)
	reached := map[a2a.TaskState]int{}
	types := map[lifecycle.EntryType]int{}
	commands := 0
	for seed := range uint64(sequences) {
		b, accepted, err := playTape(seeded(seed, 32+int(seed%400)))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		commands += accepted
		reached[b.task.State]++
		for _, e := range b.entries {
			types[e.Type]++
		}
	}
	t.Logf("%d commands accepted; ended in %v; entries %v", commands, reached, types)
	if sequences < 2000 {
		return // too few to have got everywhere
	}
	for _, s := range lifecycle.States() {
		if s != lifecycle.Submitted && reached[s] < sequences/1000 {
			t.Errorf("only %d sequences end in %s: they do not get everywhere", reached[s], s)
		}
	}
	if len(types) != 12 {
		t.Errorf("%d of 12 entry types were written: %v", len(types), types)
	}
}

// thinned is how many of n runs are made. Under the race detector, which is ten times slower and has no more to find
// in code without goroutines, make check asks for every tenth.
func thinned(t *testing.T, n int) int {
	t.Helper()
	every, err := strconv.Atoi(cmp.Or(os.Getenv("HOLDFAST_CRASH_EVERY"), "1"))
	if err != nil || every < 1 {
		t.Fatalf("HOLDFAST_CRASH_EVERY is %q, want a number from 1", os.Getenv("HOLDFAST_CRASH_EVERY"))
	}
	return n / every
}

// seeded is n bytes that depend on the seed alone.
func seeded(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([]byte, 0, n+8)
	for len(out) < n {
		out = binary.LittleEndian.AppendUint64(out, r.Uint64())
	}
	return out[:n]
}
