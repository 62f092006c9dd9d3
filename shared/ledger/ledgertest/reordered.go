package ledgertest

import (
	"context"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Reordered is a ledger whose feed is as untidy as a stream of database records:
// tasks overtake each other, and the items of one commit arrive in any order.
// The commits of a task keep theirs. The order is fixed once an item was
// readable, so positions hold; keep the Reordered when a process dies, as the
// ledger below it.
type Reordered struct {
	ledger.Ledger

	mu   sync.Mutex
	dice *rand.Rand
	read string // position in the feed below
	feed []ledger.Change
}

// NewReordered is l with a feed in an order that the seed decides.
func NewReordered(l ledger.Ledger, seed uint64) *Reordered {
	return &Reordered{Ledger: l, dice: rand.New(rand.NewPCG(seed, 0))}
}

// Changes implements ledger.Feed, but for the order within a commit.
func (r *Reordered) Changes(ctx context.Context, after string, limit int) ([]ledger.Change, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.pull(ctx); err != nil {
		return nil, err
	}
	page, err := pageAfter(r.feed, after, limit)
	return slices.Clone(page), err
}

// pull takes what is new below, commit by commit, from a random task each time.
func (r *Reordered) pull(ctx context.Context) error {
	waiting := map[lifecycle.Ref][][]ledger.Change{}
	var refs []lifecycle.Ref
	read := r.read
	for {
		const page = 256
		changes, err := r.Ledger.Changes(ctx, read, page)
		if err != nil {
			return err
		}
		for _, c := range changes {
			read = c.Position
			commits := waiting[c.Ref]
			if commits == nil {
				refs = append(refs, c.Ref)
			}
			if n := len(commits); n > 0 && commits[n-1][0].Entry.OpID == c.Entry.OpID {
				commits[n-1] = append(commits[n-1], c)
			} else {
				commits = append(commits, []ledger.Change{c})
			}
			waiting[c.Ref] = commits
		}
		if len(changes) == 0 {
			break
		}
	}
	r.read = read
	for len(refs) > 0 {
		i := r.dice.IntN(len(refs))
		commits := waiting[refs[i]]
		for _, from := range r.dice.Perm(len(commits[0])) {
			c := commits[0][from]
			c.Position = strconv.Itoa(len(r.feed) + 1)
			r.feed = append(r.feed, c)
		}
		if waiting[refs[i]] = commits[1:]; len(commits) == 1 {
			refs = slices.Delete(refs, i, i+1)
		}
	}
	return nil
}
