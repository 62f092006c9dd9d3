package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Attributes of a parked execution: ledger.Token's JSON names, and the answer's
// mark.
const (
	answeredName        = "answered"
	tokenName           = "value"
	tokenGenerationName = "generation"
	tokenEnteredName    = "enteredAt"
	tokenAttemptName    = "attempt"
)

// tokenLife is when TTL may remove a token, should nothing else have: no pause is
// open for so long, and so no token is good.
const tokenLife = 2 * lifecycle.MaxPause

// Park implements ledger.Tokens. It writes first and reads afterwards, like the
// answer on the other side, so that whoever comes second sees both. The item
// expires by itself, so a token that comes after its task is gone leaves nothing
// behind.
func (l *Ledger) Park(ctx context.Context, ref lifecycle.Ref, pause int, t ledger.Token) (ledger.Parked, error) {
	entered := number(0)
	if !t.EnteredAt.IsZero() {
		entered = encodeInstant(t.EnteredAt)
	}
	x := &expression{}
	x.put(tokenName, text(t.Value)).put(tokenGenerationName, number(t.Generation)).put(tokenEnteredName, entered).
		put(tokenAttemptName, number(uint64(max(t.Attempt, 0)))).put(ttlName, number(uint64(max(t.EnteredAt.Add(tokenLife).Unix(), 0))))
	x.conditions = []string{x.before(t, entered)}
	err := l.update(ctx, l.tables.Private, parkedKey(ref, pause), x)
	if _, older := errors.AsType[*refusal](err); err != nil && !older {
		return ledger.Parked{}, err
	}
	return l.Parked(ctx, ref, pause)
}

// before is ledger.Token.Before as a condition on the token that is there.
func (x *expression) before(t ledger.Token, entered types.AttributeValue) string {
	value, generation, at, attempt := x.name(tokenName), x.name(tokenGenerationName), x.name(tokenEnteredName), x.name(tokenAttemptName)
	g, e, a := x.value(number(t.Generation)), x.value(entered), x.value(number(uint64(max(t.Attempt, 0))))
	return fmt.Sprintf("attribute_not_exists(%s) OR %s < %s OR (%s = %s AND %s < %s) OR (%s = %s AND %s = %s AND %s < %s)",
		value, generation, g, generation, g, at, e, generation, g, at, e, attempt, a)
}

// Parked implements ledger.Tokens.
func (l *Ledger) Parked(ctx context.Context, ref lifecycle.Ref, pause int) (ledger.Parked, error) {
	it, err := l.get(ctx, l.tables.Private, parkedKey(ref, pause))
	if err != nil || it == nil {
		return ledger.Parked{}, err
	}
	var p ledger.Parked
	if err := plainLayout.decode(it, &p.Token); err != nil {
		return ledger.Parked{}, fmt.Errorf("a token of task %s cannot be read: %w", ref, err)
	}
	if p.Token.EnteredAt.Unix() == 0 {
		p.Token.EnteredAt = time.Time{} // nobody said when
	}
	_, p.Answered = it[answeredName]
	return p, nil
}
