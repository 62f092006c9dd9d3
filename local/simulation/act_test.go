package simulation_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
)

// perform lets the actors act, and then brings everything to its end.
func (w *world) perform() {
	w.site.start()
	var parts []func()
	for n := range 1 + w.dice.IntN(4) {
		parts = append(parts, w.errandOf(n, 6))
	}
	if slices.ContainsFunc(w.errands, func(e *errand) bool { return e.prefix != "" }) {
		parts = append(parts, w.hire()...)
	}
	for i, o := range w.readers {
		parts = append(parts, func() { w.inspect(o) }, func() { w.operate(w.operators[i]) })
	}
	w.play(append(parts, w.deploys, w.suspend)...)
	w.settle()
	w.judge()
	if w.dice.IntN(3) == 0 && !w.failed() {
		w.forget()
	}
	w.finish()
}

// errandOf makes an errand; one of so many is for workers outside.
func (w *world) errandOf(n, outside int) func() {
	c := w.callers[n%len(w.callers)]
	text, prefix := fmt.Sprintf("walk %d for %s", mix(w.seed, uint64(n), 7), c.mark), ""
	if w.dice.IntN(outside) == 0 {
		text, prefix = "pages for "+c.mark, "/outsider"
	}
	e := c.newErrand(n, prefix, text)
	w.errands = append(w.errands, e)
	return func() {
		e.pause(time.Minute)
		e.run()
	}
}

// hire gives each tenant two workers.
func (w *world) hire() (parts []func()) {
	for _, p := range w.producers {
		for n := range 2 {
			k := p.newWorker(n + 1)
			w.workers = append(w.workers, k)
			parts = append(parts, k.run)
		}
	}
	return parts
}

// play lets some actors act until all of them have come to their end.
func (w *world) play(parts ...func()) {
	var left atomic.Int32
	for _, do := range parts {
		left.Add(1)
		w.actors.Go(func() {
			defer left.Add(-1)
			do()
		})
	}
	over := func() bool { return left.Load() == 0 }
	w.schedule.run(time.Now().Add(12*time.Hour), over)
	if !over() {
		w.broken("actors", "%d actors have not come to their end", left.Load())
	}
}

// deploys brings new releases, now and then, and takes one back.
func (w *world) deploys() {
	dice := diceOf(w.seed, "deploys")
	for _, by := range [][]int64{{}, {1}, {1, 1}, {1, -1, 1}}[dice.IntN(4)] {
		<-time.NewTimer(time.Duration(1 + dice.Int64N(int64(8*time.Minute)))).C
		w.hit(map[int64]string{1: "deploy", -1: "deploy taken back"}[by])
		w.release.Add(by)
		w.site.deploy()
	}
}

// suspend lets the whole machine stand still for hours, in one of five worlds.
func (w *world) suspend() {
	dice := diceOf(w.seed, "suspend")
	if dice.IntN(5) > 0 {
		return
	}
	<-time.NewTimer(time.Duration(1 + dice.Int64N(int64(10*time.Minute)))).C
	d := time.Duration(1+dice.IntN(60)) * time.Minute
	w.schedule.enter(&turn{who: "machine", what: "suspend", do: func() {
		w.hit("suspended")
		w.schedule.asleep = time.Now().Add(d)
		for _, t := range w.schedule.waiting {
			if t.of != nil {
				t.after = w.schedule.asleep
			}
		}
	}})
}

// inspect is an operator who looks at exports of tasks that move.
func (w *world) inspect(o *client) {
	for range o.dice.IntN(4) {
		o.pause(5 * time.Minute)
		own := w.tasksOf(o.tenant)
		if len(own) == 0 {
			continue
		}
		ref := own[o.dice.IntN(len(own))]
		r, err := o.do("GET", "/tasks/"+string(ref.Task)+"/export", "")
		if err != nil || !r.ok() || !bytes.Contains(r.body, []byte(`{"kind":"trailer"`)) {
			continue // an export that was cut lacks its trailer
		}
		report, err := export.Verify(bytes.NewReader(r.body))
		if err != nil || !report.OK() {
			w.broken("export", "task %s, while it moves: %v %v", ref, err, report.Violations)
		}
	}
}
