package dynamo

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestItemSize follows the examples of DynamoDB item sizes and formats (developer
// guide).
func TestItemSize(t *testing.T) {
	n := func(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
	for _, c := range []struct {
		value types.AttributeValue
		want  int
	}{
		{text("Shirt-Color"), 11}, {text("é"), 2}, {text(""), 0},
		{n("0"), 1}, {n("7"), 2}, {n("27"), 2}, {n("-27"), 3}, {n("461"), 3}, {n("1000"), 2}, {n("1772359200.12"), 7}, {n("0.001"), 2},
		{&types.AttributeValueMemberB{Value: make([]byte, 32)}, 32}, {&types.AttributeValueMemberBOOL{}, 1}, {&types.AttributeValueMemberNULL{}, 1},
		{&types.AttributeValueMemberM{Value: item{"ab": text("c")}}, 3 + 1 + 3}, {&types.AttributeValueMemberL{Value: []types.AttributeValue{text("ab")}}, 3 + 1 + 2},
	} {
		if got := itemSize(item{"name": c.value}) - len("name"); got != c.want {
			t.Errorf("%v has %d bytes, want %d", c.value, got, c.want)
		}
	}
}

func TestWriteUnits(t *testing.T) {
	of := func(size int) item { return item{"a": text(strings.Repeat("x", size-1))} }
	for _, c := range []struct {
		before, after item
		transaction   bool
		want          float64
	}{
		{nil, of(1), false, 1}, {nil, of(1024), false, 1}, {nil, of(1025), false, 2}, {of(3000), of(10), false, 3}, {of(3000), nil, false, 3}, {nil, nil, false, 1},
		{nil, of(1024), true, 2}, {of(1024), of(1025), true, 4},
	} {
		if got := writeUnits(c.before, c.after, c.transaction); got != c.want {
			t.Errorf("%d to %d bytes, in a transaction %t: %.0f units, want %.0f", itemSize(c.before), itemSize(c.after), c.transaction, got, c.want)
		}
	}
}

// TestIndexUnits: the indexes are written to when the status changes and when
// somebody must look at another time, at last when the task expires, and never else.
func TestIndexUnits(t *testing.T) {
	before := seen()
	renewed, granted, changed := before, before, before
	renewed.LeaseUntil, renewed.Op = at.Add(lifecycle.DefaultLease), "op-1"
	granted.DueAt, granted.Fence = before.DueAt.Add(lifecycle.DefaultLease), 2
	changed.State, changed.StatusAt = lifecycle.InputRequired, at.Add(lifecycle.DefaultLease)
	ended := lifecycle.Head{Tenant: before.Tenant, Task: before.Task, State: lifecycle.Completed, StatusAt: changed.StatusAt, ExpiresAt: changed.StatusAt.Add(lifecycle.DefaultRetention)}
	for name, c := range map[string]struct {
		after lifecycle.Head
		want  float64
	}{"nothing": {before, 0}, "a renewal": {renewed, 0}, "a grant": {granted, 2}, "another status": {changed, 4}, "the end": {ended, 6}} {
		if got := indexUnits(stored(t, before), stored(t, c.after)); got != c.want {
			t.Errorf("%s costs %.0f units in the indexes, want %.0f", name, got, c.want)
		}
	}
	if got := indexUnits(nil, stored(t, before)); got != 3 {
		t.Errorf("a new task costs %.0f units in the indexes, want 3", got)
	}
}

func TestReadUnits(t *testing.T) {
	for _, c := range []struct {
		size   int
		strong bool
		want   float64
	}{{0, true, 1}, {0, false, 0.5}, {4096, true, 1}, {4097, true, 2}, {8193, false, 1.5}} {
		if got := readUnits(c.size, c.strong); got != c.want {
			t.Errorf("%d bytes, strong %t: %.1f units, want %.1f", c.size, c.strong, got, c.want)
		}
	}
}

// idle is a table in which nothing happens.
type idle struct {
	API

	head item
}

func (i idle) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: i.head}, nil
}

// TestLooks: what is said of Watch is what Watch does.
func TestLooks(t *testing.T) {
	for _, c := range []struct {
		idle time.Duration
		want int
	}{{time.Millisecond, 1}, {300 * time.Millisecond, 2}, {15 * time.Second, 11}, {5 * time.Minute, 154}} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMeter(idle{head: stored(t, seen())})
			ctx, stop := context.WithTimeout(t.Context(), c.idle)
			defer stop()
			_ = New(m, Names{Tasks: "tasks", Private: "private"}, Options{}).Watch(ctx, seen().Ref(), seen().Seq)
			if got := m.Spent().Reads; got != float64(c.want) || Looks(c.idle) != c.want {
				t.Errorf("within %s Watch costs %.0f read units, and is said to look %d times; want %d", c.idle, got, Looks(c.idle), c.want)
			}
		})
	}
}

// TestHeadItemIsOneUnit: with ordinary names and everything set that can be set
// together, a head with its keys and its places in the indexes is billed as one unit.
func TestHeadItemIsOneUnit(t *testing.T) {
	uuid, hash, now := "0195a4b2-1111-7abc-8def-000000000042", strings.Repeat("f", 64), at.Add(123*time.Millisecond)
	held := lifecycle.Head{
		Tenant: "acme-production", Task: a2a.TaskID(uuid), ContextID: uuid, Agent: "accessreview", AgentVersion: 999, Principal: hash, Policy: "default@1",
		State: lifecycle.Working, StatusAt: now, AcceptedAt: now, LifeEndsAt: now, RetainSecs: 2_592_000, Seq: 9_999, Chain: lifecycle.DigestBytes(nil), Step: "apply-revocations",
		Visit: 9_999, CheckpointSeq: 9_999, MessageSeq: 9_999, Attempt: 9, Pauses: 999, Artifacts: 300, Unsealed: 300, EntryFence: 99_999, Fence: 99_999, Generation: 9_999, Untaken: 99,
		LeaseSecs: 300, PauseSecs: 2_592_000, FailedSecs: 7_776_000, CanceledSecs: 2_592_000, RejectedSecs: 2_592_000, ExportedSecs: 604_800,
		DueAt: now, Op: uuid, Key: lifecycle.DigestBytes(nil), Holder: uuid + "-g12", LeaseUntil: now, Grants: 10, NextAt: now, Cancel: &lifecycle.CancelMark{Principal: hash, At: now},
	}
	size := itemSize(stored(t, held))
	if t.Logf("%d bytes", size); size > writeUnitBytes {
		t.Errorf("a head has %d bytes, a write unit %d", size, writeUnitBytes)
	}
}
