package dynamo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	streams "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// river is a stream of shards in memory: what AWS does and a local server with
// one shard does not. Pages are empty now and then, shards end and have children,
// iterators expire.
type river struct {
	shards   []*shore
	expire   bool // the next iterator that is used has expired
	requests int
}

type shore struct {
	id, parent string
	records    []streams.Record
	ended      bool
}

func (r *river) shore(id string) *shore {
	return r.shards[slices.IndexFunc(r.shards, func(s *shore) bool { return s.id == id })]
}

func (r *river) ListStreams(context.Context, *dynamodbstreams.ListStreamsInput, ...func(*dynamodbstreams.Options)) (*dynamodbstreams.ListStreamsOutput, error) {
	return &dynamodbstreams.ListStreamsOutput{Streams: []streams.Stream{{StreamArn: aws.String("arn")}}}, nil
}

// DescribeStream gives one shard a page, children first.
func (r *river) DescribeStream(_ context.Context, in *dynamodbstreams.DescribeStreamInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.DescribeStreamOutput, error) {
	n := len(r.shards) - 1
	if in.ExclusiveStartShardId != nil {
		n = slices.IndexFunc(r.shards, func(s *shore) bool { return s.id == *in.ExclusiveStartShardId }) - 1
	}
	s := r.shards[n]
	d := &streams.StreamDescription{Shards: []streams.Shard{{ShardId: &s.id}}}
	if s.parent != "" {
		d.Shards[0].ParentShardId = &s.parent
	}
	if n > 0 {
		d.LastEvaluatedShardId = &s.id
	}
	return &dynamodbstreams.DescribeStreamOutput{StreamDescription: d}, nil
}

func (r *river) GetShardIterator(_ context.Context, in *dynamodbstreams.GetShardIteratorInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetShardIteratorOutput, error) {
	n := 0
	if in.SequenceNumber != nil {
		n = 1 + slices.IndexFunc(r.shore(*in.ShardId).records, func(x streams.Record) bool { return *x.Dynamodb.SequenceNumber == *in.SequenceNumber })
	}
	return &dynamodbstreams.GetShardIteratorOutput{ShardIterator: aws.String(fmt.Sprintf("%s %d", *in.ShardId, n))}, nil
}

// GetRecords gives two records at once.
func (r *river) GetRecords(_ context.Context, in *dynamodbstreams.GetRecordsInput, _ ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	r.requests++
	if r.expire {
		r.expire = false
		return nil, &streams.ExpiredIteratorException{}
	}
	id, digits, _ := strings.Cut(*in.ShardIterator, " ")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return nil, err
	}
	s := r.shore(id)
	end := min(n+2, len(s.records))
	out := &dynamodbstreams.GetRecordsOutput{Records: s.records[n:end]}
	if !s.ended || end < len(s.records) {
		out.NextShardIterator = aws.String(fmt.Sprintf("%s %d", id, end))
	}
	return out, nil
}

// flow adds the records of entries, with a head before each, which is no entry.
func (s *shore) flow(t *testing.T, seqs ...uint64) {
	t.Helper()
	for _, seq := range seqs {
		for _, it := range []item{stored(t, seen()), written(t, seq, "op")} {
			s.records = append(s.records, streams.Record{EventName: streams.OperationTypeInsert, Dynamodb: &streams.StreamRecord{
				SequenceNumber: aws.String(fmt.Sprintf("%s-%d", s.id, len(s.records)+1)), Keys: toStream(onlyKey(it)), NewImage: toStream(it),
			}})
		}
	}
}

func toStream(it item) map[string]streams.AttributeValue {
	out := map[string]streams.AttributeValue{}
	for name, v := range it {
		switch x := v.(type) {
		case *types.AttributeValueMemberS:
			out[name] = &streams.AttributeValueMemberS{Value: x.Value}
		case *types.AttributeValueMemberN:
			out[name] = &streams.AttributeValueMemberN{Value: x.Value}
		case *types.AttributeValueMemberB:
			out[name] = &streams.AttributeValueMemberB{Value: x.Value}
		}
	}
	return out
}

