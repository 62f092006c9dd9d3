package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
)

// feeder is the stream mapping: it reads every shard of the table's stream from the
// beginning and calls the stream function with the records in batches.
type feeder struct {
	*stack
	arn       string
	iterators map[string]*string // by shard; nil: read to its end
	records   int
}

// batchSize is the mapping's default (Lambda, "Polling and batching streams").
const batchSize = 100

func newFeeder(s *stack) *feeder {
	s.Helper()
	out, err := streamClient.ListStreams(s.Context(), &dynamodbstreams.ListStreamsInput{TableName: &s.tables.Tasks})
	if err != nil || len(out.Streams) != 1 {
		s.Fatalf("the streams of %s: %+v, %v", s.tables.Tasks, out, err)
	}
	return &feeder{stack: s, arn: aws.ToString(out.Streams[0].StreamArn), iterators: map[string]*string{}}
}

// feed hands on what has come since the last time.
func (f *feeder) feed(ctx context.Context) error {
	return f.each(ctx, func(records []types.Record) error { return f.deliver(ctx, records) })
}

// each reads what has come since the last time, in batches.
func (f *feeder) each(ctx context.Context, take func([]types.Record) error) error {
	d, err := streamClient.DescribeStream(ctx, &dynamodbstreams.DescribeStreamInput{StreamArn: &f.arn})
	if err != nil {
		return err
	}
	for _, shard := range d.StreamDescription.Shards {
		if _, known := f.iterators[*shard.ShardId]; known {
			continue
		}
		out, err := streamClient.GetShardIterator(ctx, &dynamodbstreams.GetShardIteratorInput{StreamArn: &f.arn, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		if err != nil {
			return err
		}
		f.iterators[*shard.ShardId] = out.ShardIterator
	}
	for shard, at := range f.iterators {
		for at != nil {
			out, err := streamClient.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: at, Limit: aws.Int32(batchSize)})
			if err != nil {
				return err
			}
			at = out.NextShardIterator
			if len(out.Records) == 0 {
				break
			}
			if err := take(out.Records); err != nil {
				return err
			}
		}
		f.iterators[shard] = at
	}
	return nil
}

// deliver is one invocation. No record is ever refused here.
func (f *feeder) deliver(ctx context.Context, records []types.Record) error {
	batch := make([]map[string]any, len(records))
	for i, r := range records {
		batch[i] = eventRecord(r, f.arn)
	}
	payload, err := json.Marshal(map[string]any{"Records": batch})
	if err != nil {
		return err
	}
	out, err := f.function(fnStream).Call(ctx, payload, time.Now().Add(time.Minute))
	if err != nil {
		return err
	}
	var response struct {
		BatchItemFailures []json.RawMessage `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(out, &response); err != nil || response.BatchItemFailures == nil || len(response.BatchItemFailures) > 0 {
		return fmt.Errorf("the stream function answered %s to a batch of %d records: %w", out, len(records), err)
	}
	f.records += len(records)
	return nil
}

// eventRecord is a record as Lambda passes it on.
func eventRecord(r types.Record, arn string) map[string]any {
	out := map[string]any{
		"eventID": r.EventID, "eventName": r.EventName, "eventVersion": "1.1", "eventSource": "aws:dynamodb", "awsRegion": "us-east-1", "eventSourceARN": arn,
		"dynamodb": map[string]any{
			"ApproximateCreationDateTime": r.Dynamodb.ApproximateCreationDateTime.Unix(), "Keys": eventItem(r.Dynamodb.Keys),
			"NewImage": eventItem(r.Dynamodb.NewImage), "OldImage": eventItem(r.Dynamodb.OldImage),
			"SequenceNumber": r.Dynamodb.SequenceNumber, "SizeBytes": r.Dynamodb.SizeBytes, "StreamViewType": r.Dynamodb.StreamViewType,
		},
	}
	if r.UserIdentity != nil {
		out["userIdentity"] = map[string]any{"type": r.UserIdentity.Type, "principalId": r.UserIdentity.PrincipalId}
	}
	return out
}

func eventItem(from map[string]types.AttributeValue) map[string]any {
	out := make(map[string]any, len(from))
	for name, v := range from {
		out[name] = eventValue(v)
	}
	return out
}

func eventValue(v types.AttributeValue) map[string]any {
	switch x := v.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": x.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": x.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": x.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": x.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": eventItem(x.Value)}
	case *types.AttributeValueMemberL:
		list := make([]map[string]any, len(x.Value))
		for i, one := range x.Value {
			list[i] = eventValue(one)
		}
		return map[string]any{"L": list}
	}
	return map[string]any{"NULL": true}
}
