package simulation_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// outcome is what a seed came to.
type outcome struct {
	problems     []string
	digest       string // of everything that happened
	interleaving string
	calls        int
	hits         map[string]int
	ends         map[string]int // tasks, by how they ended
	where        string
}

// simulate runs a seed. It is called in a bubble.
func simulate(t *testing.T, seed uint64, trace func(format string, args ...any), logs io.Writer) outcome {
	w := &world{
		seed: seed, begun: time.Now(), ring: &keyring.Memory{}, dice: diceOf(seed, "world"), lives: map[string]int{}, histIn: map[lifecycle.Ref]*history{},
		running: map[a2a.TaskID]map[*process]int{}, paused: map[lifecycle.Ref]time.Time{}, hitBy: map[string]int{}, outsiders: map[a2a.TaskID]bool{}, acted: map[lifecycle.Ref]map[ledger.Action]int{}, forgotten: map[lifecycle.Ref]bool{}, large: map[lifecycle.Ref][]lifecycle.Digest{},
	}
	w.release.Store(1)
	w.storm = newStorm(w.dice, w.begun.Add(time.Duration(1+w.dice.IntN(20))*time.Minute))
	w.schedule = newSchedule(diceOf(seed, "schedule"), w.storm)
	w.schedule.quiet, w.schedule.trace = w.quiet, trace
	w.skews = w.dice.IntN(3) == 0
	w.outside, w.hooks = newOutside(w), newHooks(w)
	w.issuer, w.forger = newIssuer(1), newIssuer(2)
	base, where, closing := w.storage(t)
	defer closing()
	var err error
	p := &parts{w: w, logs: logs, callers: w.authenticator(), receipts: func(now func() time.Time) verifier {
		v, err := w.issuer.verifier(now)
		if err != nil {
			t.Error(err)
		}
		return v
	}}
	if p.policies, err = w.documents(); err != nil {
		t.Fatal(err)
	}
	where += w.build(t, p, base)
	w.perform()
	return outcome{
		problems: w.problems, digest: w.schedule.digest(), interleaving: w.schedule.interleaving(), calls: w.schedule.picks,
		hits: w.allHits(), ends: w.ends(), where: where,
	}
}

// storage is the ledger below everything: the model, or now and then the embedded one
// in a folder.
func (w *world) storage(t *testing.T) (ledger.Ledger, string, func()) {
	if w.dice.IntN(25) > 0 {
		w.blobs = ledgertest.NewMemoryBlobs()
		return ledgertest.NewMemory(), "memory ", func() {}
	}
	dir := t.TempDir()
	book, err := sqlite.Open(dir, sqlite.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	if w.blobs, err = sqlite.OpenBlobs(dir, sqlite.Options{NoSync: true}); err != nil {
		t.Fatal(err)
	}
	return book, "sqlite ", func() {
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	}
}

// tenants of every world.
var tenants = []string{"acme", "globex"}

// authenticator knows the keys of all actors, and makes the callers.
func (w *world) authenticator() func(now func() time.Time) auth.Authenticator {
	var entries []auth.KeyEntry
	for _, tenant := range tenants {
		mark := w.mark(tenant)
		for _, role := range scopes {
			c := &client{w: w, who: tenant + "-" + string(role), tenant: tenant, mark: mark, key: fmt.Sprintf("%s-%s-%032x", tenant, strings.ReplaceAll(string(role), ":", "-"), mix(w.seed, text(tenant+string(role))))}
			c.dice = diceOf(w.seed, c.who)
			sum := sha256.Sum256([]byte(c.key))
			entries = append(entries, auth.KeyEntry{Tenant: tenant, Name: string(role), SHA256: hex.EncodeToString(sum[:]), Scopes: may(role)})
			switch role {
			case auth.Caller:
				w.callers = append(w.callers, c)
			case auth.Producer:
				w.producers = append(w.producers, c)
			case auth.OperatorRead:
				w.readers = append(w.readers, c)
			default:
				w.operators = append(w.operators, c)
			}
		}
	}
	return func(now func() time.Time) auth.Authenticator {
		keys, err := auth.NewKeys(entries, now)
		if err != nil {
			w.broken("auth", "%v", err)
		}
		return auth.Credentials{Keys: keys}
	}
}

// build makes the site: one node, two, or the cloud.
func (w *world) build(t *testing.T, p *parts, base ledger.Ledger) string {
	w.witness = newWitness(w, base)
	sweep := []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute}[w.dice.IntN(3)]
	switch w.dice.IntN(4) {
	case 0:
		// The proof that an earlier process is gone is a proof that nothing of it is
		// still on its way: the lone node has its ledger in its own folder.
		w.storm.weight[ledgertest.Late], w.storm.weight[ledgertest.Echoed] = 0, 0
		w.skews = false
		w.site = &laptop{parts: p, sweep: sweep, slots: []*slot{{name: "node"}}}
		return "one node"
	case 1:
		w.site = &laptop{parts: p, sweep: sweep, slots: []*slot{{name: "node-a"}, {name: "node-b"}}}
		return "two nodes"
	}
	c, err := newCloud(p, 1+w.dice.IntN(2), ledgertest.NewReordered(w.witness, w.seed))
	if err != nil {
		t.Fatal(err)
	}
	w.site = c
	return "cloud"
}

