package integration_test

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// billed asks the server what each request has cost, and adds it up: the second
// opinion on the model of dynamo.Meter.
type billed struct {
	dynamo.API

	mu             sync.Mutex
	tables, others float64 // write units of tables, and of indexes
	untold         int     // requests of which it told nothing about the table
}

func (b *billed) add(all ...types.ConsumedCapacity) {
	b.mu.Lock()
	defer b.mu.Unlock()
	told := b.tables
	for _, c := range all {
		for _, x := range c.GlobalSecondaryIndexes {
			b.others += aws.ToFloat64(x.CapacityUnits)
		}
		if c.Table != nil {
			b.tables += aws.ToFloat64(c.Table.CapacityUnits)
		}
	}
	if b.tables == told {
		b.untold++
	}
}

// spent is the bill for the tables and for their indexes, and how many requests are
// missing in it.
func (b *billed) spent() (tables, others float64, untold int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.tables, b.others, b.untold
}

func (b *billed) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := b.API.TransactWriteItems(ctx, in, opts...)
	if err == nil {
		b.add(out.ConsumedCapacity...)
	}
	return out, err
}

func (b *billed) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := b.API.UpdateItem(ctx, in, opts...)
	if err == nil && out.ConsumedCapacity != nil {
		b.add(*out.ConsumedCapacity)
	}
	return out, err
}

func (b *billed) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := b.API.PutItem(ctx, in, opts...)
	if err == nil && out.ConsumedCapacity != nil {
		b.add(*out.ConsumedCapacity)
	}
	return out, err
}

func (b *billed) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := b.API.DeleteItem(ctx, in, opts...)
	if err == nil && out.ConsumedCapacity != nil {
		b.add(*out.ConsumedCapacity)
	}
	return out, err
}

func (b *billed) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityIndexes
	out, err := b.API.BatchWriteItem(ctx, in, opts...)
	if err == nil {
		b.add(out.ConsumedCapacity...)
	}
	return out, err
}
