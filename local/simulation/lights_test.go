package simulation_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// late is how late a cloud's sweep may be.
const late = 3 * time.Minute

// monitor is how a function of the cloud tells of trouble.
func (c *cloud) monitor(p *process) *health.Monitor {
	return &health.Monitor{Findings: p.ledger(), Now: p.now, Window: health.DefaultWindow, Log: metrics.Log{Logger: c.logger(p), Deployment: "simulation", Now: p.now}}
}

// survey is what a sweep of the cloud begins with.
func (c *cloud) survey(ctx context.Context, p *process, agents *catalog.Catalog) {
	r := &health.Reporter{
		Ledger: p.ledger(), Now: p.now, Late: late, Window: health.DefaultWindow, PurgePatience: forgetPatience, Outside: agents.Outside,
		Known: func(agent string, version int) bool { _, known := agents.Lookup(agent, version); return known },
	}
	if report, err := r.Survey(ctx); err == nil {
		c.monitor(p).Measured(ctx, report)
	}
}

// Note implements ledger.Findings.
func (x *witness) Note(ctx context.Context, ref lifecycle.Ref, kind string, at time.Time, spell time.Duration, times int) error {
	err := x.Ledger.Note(ctx, ref, kind, at, spell, times)
	if err == nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.noted[noted{ref, health.ID(kind)}] = true
	}
	return err
}

// noted is a task of which somebody has told.
type noted struct {
	ref  lifecycle.Ref
	kind health.ID
}

// judgeLights holds what operators are shown against what is so, when everything has come
// to rest: what was told of and stands is in the report, however many surveys have
// forgotten what was over; and nothing else is.
func (w *world) judgeLights() {
	ctx, now := context.Background(), time.Now()
	r := &health.Reporter{Ledger: w.witness, Now: func() time.Time { return now }, Late: 15 * time.Minute, Window: health.DefaultWindow, PurgePatience: forgetPatience}
	first, err := r.Survey(ctx)
	if err != nil {
		w.broken("health", "%v", err)
		return
	}
	again, err := r.Survey(ctx)
	if got, was := fmt.Sprintf("%+v", again), fmt.Sprintf("%+v", first); err != nil || got != was {
		w.broken("health", "a survey says %s (%v), and the one before it said %s", got, err, was)
	}
	want := w.troubles(ctx, now)
	if live, _ := w.live(); len(live) == 0 {
		want[health.TaskPastDue], want[health.PausePastDue], want[health.UnknownVersion] = 0, 0, 0
	}
	if w.told() {
		want[health.Undelivered] = 0
	}
	for _, l := range first.Lights {
		if n, judged := want[l.Invariant]; judged && l.Value != n {
			w.broken("health", "the light %s says %v, there are %v (%+v)", l.Invariant, l.Value, n, l)
		}
	}
}

// troubles counts what stands of what is a state and was told of; where nothing was done to
// anybody, everything was.
func (w *world) troubles(ctx context.Context, now time.Time) map[health.ID]float64 {
	calm := w.storm.rate == 0 && len(w.storm.outages) == 0
	doubts, lost := 0.0, 0.0
	for _, ref := range w.witness.tasks() {
		w.witness.mu.Lock()
		toldOfDoubt, toldOfLoss := w.witness.noted[noted{ref, health.EffectInDoubt}], w.witness.noted[noted{ref, health.DeliveryGivenUp}]
		w.witness.mu.Unlock()
		effects, _ := w.witness.EffectList(ctx, ref)
		for _, e := range effects {
			since, is := e.Doubtful(now)
			if is && (e.Policy == lifecycle.PolicyHold || now.Sub(since) >= 5*time.Minute) && (calm || toldOfDoubt) {
				doubts++
			}
		}
		endpoints, _ := w.witness.EndpointList(ctx, ref)
		for _, e := range endpoints {
			if e.Delivery.State == ledger.DeliveryGivenUp && (calm || toldOfLoss) {
				lost++
			}
		}
	}
	return map[health.ID]float64{health.EffectInDoubt: doubts, health.DeliveryGivenUp: lost}
}
