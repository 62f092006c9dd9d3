package boot

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// sweepPage is how many tasks a sweep reads at a time.
const sweepPage = 100

// Sweeping is a function that a schedule calls, as what lambda.Start takes. What the
// schedule sends does not matter.
type Sweeping func(ctx context.Context) error

// Sweep is the function of the schedule: whatever time alone made due, and starts and
// resumes that nobody was told of.
func Sweep() (Sweeping, error) { return newProcess().sweep() }

func (p process) sweep() (Sweeping, error) {
	s, machine, t := readStorage(p.variables), readMachine(p.variables), readTiming(p.variables)
	most, free := p.count(sweepMost, defaultSweepMost), readReserve(p.variables, defaultReserve)
	deliveries := readDeliveryMachine(p.variables)
	known, err := catalog.Shipped(p.address(systemsURL))
	c := readAWS(p.variables)
	if err := errors.Join(p.err(), err); err != nil {
		return nil, err
	}
	tables, monitor := p.watched(c, s, t)
	authority := p.authority(tables, monitor)
	told := dispatcher(c, machine, authority, monitor, t.grace)
	// It delivers nothing, and so reads no key and no secret.
	hooks := delivering(p.push(tables, nil, nil, t.grace, monitor), c, deliveries)
	planner := hooks.Planner()
	return bounded(monitor, p.reporter(tables, known, t).Survey, &sweep.Sweeper{
		Authority: authority, Executions: told, Page: sweepPage, Most: most, Watch: monitor, Logger: p.logger,
		Known: known.Known, Outside: known.Outside,
	}, hooks.Sweeper(planner, planner.Hand).Run, p.purges(tables, newBlobs(c, s), most).Run, free), nil
}

// bounded measures what there is to find, sweeps tasks, then endpoints, and then forgets
// what has expired, within one invocation. What could not be measured is swept all the
// same. A sweep that runs out of time has done its share if it has looked at anything:
// the next one goes on with what is still due. That it came to its end is its sign of
// life, by which the alarms on what it measures stand or fall: it gives none when it was
// blind, or got nowhere.
func bounded(m *health.Monitor, survey func(context.Context) (health.Report, error), s *sweep.Sweeper, endpoints func(context.Context) (webhook.Swept, error), purges func(context.Context) (sweep.Forgotten, error), reserve time.Duration) Sweeping {
	return func(ctx context.Context) error {
		limited := ctx
		if end, ok := ctx.Deadline(); ok {
			var cancel context.CancelFunc
			limited, cancel = context.WithDeadline(ctx, end.Add(-reserve))
			defer cancel()
		}
		report, unmeasured := survey(limited)
		if unmeasured == nil {
			m.Measured(ctx, report)
		} else {
			s.Logger.LogAttrs(ctx, slog.LevelError, "nothing was measured", slog.Any("error", unmeasured))
		}
		found, err := s.Run(limited)
		swept, failed := endpoints(limited)
		done, unpurged := purges(limited)
		err = errors.Join(err, failed, unpurged)
		cut := err != nil && limited.Err() != nil && ctx.Err() == nil
		s.Logger.LogAttrs(ctx, slog.LevelInfo, "sweep", slog.Int("looked", found.Looked), slog.Int("expired", found.Expired), slog.Int("restarted", found.Restarted),
			slog.Int("skipped", found.Skipped), slog.Int("unknown", found.Unknown), slog.Int("failed", found.Failed), slog.Bool("cut", cut),
			slog.Group("endpoints", slog.Int("looked", swept.Looked), slog.Int("behind", swept.Behind), slog.Int("settled", swept.Settled), slog.Int("skipped", swept.Skipped), slog.Int("failed", swept.Failed)), forgotten(done))
		if err != nil && !cut {
			return err
		}
		if unmeasured == nil && (!cut || found.Looked+swept.Looked > 0) {
			m.Swept(ctx)
		}
		return nil
	}
}
