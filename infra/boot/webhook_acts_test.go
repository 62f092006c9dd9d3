package boot

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// acts is where TestStreamActs writes what came of each act, for local/webhooks.
var acts = flag.String("acts", "", "folder for records of the stream acts")

// TestStreamActs: what becomes of webhooks when the stream misbehaves.
func TestStreamActs(t *testing.T) {
	t.Run("off for ten minutes", testStreamOff)
	t.Run("twice, late and in any order", testStreamUntidy)
	t.Run("a poisoned record", testStreamPoisoned)
}

// Case 67: the stream function is off while three tasks complete, and their records come
// ten minutes later. By then the sweep has brought everything, and nothing comes twice.
func testStreamOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.sweepOften()
		refs := map[string]lifecycle.Ref{}
		for i := range 3 {
			name := fmt.Sprint("off-", i)
			refs[name] = s.life(name, func() { pass(10 * time.Second) })
		}
		pass(10*time.Minute - time.Since(s.began))
		latest := 0.0
		for name, ref := range refs {
			tries := s.once(name, ref)
			latest = max(latest, tries[len(tries)-1].At)
		}
		if latest == 0 || latest > (webhook.CheckEvery+3*time.Minute).Seconds() {
			t.Errorf("the last update came %.0f s after the first task began", latest)
		}
		s.batch(s.taken()...)
		for name, ref := range refs {
			s.once(name, ref)
		}
		s.written("the stream function is off for ten minutes, and its records come late", "off-0",
			fmt.Sprintf("3 tasks, all told by the sweep, the last after %.0f s", latest), refs["off-0"])
	})
}

// Case 68: records come twice, late, and in any order, also those of one transaction, in
// batches of any size, while the tasks go on. Nothing is missing, late or there twice.
func testStreamUntidy(t *testing.T) {
	const seeds, tasks = 30, 3
	handed, again := 0, 0
	for seed := range uint64(seeds) {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			dice := rand.New(rand.NewPCG(seed, 0))
			var pool, old []json.RawMessage
			hand := func(most int) {
				dice.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
				n := min(dice.IntN(most+1), len(pool))
				batch := slices.Clone(pool[:n])
				pool, old = pool[n:], append(old, batch...)
				for range dice.IntN(3) {
					if len(old) > 0 {
						batch, again = append(batch, old[dice.IntN(len(old))]), again+1
					}
				}
				handed += len(batch)
				s.batch(batch...)
			}
			refs := map[string]lifecycle.Ref{}
			for i := range tasks {
				name := fmt.Sprint("untidy-", i)
				refs[name] = s.life(name, func() {
					pass(time.Duration(dice.IntN(1000)) * time.Millisecond)
					pool = append(pool, s.taken()...)
					hand(6)
				})
			}
			for len(pool) > 0 {
				pass(time.Duration(dice.IntN(60)) * time.Second)
				hand(20)
			}
			for name, ref := range refs {
				s.once(name, ref)
			}
			if seed == seeds-1 {
				s.written("records twice, late and in any order, also of one transaction", "untidy-0",
					fmt.Sprintf("%d tasks in %d orders, %d records of which %d again", seeds*tasks, seeds, handed, again), refs["untidy-0"])
			}
		})
	}
}

// Case 68: one record cannot be read, and Lambda delivers it and what is behind it again
// until it gives up. Everything is told at the first delivery, and nothing twice; what the
// poisoned record alone would have told of, the sweep tells.
func testStreamPoisoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		a, b := s.life("poisoned-a", func() {}), s.life("poisoned-b", func() {})
		records := s.taken()
		third := slices.IndexFunc(records, func(r json.RawMessage) bool { return bytes.Contains(r, []byte(`"e#0000000002"`)) })
		records[third] = bytes.ReplaceAll(records[third], []byte(`"sk":{"S":"e#`), []byte(`"sk":{"S":"e#x`))
		m := &mapping{function: s.stream, logs: s.logs, sent: map[string]int{}}
		if err := m.deliver(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		if n := m.sent[sequenceOf(records[third])]; n != retryAttempts+1 {
			t.Errorf("the poisoned record was delivered %d times", n)
		}
		for name, ref := range map[string]lifecycle.Ref{"poisoned-a": a, "poisoned-b": b} {
			for _, one := range s.once(name, ref) {
				if one.At != 0 {
					t.Errorf("%s: update %d came after %.0f s", name, one.Seq, one.At)
				}
			}
		}
		// The record of a task's end is poisoned, and alone in its batch.
		s.sweepOften()
		var last json.RawMessage
		c := s.life("poisoned-c", func() {
			if more := s.taken(); len(more) > 0 {
				last = more[len(more)-1]
				if !bytes.Contains(last, []byte(`"ended"`)) {
					s.batch(more...)
				}
			}
		})
		last = bytes.ReplaceAll(last, []byte(`"sk":{"S":"e#`), []byte(`"sk":{"S":"e#x`))
		m.logs.Reset()
		if err := m.deliver(t.Context(), []json.RawMessage{last}); err != nil || len(m.givenUp) == 0 {
			t.Fatalf("given up: %v, %v", m.givenUp, err)
		}
		pass(webhook.CheckEvery + 2*time.Minute)
		tries := s.once("poisoned-c", c)
		s.written("a poisoned record, alone in its batch and the task's last", "poisoned-c",
			fmt.Sprintf("delivered %d times and given up by Lambda; of two tasks in a batch with another one everything was told at once; the end was told by the sweep after %.0f s", retryAttempts+1, tries[len(tries)-1].At), c)
	})
}

// written writes down what came of an act: of one of its tasks.
func (s *stage) written(act, name, note string, ref lifecycle.Ref) {
	s.t.Helper()
	if *acts == "" {
		return
	}
	text, err := json.Marshal(struct {
		Name    string   `json:"name"`
		Tries   []tried  `json:"tries"`
		Visible []uint64 `json:"visible"`
		Note    string   `json:"note"`
	}{act, s.once(name, ref), s.visible(ref), note})
	if err != nil {
		s.t.Fatal(err)
	}
	var exported bytes.Buffer
	if _, err := export.Write(s.t.Context(), &exported, s.memory, ref, export.Options{Scope: export.Operator, At: time.Now()}); err != nil {
		s.t.Fatal(err)
	}
	for end, content := range map[string][]byte{".json": text, ".ndjson": exported.Bytes()} {
		if err := os.WriteFile(filepath.Join(*acts, string(ref.Task)+end), content, 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
}
