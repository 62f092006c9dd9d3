package dynamo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// revisionName is an effect's revision: lifecycle.Effect's JSON name.
const revisionName = "revision"

// Effect implements ledger.Effects.
func (l *Ledger) Effect(ctx context.Context, ref lifecycle.Ref, visit uint64, name string) (lifecycle.Effect, error) {
	it, err := l.get(ctx, l.tables.Tasks, effectKey(ref, visit, name))
	if err != nil {
		return lifecycle.Effect{}, err
	}
	if it == nil {
		return lifecycle.Effect{}, fmt.Errorf("effect %q in visit %d of task %s: %w", name, visit, ref, ledger.ErrNotFound)
	}
	return decodePlain[lifecycle.Effect](it, "an effect")
}

// EffectList implements ledger.Effects. An unknown task has none.
func (l *Ledger) EffectList(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Effect, error) {
	var out []lifecycle.Effect
	err := l.children(ctx, ref, effectPrefix, func(it item) error {
		e, err := decodePlain[lifecycle.Effect](it, "an effect")
		out = append(out, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("effects of task %s: %w", ref, err)
	}
	slices.SortFunc(out, func(a, b lifecycle.Effect) int {
		return cmp.Or(cmp.Compare(a.Visit, b.Visit), cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}

// Intend implements ledger.Effects. The head is checked and not written: the
// guard costs no progress of the task itself.
func (l *Ledger) Intend(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	lease := (&expression{}).headExists().is(fenceName, numberOrNone(e.Fence)).present(holderName).absent(cancelName)
	for _, s := range lifecycle.States() {
		if s.Terminal() {
			lease.compare(stateName, "<>", text(string(s)))
		}
	}
	var t transaction
	t.check(l.tables.Tasks, headKey(ref), lease)
	t.putRecord(l.tables.Tasks, effectKey(ref, e.Visit, e.Name), plainLayout, e, follows(e))
	err := l.transact(ctx, &t)
	r, refused := errors.AsType[*refusal](err)
	switch {
	case !refused:
		return err
	case !r.at(0).failed:
		return changed(e)
	case headOf(r.at(0).old) == nil:
		return noTask(ref)
	}
	current, err := decodeHead(r.at(0).old)
	if err != nil {
		return err
	}
	return &ledger.Conflict{Current: current}
}

// Settle implements ledger.Effects. What was never intended cannot be settled.
func (l *Ledger) Settle(ctx context.Context, ref lifecycle.Ref, e lifecycle.Effect) error {
	if e.Revision < 2 {
		return changed(e)
	}
	k := effectKey(ref, e.Visit, e.Name)
	it, err := keyed(k, plainLayout, e)
	if err != nil {
		return err
	}
	if err := k.check(); err != nil {
		return err
	}
	x := follows(e)
	_, err = write(ctx, l, func(ctx context.Context, _ string) (*dynamodb.PutItemOutput, error) {
		return l.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &l.tables.Tasks, Item: it, ConditionExpression: x.condition(),
			ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
		}, untried)
	})
	if _, refused := errors.AsType[*refusal](err); refused {
		return changed(e)
	}
	return err
}

// follows demands the record that is one revision older.
func follows(e lifecycle.Effect) *expression {
	if e.Revision <= 1 {
		return (&expression{}).isNew()
	}
	return (&expression{}).is(revisionName, number(e.Revision-1))
}

func changed(e lifecycle.Effect) error {
	return fmt.Errorf("effect %q in visit %d is not at the revision before %d: %w", e.Name, e.Visit, e.Revision, ledger.ErrEffectChanged)
}
