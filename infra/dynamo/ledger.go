package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// API is what the ledger needs of *dynamodb.Client. A proxy, a meter or a fault
// injector fits in between.
type API interface {
	TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
	UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
	GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error)
	BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error)
	Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

var _ API = (*dynamodb.Client)(nil)

// Options have usable zero values.
type Options struct {
	Retry Retry
	// PollFirst and PollMost are how often Watch looks: at first, and at least. A
	// look costs one read unit.
	PollFirst, PollMost time.Duration
	// Streams is the change feed, for Changes. Without one Changes is refused: in a
	// deployment the stream function decodes records (see Decode).
	Streams StreamsAPI
	// Throttled is told of each request that DynamoDB refuses because there are too
	// many; nil: nobody is.
	Throttled func(ctx context.Context)
}

// Defaults of Watch: a person who waits for an answer sees it at once, and a
// stream that is open for 15 minutes costs about 500 looks.
const (
	defaultPollFirst = 250 * time.Millisecond
	defaultPollMost  = 2 * time.Second
)

// Ledger is the ledger on two tables. Its methods may be called by any number of
// goroutines; it keeps nothing of a task in memory.
type Ledger struct {
	client    API
	tables    Names
	retry     Retry
	pollFirst time.Duration
	pollMost  time.Duration
	feed      *feed
	throttled func(ctx context.Context)
}

var _ ledger.Ledger = (*Ledger)(nil)

// New is the ledger on two tables, which exist.
func New(client API, tables Names, o Options) *Ledger {
	l := &Ledger{client: client, tables: tables, retry: o.Retry.withDefaults(), pollFirst: cmp.Or(o.PollFirst, defaultPollFirst), pollMost: o.PollMost, throttled: o.Throttled}
	if l.pollMost < l.pollFirst {
		l.pollMost = max(defaultPollMost, l.pollFirst)
	}
	if o.Streams != nil {
		l.feed = newFeed(o.Streams, tables.Tasks)
	}
	return l
}

// get reads an item strongly; nil for none.
func (l *Ledger) get(ctx context.Context, table string, k key, attributes ...string) (item, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	in := &dynamodb.GetItemInput{TableName: &table, Key: k.item(), ConsistentRead: aws.Bool(true)}
	if len(attributes) > 0 {
		var x expression
		names := make([]string, len(attributes))
		for i, a := range attributes {
			names[i] = x.name(a)
		}
		in.ProjectionExpression, in.ExpressionAttributeNames = joined(names, ", "), x.names
	}
	return read(ctx, l, func(ctx context.Context) (item, error) {
		out, err := l.client.GetItem(ctx, in, untried)
		if err != nil {
			return nil, err
		}
		return orNil(out.Item), nil
	})
}

// children reads the items of a task whose sort keys have a beginning, strongly
// and in order.
func (l *Ledger) children(ctx context.Context, ref lifecycle.Ref, beginning string, each func(item) error) error {
	return l.between(ctx, l.tables.Tasks, ref, beginning, afterAll(beginning), 0, each)
}

// plainChildren are children that plainLayout decodes; what names them in an error.
func plainChildren[T any](ctx context.Context, l *Ledger, ref lifecycle.Ref, beginning, what string) ([]T, error) {
	var out []T
	err := l.children(ctx, ref, beginning, func(it item) error {
		var one T
		err := plainLayout.decode(it, &one)
		out = append(out, one)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%s of task %s: %w", what, ref, err)
	}
	return out, nil
}

// between reads up to limit items of a task with sort keys from first to last; 0
// for all. A page ends at 1 MB (Query, API reference).
func (l *Ledger) between(ctx context.Context, table string, ref lifecycle.Ref, first, last string, limit int, each func(item) error) error {
	partition := taskPartition(ref)
	if err := (key{partition, last}).check(); err != nil {
		return err
	}
	var x expression
	x.compare(partitionName, "=", text(partition))
	x.conditions = append(x.conditions, x.name(sortName)+" BETWEEN "+x.value(text(first))+" AND "+x.value(text(last)))
	in := &dynamodb.QueryInput{
		TableName: &table, ConsistentRead: aws.Bool(true), KeyConditionExpression: x.condition(),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
	}
	for read := 0; ; {
		if limit > 0 {
			in.Limit = aws.Int32(int32(limit - read))
		}
		out, err := l.query(ctx, in)
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			if err := each(it); err != nil {
				return err
			}
		}
		if read += len(out.Items); len(out.LastEvaluatedKey) == 0 || limit > 0 && read >= limit {
			return nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}

func (l *Ledger) query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	return read(ctx, l, func(ctx context.Context) (*dynamodb.QueryOutput, error) { return l.client.Query(ctx, in, untried) })
}

// update changes one item.
func (l *Ledger) update(ctx context.Context, table string, k key, x *expression) error {
	if err := k.check(); err != nil {
		return err
	}
	_, err := write(ctx, l, func(ctx context.Context, _ string) (*dynamodb.UpdateItemOutput, error) {
		return l.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &table, Key: k.item(), UpdateExpression: x.update(), ConditionExpression: x.condition(),
			ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values,
			ReturnValuesOnConditionCheckFailure: x.returns(),
		}, untried)
	})
	return err
}

func noTask(ref lifecycle.Ref) error { return fmt.Errorf("task %s: %w", ref, ledger.ErrNotFound) }
