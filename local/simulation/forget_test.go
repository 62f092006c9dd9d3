package simulation_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The second act, when all tasks have ended: some exports are acknowledged, retentions
// end one after the other, and what has expired is purged while others live on beside
// it and new ones come.

func (w *world) forget() {
	old := w.witness.tasks()
	if len(old) == 0 {
		return
	}
	w.storm.again(4 * time.Minute)
	var parts []func()
	for _, e := range w.errands {
		if e.ref.Task != "" && e.dice.IntN(2) == 0 {
			parts = append(parts, func() { e.acknowledge() })
		}
	}
	w.play(parts...)
	first, last := w.expiries(old)
	w.leap(first.Add(5 * time.Second)) // the clocks may differ
	w.storm.again(10 * time.Minute)
	parts = []func(){w.ttl}
	for _, o := range w.operators {
		parts = append(parts, func() { w.operate(o) })
	}
	for n := range 1 + w.dice.IntN(2) {
		parts = append(parts, w.errandOf(100+n, 1000))
	}
	for _, e := range w.errands {
		if h, err := w.witness.Head(context.Background(), e.ref); err == nil && h.Terminal() {
			parts = append(parts, func() { e.readExpired(h) })
		}
	}
	w.play(parts...)
	w.settle()
	w.purged()
	w.judge()
	w.leap(last.Add(time.Minute))
	w.purged()
	for _, ref := range old {
		if !w.forgotten[ref] {
			w.broken("I8", "task %s has expired and is still there", ref)
		}
	}
	w.retire()
	parts = nil
	for _, e := range w.errands {
		if w.forgotten[e.ref] {
			parts = append(parts, e.resubmit)
		}
	}
	for _, o := range w.operators {
		parts = append(parts, func() { w.replayRest(o) })
	}
	w.play(parts...)
	w.settle()
}

// expiries are the first and the last instant at which a task may be forgotten.
func (w *world) expiries(refs []lifecycle.Ref) (first, last time.Time) {
	for _, ref := range refs {
		h, err := w.witness.Head(context.Background(), ref)
		if err != nil {
			continue
		}
		if first.IsZero() || h.ExpiresAt.Before(first) {
			first = h.ExpiresAt
		}
		if h.ExpiresAt.After(last) {
			last = h.ExpiresAt
		}
	}
	return first, last
}

// ttl removes expiry markers, late and not all of them.
func (w *world) ttl() {
	c, is := w.site.(*cloud)
	if !is {
		return
	}
	dice := diceOf(w.seed, "ttl")
	for range 6 {
		<-time.NewTimer(time.Duration(1 + dice.Int64N(int64(3*time.Minute)))).C
		for _, ref := range w.witness.tasks() {
			if h, err := w.witness.Head(context.Background(), ref); err == nil && h.Expired(time.Now()) && dice.IntN(3) > 0 {
				c.expire(ref)
			}
		}
	}
}

// purged lets the sweeps purge what has expired, and looks whether anything of it is
// left. What has not expired is judged anew: it is all there.
func (w *world) purged() {
	expired := func() (refs []lifecycle.Ref) {
		page, err := w.witness.Expired(context.Background(), time.Now().Add(-5*time.Second), nil, 1000)
		if err != nil {
			w.broken("I8", "what has expired cannot be found: %v", err)
		}
		return page.Refs
	}
	w.schedule.run(time.Now().Add(6*time.Hour), func() bool { return len(expired()) == 0 })
	if left := expired(); len(left) > 0 {
		w.broken("I8", "%d tasks have expired hours ago and are not purged: %v", len(left), left)
	}
	for _, ref := range w.witness.tasks() {
		if w.forgotten[ref] {
			continue
		}
		if _, err := w.witness.Head(context.Background(), ref); errors.Is(err, ledger.ErrNotFound) {
			w.forgotten[ref] = true
			w.checkForgotten(ref)
			w.hit("purged")
		}
	}
}

