package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// forgetName is when a submission key is forgotten: ledger.KeyNote's JSON name.
const forgetName = "forgetAt"

// maxRemoved is how many items a BatchWriteItem takes (API reference).
const maxRemoved = 25

// strippedNames are what a purge takes from a head when it begins. What is left is no
// head any more: it has no sequence and no place in a list, and every condition on a
// head fails. It says what the purge has to know at its end, and when the task expired,
// by which it is found until then.
var strippedNames = append(slices.DeleteFunc(slices.Clone(headNames), func(name string) bool { return name == keyName || name == expiresName }),
	rejectionsName, incidentsName, hitsName, lateName, actsName, updateName, contextName, statusName)

// purgeOf reads what is left of a head.
func purgeOf(ref lifecycle.Ref, it item) (ledger.Purge, error) {
	h, err := decodeHead(it)
	return ledger.Purge{Ref: ref, ExpiresAt: h.ExpiresAt, Key: h.Key}, err
}

// Expired implements ledger.Purges. Keys alone tell what has expired: no head is read.
func (l *Ledger) Expired(ctx context.Context, before time.Time, after *ledger.ExpiredCursor, limit int) (ledger.ExpiredPage, error) {
	var page ledger.ExpiredPage
	s := dueUntil(expiredPrefix, before, limit)
	if after != nil {
		s.first = dueSort(after.ExpiresAt, after.Ref) + "\x00"
	}
	if s.empty() {
		return page, ctx.Err()
	}
	keys := l.scan(l.tables.Tasks, s)
	for last := (ledger.DueCursor{}); ; {
		h, more, err := keys.take(ctx)
		if err != nil {
			return ledger.ExpiredPage{}, err
		}
		if !more {
			return page, nil
		}
		if limit > 0 && len(page.Refs) == limit {
			page.Next = &ledger.ExpiredCursor{ExpiresAt: last.DueAt, Ref: last.Ref}
			return page, nil
		}
		if last, err = parseDue(h.place); err != nil {
			return ledger.ExpiredPage{}, err
		}
		page.Refs = append(page.Refs, last.Ref)
	}
}

// BeginPurge implements ledger.Purges: one update, which strips the head if its state
// and its expiry say so.
func (l *Ledger) BeginPurge(ctx context.Context, ref lifecycle.Ref, now time.Time) (ledger.Purge, error) {
	k := headKey(ref)
	if err := k.check(); err != nil {
		return ledger.Purge{}, err
	}
	x := (&expression{}).headExists().compare(expiresName, "<=", encodeInstant(now)).ended()
	for _, name := range strippedNames {
		x.put(name, nil)
	}
	out, err := write(ctx, l, func(ctx context.Context, _ string) (*dynamodb.UpdateItemOutput, error) {
		return l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &l.tables.Tasks, Key: k.item(), UpdateExpression: x.update(), ConditionExpression: x.condition(),
			ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
			ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: x.returns(),
		}, untried)
	})
	if err == nil {
		return purgeOf(ref, out.Attributes)
	}
	r, refused := errors.AsType[*refusal](err)
	switch {
	case !refused:
		return ledger.Purge{}, err
	case r.at(0).old == nil:
		return ledger.Purge{}, noTask(ref)
	case headOf(r.at(0).old) == nil: // it was begun, perhaps by this very call
		return purgeOf(ref, r.at(0).old)
	}
	h, err := decodeHead(r.at(0).old)
	if err != nil {
		return ledger.Purge{}, err
	}
	return ledger.Purge{}, &ledger.NotExpired{Ref: ref, ExpiresAt: h.ExpiresAt}
}

// ended demands a terminal state.
func (x *expression) ended() *expression {
	var states []string
	for _, s := range lifecycle.States() {
		if s.Terminal() {
			states = append(states, x.value(text(string(s))))
		}
	}
	x.conditions = append(x.conditions, x.name(stateName)+" IN ("+strings.Join(states, ", ")+")")
	return x
}

