package boot

import (
	"context"
	"log/slog"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
)

const (
	// ttlPatience is how long the sweep leaves an expired task to TTL, which removes
	// "typically within two days" (Using time to live in DynamoDB, developer guide), and
	// to the stream function, which is told of that.
	ttlPatience = 48 * time.Hour
	// purgeBudget is what the stream function gives all purges of a batch: the records
	// behind them wait. What is left then is the sweep's.
	purgeBudget = 10 * time.Second
	// purgesBeside is how many tasks a function purges at a time.
	purgesBeside = 16
	// purgeWithin is what one task takes of a sweep.
	purgeWithin = time.Minute
)

// purges forgets tasks of a ledger.
func (p process) purges(l ledger.Purges, b ledger.Blobs, most int) *sweep.Purges {
	return &sweep.Purges{
		Purger:   &ledger.Purger{Purges: l, Blobs: b, Now: p.now, KeyNote: lifecycle.DefaultKeyNote},
		Patience: ttlPatience, Page: sweepPage, Most: most, Beside: purgesBeside, Within: purgeWithin, Logger: p.logger,
	}
}

// expired forgets the tasks whose expiry TTL has told of, within a budget. A task that
// could not be purged is no reason to send records again, which would hold up those
// behind them: the sweep goes on with it.
func expired(ctx context.Context, p *sweep.Purges, refs []lifecycle.Ref) sweep.Forgotten {
	ctx, cancel := context.WithTimeout(ctx, purgeBudget)
	defer cancel()
	return p.Tasks(ctx, refs)
}

// forgotten is what became of expired tasks, as it is logged.
func forgotten(f sweep.Forgotten) slog.Attr {
	return slog.Group("purges", slog.Int("looked", f.Looked), slog.Int("purged", f.Purged), slog.Int("records", f.Records),
		slog.Int("skipped", f.Skipped), slog.Int("unfinished", f.Unfinished), slog.Int("failed", f.Failed))
}
