package ledgertest

import (
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var tokenTests = []test{
	{"nobody has written the item: it is zero", tokenZero},
	{"a token is read back, and not with another pause", tokenReadBack},
	{"an older token never overwrites a younger one", tokenOrder},
	{"the answer marks the item in its transaction", tokenAnswered},
	{"a pause that ends otherwise is marked as well", tokenEnded},
}

func (b *bench) parked(ref lifecycle.Ref, pause int) ledger.Parked {
	b.Helper()
	p, err := b.ledger.Parked(b.ctx, ref, pause)
	b.ok(err)
	return p
}

func tokenZero(b *bench) {
	t, err := b.paused(b.ctx)
	b.ok(err)
	b.is("the item", b.parked(t.Ref(), 1), ledger.Parked{})
}

func tokenReadBack(b *bench) {
	t, err := b.paused(b.ctx)
	b.ok(err)
	head := b.head(t.Ref())
	token := ledger.Token{Value: "é/#\"", Generation: 1, EnteredAt: lifecycle.Millis(b.clock.Now()), Attempt: 2}
	p, err := b.ledger.Park(b.ctx, t.Ref(), 1, token)
	b.ok(err)
	b.is("the item as Park answers it", p, ledger.Parked{Token: token})
	b.is("the item", b.parked(t.Ref(), 1), ledger.Parked{Token: token})
	b.is("another pause's item", b.parked(t.Ref(), 11), ledger.Parked{})
	b.is("the head", b.head(t.Ref()), head)
}

// tokenOrder parks every pair of tokens in both orders.
func tokenOrder(b *bench) {
	at := lifecycle.Millis(b.clock.Now())
	tokens := []ledger.Token{ // ascending
		{Generation: 1, EnteredAt: at, Attempt: 0},
		{Generation: 1, EnteredAt: at, Attempt: 2},
		{Generation: 1, EnteredAt: at, Attempt: 10},
		{Generation: 1, EnteredAt: at.Add(time.Millisecond), Attempt: 0},
		{Generation: 2, EnteredAt: at.Add(-time.Hour), Attempt: 1},
		{Generation: 10, EnteredAt: at, Attempt: 0},
	}
	for i := range tokens {
		tokens[i].Value = fmt.Sprintf("token-%d", len(tokens)-i)
	}
	t, err := b.paused(b.ctx)
	b.ok(err)
	pause := 0
	for i, older := range tokens {
		for _, younger := range tokens[i+1:] {
			for _, order := range [][2]ledger.Token{{older, younger}, {younger, older}} {
				pause++
				_, err := b.ledger.Park(b.ctx, t.Ref(), pause, order[0])
				b.ok(err)
				p, err := b.ledger.Park(b.ctx, t.Ref(), pause, order[1])
				b.ok(err)
				b.is("the item as the second Park answers it", p, ledger.Parked{Token: younger})
			}
		}
	}
	b.is("the last item", b.parked(t.Ref(), pause).Token, tokens[len(tokens)-1])
}

func tokenAnswered(b *bench) {
	t, err := b.paused(b.ctx)
	b.ok(err)
	token := ledger.Token{Value: "token", Generation: 1, EnteredAt: lifecycle.Millis(b.clock.Now())}
	_, err = b.ledger.Park(b.ctx, t.Ref(), 1, token)
	b.ok(err)
	res, err := b.reply(b.ctx, t)
	b.ok(err)
	b.is("the pause that was answered", res.Answered, 1)
	b.is("the item", b.parked(t.Ref(), 1), ledger.Parked{Token: token, Answered: true})

	// A later attempt learns that it was answered.
	token.Attempt, token.Value = 1, "later"
	p, err := b.ledger.Park(b.ctx, t.Ref(), 1, token)
	b.ok(err)
	b.is("the item as a later attempt sees it", p, ledger.Parked{Token: token, Answered: true})
}

func tokenEnded(b *bench) {
	t, err := b.paused(b.ctx)
	b.ok(err)
	_, err = b.cancel(b.ctx, t)
	b.ok(err)
	b.is("the item of a canceled pause", b.parked(t.Ref(), 1), ledger.Parked{Answered: true})
	t, err = b.paused(b.ctx)
	b.ok(err)
	b.clock.Advance(2 * time.Hour)
	_, err = b.auth.Do(b.ctx, t, lifecycle.Expire{}, runner("sweep", 0), ledger.Extra{})
	b.ok(err)
	b.is("the item of an expired pause", b.parked(t.Ref(), 1), ledger.Parked{Answered: true})
}
