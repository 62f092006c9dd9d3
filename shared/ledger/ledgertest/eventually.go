package ledgertest

import (
	"context"
	"fmt"
	"time"
)

// How long the suite waits for an index or a feed: ten seconds in all.
const (
	pollEvery  = 5 * time.Millisecond
	pollRounds = 2000
)

// eventually asks until there is no complaint. Inside a synctest bubble the
// ticks cost nothing.
func eventually(ctx context.Context, ask func() error) error {
	complaint := ask()
	if complaint == nil {
		return nil
	}
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for range pollRounds {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w; last: %w", ctx.Err(), complaint)
		}
		if complaint = ask(); complaint == nil {
			return nil
		}
	}
	return fmt.Errorf("still so after %d looks: %w", pollRounds, complaint)
}
