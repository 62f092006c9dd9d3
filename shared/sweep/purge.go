package sweep

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Purges forgets tasks whose retention is over, and goes on with purges that have died.
// It is apart from the Sweeper: what is to be forgotten can wait, however much it is.
type Purges struct {
	Purger *ledger.Purger
	// Patience is how long a task is left, once it has expired, to those who are told of
	// it. 0: nobody is.
	Patience time.Duration
	// Page is how many tasks are read at a time, Most how many are looked at in one run,
	// Beside how many are purged side by side.
	Page, Most, Beside int
	// Within bounds what one task takes of a run. A larger one goes on in the next run.
	Within time.Duration
	Logger *slog.Logger

	place ledger.Place[ledger.ExpiredCursor]
}

// Forgotten counts what one run did.
type Forgotten struct {
	Looked     int // tasks that had expired
	Purged     int // nothing is left of them
	Records    int // that were removed
	Skipped    int // somebody else has purged them, or they are not to be purged yet
	Unfinished int // some of it is left to the next run
	Failed     int // could not be purged; the next run tries again
	Keys       int // notes of submission keys that were removed
}

// Run purges what has expired. It advances past everything that it looked at, and goes
// on where the last run had to stop. An error about one task does not end the run.
func (p *Purges) Run(ctx context.Context) (Forgotten, error) {
	var f Forgotten
	now := p.Purger.Now()
	var err error
	if f.Keys, err = p.Purger.Purges.ForgetKeys(ctx, now, p.Most); err != nil {
		return f, err
	}
	after := p.place.Take()
	for f.Looked < p.Most {
		page, err := p.Purger.Purges.Expired(ctx, now.Add(-p.Patience), after, min(p.Page, p.Most-f.Looked))
		if err != nil {
			return f, err
		}
		f.add(p.Tasks(ctx, page.Refs))
		if err := ctx.Err(); err != nil {
			return f, err
		}
		if after = page.Next; after == nil {
			break
		}
	}
	p.place.Leave(after)
	return f, nil
}

// Tasks purges certain tasks, if they are to be purged, and returns when it has.
func (p *Purges) Tasks(ctx context.Context, refs []lifecycle.Ref) Forgotten {
	var mu sync.Mutex
	var f Forgotten
	var all sync.WaitGroup
	slots := make(chan struct{}, max(1, p.Beside))
	for _, ref := range refs {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			one := p.task(ctx, ref)
			mu.Lock()
			defer mu.Unlock()
			f.add(one)
		})
	}
	all.Wait()
	return f
}

func (p *Purges) task(ctx context.Context, ref lifecycle.Ref) Forgotten {
	within, cancel := context.WithTimeout(ctx, p.Within)
	defer cancel()
	f := Forgotten{Looked: 1}
	var err error
	f.Records, err = p.Purger.Purge(within, ref)
	switch {
	case err == nil:
		f.Purged = 1
	case ledger.Gone(err):
		f.Skipped = 1
	case errors.Is(err, within.Err()):
		f.Unfinished = 1
	default:
		f.Failed = 1
		p.Logger.Warn("a task could not be purged", "tenant", ref.Tenant, "task", ref.Task, "error", err)
	}
	return f
}

func (f *Forgotten) add(o Forgotten) {
	f.Looked += o.Looked
	f.Purged += o.Purged
	f.Records += o.Records
	f.Skipped += o.Skipped
	f.Unfinished += o.Unfinished
	f.Failed += o.Failed
	f.Keys += o.Keys
}
