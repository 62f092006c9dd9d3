package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var watchTests = []test{
	{"what is there already is not waited for", watchAtOnce},
	{"a commit between the read and the watch is not missed (I4)", watchMissesNothing},
	{"every watcher sees every entry, once and ascending", watchAll},
	{"the context ends a watch", watchEnds},
}

// watchPatience bounds what would otherwise hang for ever.
const watchPatience = 20 * time.Second

func watchAtOnce(b *bench) {
	t := b.working("holder")
	ctx, stop := context.WithTimeout(b.ctx, watchPatience)
	defer stop()
	for after := range t.Seq {
		b.ok(b.ledger.Watch(ctx, t.Ref(), after))
	}
}

// follow reads and watches as a stream does, until the task has ended.
func (d *desk) follow(ctx context.Context, ref lifecycle.Ref) (uint64, error) {
	last := uint64(0)
	for {
		entries, err := d.ledger.Entries(ctx, ref, last, 0)
		if err != nil {
			return last, err
		}
		for _, e := range entries {
			if e.Seq != last+1 {
				return last, fmt.Errorf("entry %d follows entry %d", e.Seq, last)
			}
			last = e.Seq
			if e.Type == lifecycle.TypeEnded {
				return last, nil
			}
		}
		if err := d.ledger.Watch(ctx, ref, last); err != nil {
			return last, fmt.Errorf("watching after entry %d: %w", last, err)
		}
	}
}

// watchMissesNothing lets each next commit wait until the one before was seen,
// and begins it while the watcher is on its way from reading to watching.
func watchMissesNothing(b *bench) {
	t := b.working("holder")
	ctx, stop := context.WithTimeout(b.ctx, watchPatience)
	defer stop()
	writes := make(chan error, 1)
	for range rounds(100) {
		before := t
		go func() {
			var err error
			t, err = b.report(ctx, before, progress())
			writes <- err
		}()
		for {
			seen, err := b.ledger.Entries(ctx, before.Ref(), before.Seq, 0)
			b.ok(err)
			if len(seen) > 0 {
				break
			}
			b.ok(b.ledger.Watch(ctx, before.Ref(), before.Seq))
		}
		b.ok(<-writes)
	}
	b.task(t.Ref())
}

func watchAll(b *bench) {
	const watchers = 16
	t := b.working("holder")
	ref := t.Ref()
	ctx, stop := context.WithTimeout(b.ctx, watchPatience)
	defer stop()
	var all sync.WaitGroup
	seen, errs := make([]uint64, watchers), make([]error, watchers)
	for i := range watchers {
		all.Go(func() { seen[i], errs[i] = b.follow(ctx, ref) })
	}
	for range rounds(100) {
		t = b.reported(t, progress())
	}
	t = b.reported(t, ending(lifecycle.VerbComplete))
	all.Wait()
	b.ok(errors.Join(errs...))
	for i := range watchers {
		b.is("the last entry that a watcher saw", seen[i], t.Seq)
	}
}

func watchEnds(b *bench) {
	t := b.working("holder")
	ctx, stop := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	go func() {
		for {
			if err := b.ledger.Watch(ctx, t.Ref(), t.Seq); err != nil {
				ended <- err
				return
			}
		}
	}()
	stop()
	b.want("a watch whose context ended", <-ended, context.Canceled)
	b.want("a watch whose context had ended", b.ledger.Watch(ctx, t.Ref(), t.Seq), context.Canceled)
}
