package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// transaction is a TransactWriteItems in the making. Its actions are on distinct
// items, and it is all or nothing.
type transaction struct {
	actions []types.TransactWriteItem
	err     error // the first fault; the rest is then left out
}

// returns asks for the old item of an action whose condition fails.
func (x *expression) returns() types.ReturnValuesOnConditionCheckFailure {
	if len(x.conditions) == 0 {
		return ""
	}
	return types.ReturnValuesOnConditionCheckFailureAllOld
}

// update adds a change of an item.
func (t *transaction) update(table string, k key, x *expression) {
	t.note(k.check())
	t.action(types.TransactWriteItem{Update: &types.Update{
		TableName: &table, Key: k.item(), UpdateExpression: x.update(), ConditionExpression: x.condition(),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values, ReturnValuesOnConditionCheckFailure: x.returns(),
	}})
}

// put adds a whole item and says the action's place, where a refusal will have its
// reason.
func (t *transaction) put(table string, it item, x *expression) int {
	t.note(key{textOf(it, partitionName), textOf(it, sortName)}.check())
	return t.action(types.TransactWriteItem{Put: &types.Put{
		TableName: &table, Item: it, ConditionExpression: x.condition(),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values, ReturnValuesOnConditionCheckFailure: x.returns(),
	}})
}

// putRecord adds a record under its key.
func (t *transaction) putRecord(table string, k key, l layout, record any, x *expression) int {
	it, err := keyed(k, l, record)
	t.note(err)
	return t.put(table, it, x)
}

// keyed is a record with its key.
func keyed(k key, l layout, record any) (item, error) {
	it, err := l.encode(record)
	if err != nil {
		return k.item(), err
	}
	it[partitionName], it[sortName] = text(k.partition), text(k.sort)
	return it, nil
}

// check adds a condition on an item that is not written.
func (t *transaction) check(table string, k key, x *expression) {
	t.note(k.check())
	t.action(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &table, Key: k.item(), ConditionExpression: x.condition(),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values, ReturnValuesOnConditionCheckFailure: x.returns(),
	}})
}

func (t *transaction) action(a types.TransactWriteItem) int {
	t.actions = append(t.actions, a)
	return len(t.actions) - 1
}

func (t *transaction) note(err error) {
	if t.err == nil {
		t.err = err
	}
}

// transact writes it.
func (l *Ledger) transact(ctx context.Context, t *transaction) error {
	if t.err != nil {
		return t.err
	}
	_, err := write(ctx, l, func(ctx context.Context, token string) (*dynamodb.TransactWriteItemsOutput, error) {
		return l.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: t.actions, ClientRequestToken: &token}, untried)
	})
	return err
}
