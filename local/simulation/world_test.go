package simulation_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// world is everything of one seed.
type world struct {
	seed  uint64
	begun time.Time
	// dice draw the circumstances; everybody draws from his own what he does.
	dice     *rand.Rand
	storm    *storm
	schedule *schedule
	witness  *witness
	blobs    ledger.Blobs
	outside  *outside
	hooks    *hooks
	site     site
	skews    bool
	// release is which agents a process that begins now brings.
	release atomic.Int64
	terms   map[string]policy.Document // by name and version
	off     []span                     // times that have passed while nothing ran
	issuer  issuer                     // of receipts that are taken
	forger  issuer                     // of those that are not

	ring *keyring.Memory // the keys of the deployment

	callers, producers, readers, operators []*client
	errands                                []*errand
	workers                                []*worker

	actors    sync.WaitGroup
	acted     map[lifecycle.Ref]map[ledger.Action]int // by operators, at the console
	forgotten map[lifecycle.Ref]bool                  // nothing is left of them
	large     map[lifecycle.Ref][]lifecycle.Digest    // what was kept as blobs, of tasks that were judged

	mu        sync.Mutex
	followers []*follower
	hitBy     map[string]int
	outsiders map[a2a.TaskID]bool
	lives     map[string]int
	histIn    map[lifecycle.Ref]*history
	marks     []string // of all tenants: what nobody else may see
	running   map[a2a.TaskID]map[*process]int
	paused    map[lifecycle.Ref]time.Time // since when, as it was seen last
	problems  []string
	busySince time.Time // while all tasks wait
	rests     int       // times at which time passed while all tasks waited
}

// broken notes a broken invariant.
func (w *world) broken(invariant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	const enough = 20
	if len(w.problems) < enough {
		w.problems = append(w.problems, fmt.Sprintf("after %s: %s: %s", time.Since(w.begun), invariant, fmt.Sprintf(format, args...)))
	}
}

func (w *world) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.problems) > 0
}

// bad says whether the storm is on.
func (w *world) bad() bool { return time.Now().Before(w.storm.until) }

// history is what a task's entries say, kept as far as it was read.
type history struct {
	view    *lifecycle.View
	chains  []lifecycle.Digest // of each entry
	states  []a2a.TaskState    // after each entry
	visible []uint64
}

// state is the one after the last entry.
func (h history) state() a2a.TaskState {
	if len(h.states) == 0 {
		return ""
	}
	return h.states[len(h.states)-1]
}

// history reads a task's entries past all faults.
func (w *world) history(ref lifecycle.Ref) history {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.histIn[ref]
	if h == nil {
		h = &history{view: lifecycle.NewView(ref, func(lifecycle.Digest) string { return "" })}
		w.histIn[ref] = h
	}
	entries, err := w.witness.Entries(context.Background(), ref, h.view.Seq(), 0)
	for _, e := range entries {
		var update a2a.Event
		if update, err = h.view.Add(e); err != nil {
			break
		}
		h.chains, h.states = append(h.chains, e.Chain), append(h.states, h.view.State())
		if update != nil {
			h.visible = append(h.visible, e.Seq)
		}
	}
	if err != nil {
		w.problems = append(w.problems, fmt.Sprintf("I1: task %s cannot be read: %v", ref, err))
	}
	return *h // others read on meanwhile
}

// visible are the entries of a task that callers see.
func (w *world) visible(ref lifecycle.Ref) []uint64 { return w.history(ref).visible }

// committed holds what somebody was shown against the ledger at that moment (I4). It
// gives the state after the entry.
func (w *world) committed(ref lifecycle.Ref, seq uint64, digest string) a2a.TaskState {
	h := w.history(ref)
	if seq == 0 || seq > uint64(len(h.chains)) {
		w.broken("I4", "entry %d of task %s was seen, the ledger has %d", seq, ref, len(h.chains))
		return ""
	}
	if digest != string(h.chains[seq-1]) {
		w.broken("I4", "entry %d of task %s was seen with digest %s, the ledger has %s", seq, ref, digest, h.chains[seq-1])
	}
	return h.states[seq-1]
}

