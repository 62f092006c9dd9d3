package dynamo

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// StreamsAPI is what the change feed needs of *dynamodbstreams.Client.
type StreamsAPI interface {
	ListStreams(ctx context.Context, in *dynamodbstreams.ListStreamsInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error)
	DescribeStream(ctx context.Context, in *dynamodbstreams.DescribeStreamInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error)
	GetShardIterator(ctx context.Context, in *dynamodbstreams.GetShardIteratorInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error)
	GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error)
}

var _ StreamsAPI = (*dynamodbstreams.Client)(nil)

// ErrNoFeed means that the ledger was made without Options.Streams.
var ErrNoFeed = errors.New("this ledger has no change feed")

// feed reads the table's stream, for a process that runs by itself.
type feed struct {
	api   StreamsAPI
	table string

	mu  sync.Mutex
	arn string
	// iterators go on where a shard was read to, past records that are no entries as
	// well: no position tells of those. They are forgotten with the process.
	iterators map[string]iterator
}

// iterator goes on after a sequence number that callers know, and after another
// one behind which there was nothing for them.
type iterator struct{ told, reached, value string }

func newFeed(api StreamsAPI, table string) *feed {
	return &feed{api: api, table: table, iterators: map[string]iterator{}}
}

// position is how far each shard was read: the last sequence number, or
// shardRead.
type position map[string]string

const shardRead = "end"

// maxRecords is how many records GetRecords gives at once (API reference).
const maxRecords = 1000

func parsePosition(s string) (position, error) {
	p := position{}
	if s == "" {
		return p, nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		err = json.Unmarshal(raw, &p)
	}
	if err != nil {
		return nil, fmt.Errorf("%q is no position of this feed", s)
	}
	return p, nil
}

