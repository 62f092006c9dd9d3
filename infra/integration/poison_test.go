package integration_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Case 68: the third record of a batch of two tasks cannot be read. The compiled stream
// function names it and nothing else, and takes all the others, also those of its own
// task. The same batch again is answered the same, and does nothing to the tasks.
func TestPoisonedRecord(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{})
	ctx := t.Context()
	var ids []a2a.TaskID
	for i := range 2 {
		task, err := send(ctx, s.url, text(fmt.Sprintf("poison-%d", i), "Ada", false))
		if err != nil {
			t.Fatal(err)
		}
		s.reaches(refTo(task.ID), lifecycle.Completed)
		ids = append(ids, task.ID)
	}
	before := s.trace(refTo(ids[0])) + s.trace(refTo(ids[1]))
	f := newFeeder(s)
	var batch []map[string]any
	entries := 0
	for _, id := range ids {
		h, err := s.ledger.Head(ctx, refTo(id))
		if err != nil {
			t.Fatal(err)
		}
		entries += int(h.Seq)
	}
	until(t, "the stream has every entry", func() (bool, string) {
		err := f.each(ctx, func(records []types.Record) error {
			for _, r := range records {
				if key, is := r.Dynamodb.Keys["sk"].(*types.AttributeValueMemberS); is && r.EventName == types.OperationTypeInsert && strings.HasPrefix(key.Value, "e#") {
					batch = append(batch, eventRecord(r, f.arn)) // as the mapping filters
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return len(batch) == entries, fmt.Sprintf("%d of %d", len(batch), entries)
	})
	third, _ := batch[2]["dynamodb"].(map[string]any)
	sequence, _ := third["SequenceNumber"].(*string)
	image, _ := third["NewImage"].(map[string]any)
	if sequence == nil || image == nil {
		t.Fatalf("the third record is %v", batch[2])
	}
	image["fe"] = map[string]any{"S": "no fence"}
	payload, err := json.Marshal(map[string]any{"Records": batch})
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"batchItemFailures":[{"itemIdentifier":%q}]}`, *sequence)
	const deliveries = 3
	for range deliveries {
		got, err := s.function(fnStream).Call(ctx, payload, time.Now().Add(time.Minute))
		if err != nil || string(got) != want {
			t.Errorf("the stream function answered %s, %v; want %s", got, err, want)
		}
	}
	lines := s.logs.lines(fnStream, "stream")
	for _, l := range lines {
		if l.number("records") != entries || l.number("entries") != entries-1 || l.number("failed") != 1 {
			t.Errorf("of %d records it says %v", entries, l)
		}
	}
	if len(lines) != deliveries {
		t.Errorf("%d batches were taken, want %d", len(lines), deliveries)
	}
	if after := s.trace(refTo(ids[0])) + s.trace(refTo(ids[1])); after != before {
		t.Errorf("the tasks were\n%s\nand are\n%s", before, after)
	}
}