// countOf is how many tasks a tenant has.
func (w *world) countOf(tenant string) (n int) {
	for _, ref := range w.witness.tasks() {
		if ref.Tenant == tenant {
			n++
		}
	}
	return n
}

// mark gives a tenant a word that nobody else may ever see.
func (w *world) mark(tenant string) string {
	mark := fmt.Sprintf("%s-%08x", tenant, uint32(mix(w.seed, text(tenant))))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.marks = append(w.marks, mark)
	return mark
}

// foreign looks for what belongs to others (I10).
func (w *world) foreign(own string, seen []byte, where string) {
	w.mu.Lock()
	marks := w.marks
	w.mu.Unlock()
	w.kept(seen, where)
	for _, m := range marks {
		if m != own && bytes.Contains(seen, []byte(m)) {
			w.broken("I10", "%s of %s has what is of %s: %.300s", where, own, m, seen)
		}
	}
}

// hushed are the beginnings of everything that is secret: what a webhook is configured
// with, callback tokens, receipts.
var hushed = [][]byte{[]byte("hush-"), []byte("secret-"), []byte("eyJhbGciOiJFZERTQSIs")}

// kept looks for secrets in what was shown or is kept (I9).
func (w *world) kept(text []byte, where string) {
	for _, secret := range hushed {
		if i := bytes.Index(text, secret); i >= 0 {
			w.broken("I9", "%s has a secret: %.80s", where, text[i:])
		}
	}
}

// started and stopped are told by running steps.
func (w *world) started(id a2a.TaskID, p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[id] == nil {
		w.running[id] = map[*process]int{}
	}
	w.running[id][p]++
}

func (w *world) stopped(id a2a.TaskID, p *process) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[id][p]--; w.running[id][p] == 0 {
		delete(w.running[id], p)
	}
}

// restless is how long a step may still run after its task was paused behind its back:
// a holder that has lost its lease learns of it with its next renewal, once it no
// longer stands still.
const restless = 5 * time.Minute

// quiet looks at all tasks before time passes: one that waits for somebody has no
// lease, and nothing computes for it.
func (w *world) quiet() {
	now, waits := time.Now(), true // every task that lives waits for somebody, and has for long
	for _, ref := range w.witness.tasks() {
		h, err := w.witness.Head(context.Background(), ref)
		if err != nil || h.Pause == nil {
			waits = waits && err == nil && h.Terminal()
			delete(w.paused, ref)
			continue
		}
		waits = waits && !w.paused[ref].IsZero() && now.Sub(w.paused[ref]) > restless
		if h.Holder != "" {
			w.broken("I8", "task %s waits in %s, and %s holds its lease", ref, h.State, h.Holder)
		}
		since, known := w.paused[ref]
		if !known {
			w.paused[ref] = now
			continue
		}
		w.mu.Lock()
		busy := 0
		for p, n := range w.running[ref.Task] {
			if !p.crash.Crashed() {
				busy += n
			}
		}
		w.mu.Unlock()
		if busy > 0 && now.Sub(since) > restless {
			w.broken("I8", "task %s has waited since %s, and %d steps run for it", ref, now.Sub(since), busy)
		}
	}
	switch n := w.site.busy(); {
	case !waits || len(w.paused) == 0 || n == 0 || now.Before(w.schedule.asleep):
		w.busySince = time.Time{}
	case w.busySince.IsZero():
		w.busySince = now // perhaps with a moment's reason: a deadline, an execution of a generation before
	case now.Sub(w.busySince) > restless:
		w.broken("I8", "all tasks wait for somebody, and %d executions have been at work since %s", n, now.Sub(w.busySince))
		w.busySince = now
	}
	if waits && len(w.paused) > 0 {
		w.rests++
	}
}