// live are the tasks that have not ended, and when at the latest something must
// become of one of them.
func (w *world) live() (refs []lifecycle.Ref, next time.Time) {
	for _, ref := range w.witness.tasks() {
		h, err := w.witness.Head(context.Background(), ref)
		if err != nil || h.Terminal() {
			continue
		}
		refs = append(refs, ref)
		at := h.LifeEndsAt
		if h.Pause != nil && h.Pause.DeadlineAt.Before(at) {
			at = h.Pause.DeadlineAt
		}
		if at.After(next) {
			next = at
		}
	}
	return refs, next
}

// overdue finds what should have been looked at long ago, in fair weather: the net under
// everything else has a hole. A system that was off and has only just begun could look
// at nothing meanwhile.
func (w *world) overdue() {
	ctx, since := context.Background(), w.ago(15*time.Minute, time.Now())
	if w.storm.until.After(since) || w.schedule.asleep.After(since) {
		return
	}
	for _, ref := range w.witness.tasks() {
		h, err := w.witness.Head(ctx, ref)
		if err == nil && !h.Terminal() && h.DueAt.Before(since) {
			w.broken("I8", "task %s is %s and due since %s, and nobody looks (%+v)", ref, h.State, time.Since(h.DueAt), h)
		}
		list, _ := w.witness.EndpointList(ctx, ref)
		for _, e := range list {
			if d := e.Delivery; !d.DueAt.IsZero() && d.DueAt.Before(since) {
				w.broken("I11", "endpoint %s of task %s is due since %s, and nobody looks (%+v)", e.ID, ref, time.Since(d.DueAt), d)
			}
		}
	}
}

// ago is the instant since which the system has run for so long: times in which nothing
// ran do not count, and the runs before and after them add up.
func (w *world) ago(d time.Duration, now time.Time) time.Time {
	at := now.Add(-d)
	for _, off := range slices.Backward(w.off) {
		if !off.to.After(at) {
			break
		}
		at = at.Add(off.from.Sub(off.to))
	}
	return at
}

// settle lets time pass until all tasks have ended and all webhooks are told. Long
// times pass while nothing runs, as on a machine that is switched off.
func (w *world) settle() {
	done := func() bool { refs, _ := w.live(); return len(refs) == 0 && w.told() }
	for range 8 {
		w.schedule.run(time.Now().Add(25*time.Minute), done)
		w.overdue()
		refs, next := w.live()
		if len(refs) == 0 {
			break
		}
		w.leap(next.Add(time.Minute))
	}
	if refs, _ := w.live(); len(refs) > 0 {
		for _, ref := range refs {
			h, _ := w.witness.Head(context.Background(), ref)
			w.broken("I8", "task %s has not ended: %+v", ref, h)
		}
	}
	for range 12 {
		if w.told() {
			return
		}
		w.leap(w.nextAttempt())
		w.schedule.run(time.Now().Add(5*time.Minute), done)
	}
}

// leap lets time pass while nothing runs.
func (w *world) leap(to time.Time) {
	w.outsideSchedule(w.site.stop)
	from := time.Now()
	w.schedule.run(to, func() bool { return false })
	w.off = append(w.off, span{from, time.Now()})
	w.site.start()
}

// outsideSchedule runs something that waits for others, who need turns for it.
func (w *world) outsideSchedule(do func()) {
	var done atomic.Bool
	go func() {
		do()
		done.Store(true)
	}()
	w.schedule.run(time.Now().Add(2*time.Hour), done.Load)
	if !done.Load() {
		w.broken("site", "it does not stop")
	}
}

// told says whether all webhooks have all there is, or take no more.
func (w *world) told() bool {
	for _, ref := range w.witness.tasks() {
		list, err := w.witness.EndpointList(context.Background(), ref)
		if err != nil {
			return false
		}
		visible := w.visible(ref)
		for _, e := range list {
			if d := e.Delivery; d.State == ledger.DeliveryActive && len(visible) > 0 && d.Cursor < visible[len(visible)-1] {
				return false
			}
		}
	}
	return true
}

// nextAttempt is when the last of the endpoints that wait is tried again.
func (w *world) nextAttempt() time.Time {
	at := time.Now().Add(10 * time.Minute)
	for _, ref := range w.witness.tasks() {
		list, _ := w.witness.EndpointList(context.Background(), ref)
		for _, e := range list {
			for _, next := range []time.Time{e.Delivery.NextAt, e.Delivery.DueAt} {
				if next.After(at) {
					at = next
				}
			}
		}
	}
	return at.Add(time.Minute)
}

// finish stops everything.
func (w *world) finish() {
	w.outsideSchedule(func() {
		w.site.stop()
		if c, is := w.site.(*cloud); is {
			c.end()
		}
		w.actors.Wait()
	})
	w.schedule.run(time.Now().Add(5*time.Minute), func() bool { return false })
}

// ends counts how tasks ended.
func (w *world) ends() map[string]int {
	out := map[string]int{}
	for _, ref := range w.witness.tasks() {
		out[strings.TrimPrefix(string(w.history(ref).state()), "TASK_STATE_")]++
	}
	return out
}

// hit counts what was done to the system beside the calls' faults.
func (w *world) hit(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.hitBy[what]++
}

func (w *world) allHits() map[string]int {
	out := map[string]int{}
	for what, n := range w.schedule.hits {
		out[what] += n
	}
	if w.rests > 0 {
		out["all tasks at rest"] = 1
	}
	for what, n := range w.hitBy {
		out[what] += n
	}
	return out
}

func (w *world) followed(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.followers = append(w.followers, f)
}