// PurgePiece implements ledger.Purges. What is left of the head is the first item of the
// task's partition, so that the read which finds the others also says that the purge has
// begun. The private table comes last: its items are few.
func (l *Ledger) PurgePiece(ctx context.Context, ref lifecycle.Ref) (removed int, more bool, err error) {
	found, more, err := l.partition(ctx, l.tables.Tasks, ref, ledger.MaxPurged+1)
	if err != nil || len(found) == 0 || textOf(found[0], sortName) != headSort || headOf(found[0]) != nil {
		return 0, false, err
	}
	children := found[1:]
	if err := l.remove(ctx, l.tables.Tasks, children); err != nil {
		return 0, true, err
	}
	left := ledger.MaxPurged - len(children)
	if more || left == 0 {
		return len(children), true, nil
	}
	private, more, err := l.partition(ctx, l.tables.Private, ref, left)
	if err == nil {
		err = l.remove(ctx, l.tables.Private, private)
	}
	if err != nil {
		return len(children), true, err
	}
	return len(children) + len(private), more, nil
}

// partition reads the keys of up to so many items of a task in one table, and of a head
// whether it is one. A page ends at 1 MB (Query, API reference).
func (l *Ledger) partition(ctx context.Context, table string, ref lifecycle.Ref, limit int) (found []item, more bool, err error) {
	partition := taskPartition(ref)
	if err := (key{partition, headSort}).check(); err != nil {
		return nil, false, err
	}
	var x expression
	x.compare(partitionName, "=", text(partition))
	out, err := l.query(ctx, &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true), Limit: aws.Int32(int32(limit)), KeyConditionExpression: x.condition(), ExpressionAttributeValues: x.values,
		ProjectionExpression:     joined([]string{x.name(partitionName), x.name(sortName), x.name(seqName)}, ", "),
		ExpressionAttributeNames: x.names,
	})
	if err != nil {
		return nil, false, err
	}
	return out.Items, len(out.LastEvaluatedKey) > 0, nil
}

// remove removes items, batch by batch. Removing one again does no harm, so a broken
// connection is tried again too.
func (l *Ledger) remove(ctx context.Context, table string, items []item) error {
	for batch := range slices.Chunk(items, maxRemoved) {
		requests := make([]types.WriteRequest, len(batch))
		for i, it := range batch {
			requests[i] = types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: onlyKey(it)}}
		}
		// A throttled table answers in part: what was not processed is asked for again.
		for tries := 1; len(requests) > 0; tries++ {
			out, err := read(ctx, l, func(ctx context.Context) (*dynamodb.BatchWriteItemOutput, error) {
				return l.client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{table: requests}}, untried)
			})
			if err != nil {
				return err
			}
			if requests = out.UnprocessedItems[table]; len(requests) == 0 {
				break
			}
			if tries == l.retry.Tries {
				return unavailable(errUnprocessed)
			}
			if err := rest(ctx, jitter(l.retry.limit(tries))); err != nil {
				return err
			}
		}
	}
	return nil
}

// EndPurge implements ledger.Purges. TTL removes the note when its time is over.
func (l *Ledger) EndPurge(ctx context.Context, p ledger.Purge, forgetAt time.Time) error {
	if p.Key != "" {
		note := (&expression{}).exists().compare("task", "=", text(string(p.Ref.Task))).absent(forgetName)
		note.put(forgetName, encodeInstant(forgetAt)).put(ttlName, epoch(forgetAt))
		err := l.update(ctx, l.tables.Tasks, submissionKey(ledger.Key{Tenant: p.Ref.Tenant, Hash: p.Key}), note)
		if _, refused := errors.AsType[*refusal](err); err != nil && !refused { // the key is a note already, or another task's
			return fmt.Errorf("the submission key of task %s: %w", p.Ref, err)
		}
	}
	k, x := headKey(p.Ref), (&expression{}).absent(seqName)
	if err := k.check(); err != nil {
		return err
	}
	_, err := write(ctx, l, func(ctx context.Context, _ string) (*dynamodb.DeleteItemOutput, error) {
		return l.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &l.tables.Tasks, Key: k.item(), ConditionExpression: x.condition(), ExpressionAttributeNames: x.names,
		}, untried)
	})
	if _, refused := errors.AsType[*refusal](err); refused { // a head is there: its purge has not begun
		return nil
	}
	return err
}

// freeKey demands a key that is nobody's, or a note that is forgotten at an instant: TTL
// removes those later.
func freeKey(at time.Time) *expression {
	x := &expression{}
	x.conditions = []string{fmt.Sprintf("attribute_not_exists(%s) OR %s <= %s", x.name(partitionName), x.name(forgetName), x.value(encodeInstant(at)))}
	return x
}

// ForgetKeys implements ledger.Purges: TTL does it.
func (l *Ledger) ForgetKeys(ctx context.Context, _ time.Time, _ int) (int, error) {
	return 0, ctx.Err()
}