// checkForgotten looks for anything that is left of a purged task.
func (w *world) checkForgotten(ref lifecycle.Ref) {
	ctx, l := context.Background(), w.witness
	entries, err1 := l.Entries(ctx, ref, 0, 0)
	artifacts, err2 := l.Artifacts(ctx, ref)
	effects, err3 := l.EffectList(ctx, ref)
	endpoints, err4 := l.EndpointList(ctx, ref)
	rejections, err5 := l.Rejections(ctx, ref)
	late, err6 := l.Quarantine(ctx, ref)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		w.broken("I8", "what is left of task %s cannot be read: %v", ref, err)
	}
	if n := len(entries) + len(artifacts) + len(effects) + len(endpoints) + len(rejections) + len(late); n > 0 {
		w.broken("I8", "task %s was purged, and %d entries, %d artifacts, %d effects, %d endpoints, %d rejections, %d late pieces are left",
			ref, len(entries), len(artifacts), len(effects), len(endpoints), len(rejections), len(late))
	}
	for pause := 1; pause < 9; pause++ {
		if p, err := l.Parked(ctx, ref, pause); err == nil && p != (ledger.Parked{}) {
			w.broken("I8", "task %s was purged, and the token of pause %d is left", ref, pause)
		}
	}
	for _, digest := range w.large[ref] {
		if _, err := w.blobs.Get(ctx, ref, digest); !errors.Is(err, ledger.ErrNotFound) {
			w.broken("I8", "task %s was purged, and blob %s is left: %v", ref, digest, err)
		}
	}
}

// largeIn are the blobs that a history names.
func largeIn(entries []lifecycle.Entry) (out []lifecycle.Digest) {
	for _, e := range entries {
		ev, err := e.Event()
		if err != nil {
			continue
		}
		if ev.Chunk != nil {
			if b, is := lifecycle.AsBlob(ev.Chunk.Part); is {
				out = append(out, b.Digest)
			}
		}
		if ev.Message != nil {
			for _, p := range ev.Message.Parts {
				if b, is := lifecycle.AsBlob(p); is {
					out = append(out, b.Digest)
				}
			}
		}
	}
	return out
}

// acknowledge exports the task, checks the export, and says that it has it.
func (e *errand) acknowledge() {
	for range 8 {
		e.pause(20 * time.Second)
		r, err := e.do(http.MethodGet, e.path("/export"), "")
		if err != nil || !r.ok() || !bytes.Contains(r.body, []byte(`{"kind":"trailer"`)) {
			if err == nil {
				e.refusedAs(r, "an export")
			}
			continue
		}
		report, err := export.Verify(bytes.NewReader(r.body))
		if err != nil || !report.OK() {
			e.w.broken("verify", "the caller's export of task %s: %v %v", e.ref, err, report.Violations)
			return
		}
		body, _ := json.Marshal(map[string]any{"sequence": report.Seq, "digest": report.Chain})
		r, err = e.do(http.MethodPost, e.path("/acknowledgement"), string(body))
		if err != nil || !r.ok() {
			if err == nil {
				e.refusedAs(r, "an acknowledgement")
			}
			continue
		}
		e.w.hit("acknowledged")
		return
	}
}

// readExpired reads the task: it is there until its retention is over, and then it is
// not, purged or not.
func (e *errand) readExpired(h lifecycle.Head) {
	for range 6 {
		e.pause(2 * time.Minute)
		const clocks = 3 * time.Second
		asked := time.Now()
		r, err := e.do(http.MethodGet, e.path(""), "")
		if err != nil || r.status == http.StatusServiceUnavailable {
			continue
		}
		switch {
		case r.ok() && asked.After(h.ExpiresAt.Add(clocks)):
			e.w.broken("I8", "task %s has expired at %s and was read at %s", e.ref, h.ExpiresAt, asked)
		case !r.ok() && r.reason != "TASK_NOT_FOUND", !r.ok() && time.Now().Before(h.ExpiresAt.Add(-clocks)):
			e.w.broken("I8", "task %s can be read until %s, and was refused: %d %s", e.ref, h.ExpiresAt, r.status, r.body)
		}
	}
}

// resubmit sends the submission once more: its task has been purged, and the key says
// so.
func (e *errand) resubmit() {
	for range 5 {
		r, err := e.do(http.MethodPost, e.prefix+"/message:send", e.body, e.header...)
		if err != nil || r.status == http.StatusServiceUnavailable {
			e.pause(10 * time.Second)
			continue
		}
		if r.ok() {
			e.w.broken("I5", "%s, whose task was purged, made another one: %s", e.name, r.body)
		}
		e.refusedAs(r, fmt.Sprintf("a submission whose task %s was purged", e.ref.Task), "SUBMISSION_KEY_EXPIRED")
		return
	}
}
