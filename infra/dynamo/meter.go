package dynamo

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Meter counts the units of the requests that go through it, by a model of
// DynamoDB's rules: it looks at every item before and after it is written. Use it
// with one writer at a time; others would be counted in. Its own reads are not
// counted.
type Meter struct {
	API

	mu    sync.Mutex
	spent Units
}

// NewMeter counts what goes to a client.
func NewMeter(client API) *Meter { return &Meter{API: client} }

// Spent is what was counted so far.
func (m *Meter) Spent() Units {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

func (m *Meter) count(u Units) {
	m.mu.Lock()
	defer m.mu.Unlock()
	u.Requests++
	m.spent = m.spent.Add(u)
}

// look reads an item as it is; nil for none.
func (m *Meter) look(ctx context.Context, table *string, key item) item {
	out, err := m.API.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return nil // the request itself will meet the same fault
	}
	return orNil(out.Item)
}

func onlyKey(it item) item {
	return item{partitionName: it[partitionName], sortName: it[sortName]}
}

// place is an item that a request writes or checks.
type place struct {
	table *string
	key   item
}

func (m *Meter) looks(ctx context.Context, places []place) []item {
	out := make([]item, len(places))
	for i, p := range places {
		out[i] = m.look(ctx, p.table, p.key)
	}
	return out
}

// wrote counts a request that wrote items, or failed to.
func (m *Meter) wrote(ctx context.Context, places []place, transaction bool, do func() error) error {
	before := m.looks(ctx, places)
	err := do()
	after := m.looks(ctx, places)
	var u Units
	for i := range places {
		u.Writes += writeUnits(before[i], after[i], transaction) + indexUnits(before[i], after[i])
	}
	m.count(u)
	return err
}

// TransactWriteItems implements API.
func (m *Meter) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	err = m.wrote(ctx, placesOf(in.TransactItems), true, func() error {
		out, err = m.API.TransactWriteItems(ctx, in, opts...)
		return err
	})
	return out, err
}

func placesOf(actions []types.TransactWriteItem) []place {
	out := make([]place, 0, len(actions))
	for _, a := range actions {
		switch {
		case a.Put != nil:
			out = append(out, place{a.Put.TableName, onlyKey(a.Put.Item)})
		case a.Update != nil:
			out = append(out, place{a.Update.TableName, a.Update.Key})
		case a.ConditionCheck != nil:
			out = append(out, place{a.ConditionCheck.TableName, a.ConditionCheck.Key})
		case a.Delete != nil:
			out = append(out, place{a.Delete.TableName, a.Delete.Key})
		}
	}
	return out
}

// UpdateItem implements API.
func (m *Meter) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = m.wrote(ctx, []place{{in.TableName, in.Key}}, false, func() error {
		out, err = m.API.UpdateItem(ctx, in, opts...)
		return err
	})
	return out, err
}

// PutItem implements API.
func (m *Meter) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = m.wrote(ctx, []place{{in.TableName, onlyKey(in.Item)}}, false, func() error {
		out, err = m.API.PutItem(ctx, in, opts...)
		return err
	})
	return out, err
}

// DeleteItem implements API.
func (m *Meter) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	err = m.wrote(ctx, []place{{in.TableName, in.Key}}, false, func() error {
		out, err = m.API.DeleteItem(ctx, in, opts...)
		return err
	})
	return out, err
}

// GetItem implements API. A projection does not make a read cheaper.
func (m *Meter) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	size := itemSize(m.look(ctx, in.TableName, in.Key))
	out, err := m.API.GetItem(ctx, in, opts...)
	m.count(Units{Reads: readUnits(size, aws.ToBool(in.ConsistentRead))})
	return out, err
}

// BatchGetItem implements API. Each item is rounded up by itself.
func (m *Meter) BatchGetItem(ctx context.Context, in *dynamodb.BatchGetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out, err := m.API.BatchGetItem(ctx, in, opts...)
	if err != nil {
		return out, err
	}
	var u Units
	for table, asked := range in.RequestItems {
		for _, it := range out.Responses[table] {
			u.Reads += readUnits(itemSize(it), aws.ToBool(asked.ConsistentRead))
		}
	}
	m.count(u)
	return out, err
}

// BatchWriteItem implements API. Each write costs what it does by itself; what was not
// processed costs nothing, and is asked for again.
func (m *Meter) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options)) (out *dynamodb.BatchWriteItemOutput, err error) {
	var places []place
	for table, requests := range in.RequestItems {
		for _, r := range requests {
			if r.DeleteRequest != nil {
				places = append(places, place{&table, r.DeleteRequest.Key})
			}
		}
	}
	err = m.wrote(ctx, places, false, func() error {
		out, err = m.API.BatchWriteItem(ctx, in, opts...)
		return err
	})
	return out, err
}

// Query implements API. What a page holds is added up, then rounded.
func (m *Meter) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := m.API.Query(ctx, in, opts...)
	if err != nil {
		return out, err
	}
	size := 0
	for _, it := range out.Items {
		size += itemSize(it)
	}
	m.count(Units{Reads: readUnits(size, aws.ToBool(in.ConsistentRead))})
	return out, err
}
