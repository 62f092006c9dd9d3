package dynamo

import (
	"context"
	"errors"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// errUnprocessed: a table that is throttled answers batches in part.
var errUnprocessed = errors.New("a batch was not answered in full")

// hit is an entry of an index: a task and its place there.
type hit struct {
	ref   lifecycle.Ref
	place string
}

// span is a part of an index: places of some partitions, in one direction.
type span struct {
	index       index
	partitions  []string
	first, last string // both included
	backward    bool
	page        int32 // how many to ask for at once
}

// before says which of two places comes first.
func (s span) before(a, b string) bool {
	if s.backward {
		return a > b
	}
	return a < b
}

// cursor reads one partition of an index page by page.
type cursor struct {
	partition string
	page      []hit
	next      item // where the next page begins
	done      bool // there is none
}

// merged reads a span, the partitions merged into one order.
type merged struct {
	ledger  *Ledger
	table   string
	span    span
	cursors []*cursor
}

func (l *Ledger) scan(table string, s span) *merged {
	m := &merged{ledger: l, table: table, span: s}
	for _, p := range s.partitions {
		m.cursors = append(m.cursors, &cursor{partition: p})
	}
	return m
}

// take gives the next hit; false at the end.
func (m *merged) take(ctx context.Context) (hit, bool, error) {
	if err := m.fill(ctx); err != nil {
		return hit{}, false, err
	}
	var first *cursor
	for _, c := range m.cursors {
		if len(c.page) > 0 && (first == nil || m.span.before(c.page[0].place, first.page[0].place)) {
			first = c
		}
	}
	if first == nil {
		return hit{}, false, nil
	}
	h := first.page[0]
	first.page = first.page[1:]
	return h, true, nil
}

// some gives up to limit hits, and says whether they are the last ones.
func (m *merged) some(ctx context.Context, limit int) (hits []hit, ended bool, err error) {
	for len(hits) < limit {
		h, more, err := m.take(ctx)
		if err != nil || !more {
			return hits, true, err
		}
		hits = append(hits, h)
	}
	return hits, false, nil
}

// fill gives every cursor that ran out its next page, side by side.
func (m *merged) fill(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, len(m.cursors))
	for i, c := range m.cursors {
		if len(c.page) == 0 && !c.done {
			all.Go(func() { errs[i] = m.turn(ctx, c) })
		}
	}
	all.Wait()
	return errors.Join(errs...)
}

func (m *merged) turn(ctx context.Context, c *cursor) error {
	for len(c.page) == 0 && !c.done {
		out, err := m.ledger.query(ctx, m.span.query(m.table, c))
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			ref, err := taskOf(textOf(it, partitionName))
			if err != nil {
				return err
			}
			c.page = append(c.page, hit{ref, textOf(it, m.span.index.sort)})
		}
		c.next, c.done = out.LastEvaluatedKey, len(out.LastEvaluatedKey) == 0
	}
	return nil
}

func (s span) query(table string, c *cursor) *dynamodb.QueryInput {
	var x expression
	x.compare(s.index.partition, "=", text(c.partition))
	x.conditions = append(x.conditions, x.name(s.index.sort)+" BETWEEN "+x.value(text(s.first))+" AND "+x.value(text(s.last)))
	in := &dynamodb.QueryInput{
		TableName: &table, IndexName: aws.String(s.index.name), KeyConditionExpression: x.condition(), ScanIndexForward: aws.Bool(!s.backward),
		ExpressionAttributeNames: x.names, ExpressionAttributeValues: x.values, ExclusiveStartKey: c.next,
	}
	if s.page > 0 {
		in.Limit = aws.Int32(s.page)
	}
	return in
}

// empty says that no place is in the span: DynamoDB refuses a range that ends
// before it begins.
func (s span) empty() bool { return s.first > s.last }

// pageOf is how many hits to ask a partition for, when so many are wanted.
func pageOf(limit int) int32 {
	const most = 500
	if limit <= 0 || limit >= most {
		return most
	}
	return int32(limit + 1)
}