func (p position) String() string {
	raw, err := json.Marshal(map[string]string(p))
	if err != nil {
		return "" // strings always encode
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// Changes implements ledger.Feed. A shard is read after the one that it was split
// from, so a task's commits keep their order; items of one commit may arrive
// apart. The stream keeps a day (Change data capture for DynamoDB Streams,
// developer guide): an older position is an error.
func (l *Ledger) Changes(ctx context.Context, after string, limit int) ([]ledger.Change, error) {
	if l.feed == nil {
		return nil, ErrNoFeed
	}
	at, err := parsePosition(after)
	if err != nil {
		return nil, err
	}
	l.feed.mu.Lock()
	defer l.feed.mu.Unlock()
	shards, err := l.feed.shards(ctx)
	if err != nil {
		return nil, fmt.Errorf("the change feed: %w", err)
	}
	at.forget(shards)
	var out []ledger.Change
	for {
		ready := slices.DeleteFunc(slices.Clone(shards), func(s streams.Shard) bool { return !at.ready(s, shards) })
		before := len(out)
		moved := false
		for _, s := range ready {
			if limit > 0 && len(out) == limit {
				return out, nil
			}
			read := at[*s.ShardId]
			if out, err = l.feed.read(ctx, *s.ShardId, at, out, limit); err != nil {
				return nil, fmt.Errorf("the change feed: %w", err)
			}
			moved = moved || at[*s.ShardId] == shardRead && read != shardRead
		}
		// A shard that was read to its end lets its children begin.
		if !moved || limit > 0 && len(out) == limit && before == len(out) {
			return out, nil
		}
	}
}

// ready says whether a shard is to be read: it is not at its end, and its parent
// is, or is gone.
func (p position) ready(s streams.Shard, all []streams.Shard) bool {
	if p[*s.ShardId] == shardRead {
		return false
	}
	parent := aws.ToString(s.ParentShardId)
	there := slices.ContainsFunc(all, func(o streams.Shard) bool { return *o.ShardId == parent })
	return parent == "" || !there || p[parent] == shardRead
}

// forget drops shards that the stream no longer has.
func (p position) forget(shards []streams.Shard) {
	maps.DeleteFunc(p, func(id, _ string) bool {
		return !slices.ContainsFunc(shards, func(s streams.Shard) bool { return *s.ShardId == id })
	})
}

func (f *feed) shards(ctx context.Context) ([]streams.Shard, error) {
	if f.arn == "" {
		out, err := f.api.ListStreams(ctx, &dynamodbstreams.ListStreamsInput{TableName: &f.table})
		if err != nil {
			return nil, err
		}
		if len(out.Streams) == 0 {
			return nil, fmt.Errorf("table %s has no stream", f.table)
		}
		f.arn = aws.ToString(out.Streams[len(out.Streams)-1].StreamArn)
	}
	var all []streams.Shard
	in := &dynamodbstreams.DescribeStreamInput{StreamArn: &f.arn}
	for {
		out, err := f.api.DescribeStream(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, s := range out.StreamDescription.Shards {
			if s.ShardId != nil {
				all = append(all, s)
			}
		}
		if in.ExclusiveStartShardId = out.StreamDescription.LastEvaluatedShardId; in.ExclusiveStartShardId == nil {
			return all, nil
		}
	}
}

// read adds a shard's entries, up to limit in all, and moves the position past
// them.
func (f *feed) read(ctx context.Context, shard string, at position, out []ledger.Change, limit int) ([]ledger.Change, error) {
	told := at[shard]
	next, err := f.iterator(ctx, shard, told)
	for err == nil && (limit <= 0 || len(out) < limit) {
		var page *dynamodbstreams.GetRecordsOutput
		page, err = f.api.GetRecords(ctx, &dynamodbstreams.GetRecordsInput{ShardIterator: &next, Limit: aws.Int32(maxRecords)})
		if err != nil {
			break
		}
		for _, record := range page.Records {
			if limit > 0 && len(out) == limit {
				return out, nil // the next call begins after what was taken
			}
			at[shard] = aws.ToString(record.Dynamodb.SequenceNumber)
			d, err := decodeRecord(fromStream(record))
			if err != nil {
				return nil, err
			}
			if d.Entry.Seq > 0 {
				out = append(out, ledger.Change{Position: at.String(), Ref: d.Ref, Entry: d.Entry})
				told = at[shard]
			}
		}
		if page.NextShardIterator == nil {
			at[shard] = shardRead
			delete(f.iterators, shard)
			return out, nil
		}
		next = *page.NextShardIterator
		f.iterators[shard] = iterator{told, at[shard], next}
		if len(page.Records) == 0 {
			return out, nil
		}
	}
	if err != nil {
		delete(f.iterators, shard) // it may have expired
	}
	return out, err
}

// iterator begins after a sequence number, "" for the shard's beginning.
func (f *feed) iterator(ctx context.Context, shard, after string) (string, error) {
	if known, is := f.iterators[shard]; is && (known.told == after || known.reached == after) {
		return known.value, nil
	}
	in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &f.arn, ShardId: &shard, ShardIteratorType: streams.ShardIteratorTypeTrimHorizon}
	if after != "" {
		in.ShardIteratorType, in.SequenceNumber = streams.ShardIteratorTypeAfterSequenceNumber, &after
	}
	out, err := f.api.GetShardIterator(ctx, in)
	if err != nil {
		return "", err
	}
	return aws.ToString(out.ShardIterator), nil
}

// fromStream reads a record of the Streams API.
func fromStream(r streams.Record) change {
	c := change{name: string(r.EventName)}
	if r.UserIdentity != nil {
		c.principal = aws.ToString(r.UserIdentity.PrincipalId)
	}
	if d := r.Dynamodb; d != nil {
		c.sequence = aws.ToString(d.SequenceNumber)
		c.keys, c.after = streamItem(d.Keys), streamItem(d.NewImage)
	}
	return c
}

func streamItem(from map[string]streams.AttributeValue) item {
	out := make(item, len(from))
	for name, v := range from {
		switch x := v.(type) {
		case *streams.AttributeValueMemberS:
			out[name] = text(x.Value)
		case *streams.AttributeValueMemberN:
			out[name] = &types.AttributeValueMemberN{Value: x.Value}
		case *streams.AttributeValueMemberB:
			out[name] = &types.AttributeValueMemberB{Value: x.Value}
		case *streams.AttributeValueMemberBOOL:
			out[name] = &types.AttributeValueMemberBOOL{Value: x.Value}
		case *streams.AttributeValueMemberM:
			out[name] = &types.AttributeValueMemberM{Value: streamItem(x.Value)}
		}
	}
	return out
}
