package simulation_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

var (
	seeds   = flag.Int("seeds", 60, "how many seeds TestSeeds runs")
	first   = flag.Uint64("first", 1, "the first of them")
	one     = flag.Uint64("seed", 0, "run this seed alone, and say all that happens (0: all of them)")
	noisy   = flag.Bool("logs", false, "with one seed: the logs of the processes, too")
	keeping = flag.Bool("keep", false, "add seeds that fail to "+keptSeeds)
	replays = flag.Int("replays", 40, "how many seeds TestReplay runs twice")
)

// keptSeeds has a seed and what it found on each line; TestKept runs them all. What a
// seed found is reduced to a test of its own; the seed is kept as well, though it means
// something else once the simulation itself has changed.
const keptSeeds = "testdata/seeds.txt"

// verdict is the last line of make sim.
var verdict string

func TestMain(m *testing.M) {
	flag.Parse()
	debug.SetGCPercent(800) // a world is small and gone at once: a quarter of the time
	code := m.Run()
	if verdict != "" {
		fmt.Println(verdict)
	}
	os.Exit(code)
}

// tally adds up what seeds came to.
type tally struct {
	mu     sync.Mutex
	seeds  int
	failed []uint64
	calls  int
	orders map[string]bool
	hits   map[string]int
	ends   map[string]int
	where  map[string]int
}

func newTally() *tally {
	return &tally{orders: map[string]bool{}, hits: map[string]int{}, ends: map[string]int{}, where: map[string]int{}}
}

func (t *tally) add(seed uint64, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seeds++
	t.calls += o.calls
	t.orders[o.interleaving] = true
	t.where[o.where]++
	for what, n := range o.hits {
		t.hits[what] += n
	}
	for what, n := range o.ends {
		t.ends[what] += n
	}
	if len(o.problems) > 0 {
		t.failed = append(t.failed, seed)
	}
}

func (t *tally) anyFailed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.failed) > 0
}

func counted(m map[string]int) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprintf("%s %d", k, m[k]))
	}
	return strings.Join(out, ", ")
}

// String is the table.
func (t *tally) String() string {
	return fmt.Sprintf("where:  %s\ntasks:  %s\nhits:   %s", counted(t.where), counted(t.ends), counted(t.hits))
}

// verdict sums up in one line.
func (t *tally) verdict(took time.Duration) string {
	word := "PASS"
	if len(t.failed) > 0 {
		word = "FAIL"
	}
	return fmt.Sprintf("%s sim: %d seeds, %d calls, %d distinct interleavings, %d violations (%.1f seeds a second)",
		word, t.seeds, t.calls, len(t.orders), len(t.failed), float64(t.seeds)/took.Seconds())
}

// bubble runs a seed in a bubble of its own.
func bubble(t *testing.T, seed uint64, trace func(format string, args ...any), logs io.Writer) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { o = simulate(t, seed, trace, logs) })
	return o
}

// TestSeeds runs many worlds, or tells all of one (cases 1, 2, 14 to 18, 22, 30, 33, 38,
// 48, 52, 57, 65, 67 and 68, all of them at once).
func TestSeeds(t *testing.T) {
	if *one > 0 {
		replay(t, *one)
		return
	}
	all, began := newTally(), time.Now()
	t.Run("all", func(t *testing.T) {
		next := make(chan uint64)
		for worker := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for seed := range next {
					o := bubble(t, seed, nil, nil)
					all.add(seed, o)
					report(t, seed, o)
				}
			})
		}
		go func() {
			for i := range *seeds {
				if *until && all.anyFailed() {
					break
				}
				next <- *first + uint64(i)
			}
			close(next)
		}()
	})
	fmt.Println(all)
	verdict = all.verdict(time.Since(began))
}

// report says what is wrong with a seed, and how to see it again.
func report(t *testing.T, seed uint64, o outcome) {
	t.Helper()
	if len(o.problems) == 0 {
		return
	}
	for _, p := range o.problems {
		t.Errorf("seed %d (%s): %s", seed, o.where, p)
	}
	fmt.Printf("seed %d fails; to see it again: make sim SEED=%d\n", seed, seed)
	if !*keeping {
		return
	}
	f, err := os.OpenFile(keptSeeds, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600)
	if err == nil {
		what, _, _ := strings.Cut(o.problems[0], "\n")
		_, err = fmt.Fprintf(f, "%d %s\n", seed, what)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Error(err)
	}
}

// replay runs a seed twice: once to tell it, and once to see that it is the same.
func replay(t *testing.T, seed uint64) {
	t.Helper()
	var logs io.Writer
	if *noisy {
		logs = os.Stderr
	}
	o := bubble(t, seed, func(format string, args ...any) { fmt.Printf(format+"\n", args...) }, logs)
	if again := bubble(t, seed, nil, nil); again.digest != o.digest {
		t.Errorf("seed %d does not replay: %s and %s", seed, o.digest, again.digest)
	}
	for _, p := range o.problems {
		t.Error(p)
	}
	word := "PASS"
	if t.Failed() {
		word = "FAIL"
	}
	fmt.Printf("tasks:  %s\nhits:   %s\n", counted(o.ends), counted(o.hits))
	verdict = fmt.Sprintf("%s sim: seed %d (%s), %d calls, digest %s", word, seed, o.where, o.calls, o.digest)
}

// A seed replays: everything happens again, at the same instants, in the same order.
func TestReplay(t *testing.T) {
	for seed := *first; seed < *first+uint64(*replays); seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			one, again := bubble(t, seed, nil, nil), bubble(t, seed, nil, nil)
			if one.digest != again.digest || one.calls != again.calls {
				t.Errorf("seed %d (%s): %d calls, digest %s; and again %d calls, digest %s", seed, one.where, one.calls, one.digest, again.calls, again.digest)
			}
		})
	}
}

// TestKept runs the seeds that have found something.
func TestKept(t *testing.T) {
	f, err := os.Open(keptSeeds)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var seed uint64
		if _, err := fmt.Sscanf(lines.Text(), "%d ", &seed); err != nil {
			t.Fatalf("%s: %q: %v", keptSeeds, lines.Text(), err)
		}
		t.Run(lines.Text(), func(t *testing.T) {
			t.Parallel()
			report(t, seed, bubble(t, seed, nil, nil))
		})
	}
}