// drink reads the feed to its present end.
func drink(t *testing.T, l *Ledger, after string, limit int) (seqs []uint64, last string) {
	t.Helper()
	for {
		page, err := l.Changes(t.Context(), after, limit)
		if _, expired := errors.AsType[*streams.ExpiredIteratorException](err); expired {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if limit > 0 && len(page) > limit {
			t.Fatalf("%d items, the limit is %d", len(page), limit)
		}
		if len(page) == 0 {
			return seqs, after
		}
		for _, c := range page {
			seqs, after = append(seqs, c.Entry.Seq), c.Position
		}
	}
}

// TestChanges: shards are read parents first, to their ends, and a position goes
// on in all of them.
func TestChanges(t *testing.T) {
	for limit := range 5 {
		r := &river{shards: []*shore{{id: "root", ended: true}, {id: "left", parent: "root"}, {id: "leaf", parent: "left"}}}
		l := New(&script{t: t}, Names{Tasks: "tasks"}, Options{Streams: r})
		r.shards[0].flow(t, 1, 2, 3)
		r.shards[1].flow(t, 4, 5)
		r.shards[2].flow(t, 7)
		got, position := drink(t, l, "", limit)
		if want := []uint64{1, 2, 3, 4, 5}; !slices.Equal(got, want) {
			t.Errorf("limit %d: entries %v, want %v: the leaf waits for its parent", limit, got, want)
		}
		r.shards[1].flow(t, 6)
		r.shards[1].ended = true
		r.expire = true
		another := New(&script{t: t}, Names{Tasks: "tasks"}, Options{Streams: r})
		for name, l := range map[string]*Ledger{"the same process": l, "another one": another} {
			if got, _ := drink(t, l, position, limit); !slices.Equal(got, []uint64{6, 7}) {
				t.Errorf("limit %d, %s: entries %v, want 6 and 7", limit, name, got)
			}
		}
		r.shards = r.shards[2:] // a day later
		r.shards[0].flow(t, 8)
		_, position = drink(t, l, position, limit)
		r.shards[0].flow(t, 9)
		if got, _ := drink(t, another, position, limit); !slices.Equal(got, []uint64{9}) {
			t.Errorf("limit %d: entries %v, want 9", limit, got)
		}
	}
}

// TestChangesGoesOn: what is no entry is not read again and again, although no
// position is past it.
func TestChangesGoesOn(t *testing.T) {
	r := &river{shards: []*shore{{id: "root"}}}
	l := New(&script{t: t}, Names{Tasks: "tasks"}, Options{Streams: r})
	r.shards[0].flow(t, 1)
	_, position := drink(t, l, "", 10)
	r.shards[0].flow(t, slices.Repeat([]uint64{2}, 50)...)
	for i := range r.shards[0].records[2:] {
		r.shards[0].records[2+i].EventName = streams.OperationTypeModify
	}
	drink(t, l, position, 10)
	r.requests = 0
	drink(t, l, position, 10)
	if r.requests > 1 {
		t.Errorf("%d requests to find nothing new, want 1", r.requests)
	}
}

func TestChangesRefused(t *testing.T) {
	l, _ := played(t)
	if _, err := l.Changes(t.Context(), "", 1); !errors.Is(err, ErrNoFeed) {
		t.Errorf("error %v, want that there is no feed", err)
	}
	l = New(&script{t: t}, Names{Tasks: "tasks"}, Options{Streams: &river{shards: []*shore{{id: "root"}}}})
	for _, p := range []string{"x", "!", "e30x"} {
		if _, err := l.Changes(t.Context(), p, 1); err == nil || errors.Is(err, ledger.ErrUnavailable) {
			t.Errorf("position %q: error %v", p, err)
		}
	}
}
