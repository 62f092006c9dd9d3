package node

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// Defaults of what a node watches.
const (
	// defaultLate covers some sweeps, and the grace that they give.
	defaultLate = 40 * time.Second
	// deployment is the dimension of a node's metrics.
	deployment = "local"
)

// watch is how a node is watched.
type watch struct {
	monitor  *health.Monitor
	reporter *health.Reporter
	// sweptAt is when a sweep last came to its end, measuredAt when it was last looked at
	// what there is to find; before the first one, when the node was made. Nanoseconds.
	sweptAt, measuredAt atomic.Int64
}

func newWatch(c Config) *watch {
	w := &watch{
		monitor: &health.Monitor{Findings: c.Ledger, Now: c.Now, Window: c.Timing.Window, Log: metrics.Log{Logger: c.Logger, Deployment: deployment, Now: c.Now}},
	}
	w.sweptAt.Store(c.Now().UnixNano())
	w.reporter = &health.Reporter{
		Ledger: c.Ledger, Now: c.Now, Late: c.Timing.Late, Window: c.Timing.Window, PurgePatience: forgetEvery * c.Timing.Sweep,
		Known: c.Catalog.Known, Outside: c.Catalog.Outside, LastSweep: func() time.Time { return time.Unix(0, w.sweptAt.Load()) },
	}
	return w
}

// lights is what the door reports of a tenant.
func (w *watch) lights(ctx context.Context, tenant string) (any, error) {
	return w.reporter.Report(ctx, tenant)
}

// measure looks what there is to find, before the sweep sees to it, unless it was done
// a moment ago: what is late stays late for longer than that.
func (w *watch) measure(ctx context.Context) error {
	now := w.reporter.Now()
	if last := w.measuredAt.Load(); last != 0 && now.Sub(time.Unix(0, last)) < w.reporter.Late/2 {
		return nil
	}
	r, err := w.reporter.Survey(ctx)
	if err != nil {
		return err
	}
	w.measuredAt.Store(now.UnixNano())
	w.monitor.Measured(ctx, r)
	return nil
}

// swept says that a sweep has come to its end.
func (w *watch) swept(ctx context.Context) {
	w.sweptAt.Store(w.reporter.Now().UnixNano())
	w.monitor.SweepEnded(ctx)
}
