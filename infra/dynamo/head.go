package dynamo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Attributes of the head that a condition names; they are lifecycle.Head's JSON
// names.
const (
	seqName        = "sq"
	fenceName      = "fe"
	generationName = "ge"
	holderName     = "ho"
	cancelName     = "cm"
	stateName      = "st"
	expiresName    = "ex"
	keyName        = "ky"
	ackedName      = "ak"
)

// Attributes beside the head. Only Reject, Refuse, Hit and Act touch the counters, and
// only by adding.
const (
	rejectionsName = "nx"
	incidentsName  = "ni"
	hitsName       = "nh"
	lateName       = "nz"
	actsName       = "o"
)

// headNames are the head's attributes, sorted.
var headNames = slices.Sorted(slices.Values(headLayout.names(lifecycle.Head{})))

// encodeHead makes the head's attributes, without key, indexes and counters.
func encodeHead(h lifecycle.Head) (item, error) {
	out, err := headLayout.encode(h)
	if err != nil {
		return nil, fmt.Errorf("the head of task %s: %w", h.Ref(), err)
	}
	return out, nil
}

func decodeHead(it item) (lifecycle.Head, error) {
	var h lifecycle.Head
	ref, err := taskOf(textOf(it, partitionName))
	if err != nil {
		return h, err
	}
	h.Tenant, h.Task = ref.Tenant, ref.Task
	if err := headLayout.decode(it, &h); err != nil {
		return h, fmt.Errorf("the head of task %s cannot be read: %w", ref, err)
	}
	return h, nil
}

// headItem is a new task's head with its place in all indexes.
func headItem(h lifecycle.Head) (item, error) {
	out, err := encodeHead(h)
	if err != nil {
		return nil, err
	}
	k := headKey(h.Ref())
	out[partitionName], out[sortName] = text(k.partition), text(k.sort)
	out[updateName] = text(updatePartition(h.Tenant, shardOf(h.Ref(), listShards)))
	out[contextName] = text(contextPartition(h.Tenant, h.ContextID))
	maps.Copy(out, indexed(h))
	return out, checkIndexes(out)
}

// indexed are a head's places in the indexes, as far as they change.
func indexed(h lifecycle.Head) item {
	out := item{statusName: text(statusSort(h))}
	switch {
	case h.Terminal() && !h.ExpiresAt.IsZero():
		out[dueName], out[dueSortName] = text(expiredPartition(h.Ref())), text(dueSort(h.ExpiresAt, h.Ref()))
	case !h.DueAt.IsZero():
		out[dueName], out[dueSortName] = text(duePartition(h.Ref())), text(dueSort(h.DueAt, h.Ref()))
	}
	return out
}

// headUpdate replaces everything of a head but its counters. An index is written
// to only when an attribute of its key changes (Using Global Secondary Indexes in
// DynamoDB, developer guide), so the status and the due time are simply set.
func headUpdate(h lifecycle.Head) (*expression, error) {
	attributes, err := encodeHead(h)
	if err != nil {
		return nil, err
	}
	x := &expression{}
	for _, name := range headNames {
		x.put(name, attributes[name])
	}
	places := indexed(h)
	for _, name := range []string{statusName, dueName, dueSortName} {
		x.put(name, places[name])
	}
	return x, checkIndexes(places)
}

// headExists demands a head that is none of a task that is purged (see purgeOf).
func (x *expression) headExists() *expression { return x.present(seqName) }

// headOf is an item in a head's place, nil when there is none or the task is purged.
func headOf(it item) item {
	if it[seqName] == nil {
		return nil
	}
	return it
}

// checkIndexes bounds the keys of indexes: an item with a larger one would be
// refused.
func checkIndexes(it item) error {
	for _, k := range []key{{textOf(it, updateName), textOf(it, statusName)}, {textOf(it, contextName), textOf(it, statusName)}, {textOf(it, dueName), textOf(it, dueSortName)}} {
		if err := k.check(); err != nil {
			return err
		}
	}
	return nil
}

// stands is ledger.Stands as a condition: everything that a commit depends on is
// as its caller saw it.
func (x *expression) stands(seen lifecycle.Head) *expression {
	x.exists().is(seqName, numberOrNone(seen.Seq)).is(fenceName, numberOrNone(seen.Fence)).
		is(generationName, numberOrNone(seen.Generation)).is(holderName, textOrNone(seen.Holder))
	switch {
	case !seen.Terminal():
	case seen.AckedAt.IsZero():
		x.absent(ackedName)
	default:
		x.present(ackedName)
	}
	if seen.Cancel == nil {
		return x.absent(cancelName)
	}
	return x.present(cancelName)
}

// Zero values are not stored.
func numberOrNone(n uint64) types.AttributeValue {
	if n == 0 {
		return nil
	}
	return number(n)
}

func textOrNone(s string) types.AttributeValue {
	if s == "" {
		return nil
	}
	return text(s)
}

// markTime bounds the write of an expiry marker.
const markTime = 2 * time.Second

// markExpiry writes what will tell the stream that a task has expired. It stands behind
// the commit and is no part of it, which halves its price: without a marker, or when the
// record of its removal is lost, the sweep finds the task by its place in the index.
func (l *Ledger) markExpiry(ctx context.Context, h lifecycle.Head) {
	ctx, stop := context.WithTimeout(ctx, markTime)
	defer stop()
	_, _ = write(ctx, l, func(ctx context.Context, _ string) (*dynamodb.PutItemOutput, error) {
		return l.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &l.tables.Tasks, Item: expiryItem(h)}, untried)
	})
}

// expiryItem is what TTL removes when a finished task's retention is over. The
// head itself never has a TTL: a purge goes by the head to find the rest.
func expiryItem(h lifecycle.Head) item {
	out := expiryKey(h.Ref()).item()
	out[ttlName] = epoch(h.ExpiresAt)
	return out
}

// epoch is an instant for TTL, which counts seconds: the first one that is not before.
func epoch(at time.Time) types.AttributeValue {
	if at.Nanosecond() > 0 {
		at = at.Add(time.Second)
	}
	return number(uint64(max(at.Unix(), 0)))
}
