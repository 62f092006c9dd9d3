package dynamo

import (
	"fmt"
	"slices"
	"time"

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
)

// Attributes beside the head. Only Reject, Refuse and Hit touch the counters, and
// only by adding.
const (
	rejectionsName = "nx"
	incidentsName  = "ni"
	hitsName       = "nh"
	lateName       = "nz"
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
	out[statusName] = text(statusSort(h))
	if !h.DueAt.IsZero() {
		out[dueName] = text(shardOf(h.Ref(), dueShards))
		out[dueSortName] = text(dueSort(h.DueAt, h.Ref()))
	}
	return out, checkIndexes(out)
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
	indexed := item{statusName: text(statusSort(h))}
	if !h.DueAt.IsZero() {
		indexed[dueName] = text(shardOf(h.Ref(), dueShards))
		indexed[dueSortName] = text(dueSort(h.DueAt, h.Ref()))
	}
	for _, name := range []string{statusName, dueName, dueSortName} {
		x.put(name, indexed[name])
	}
	return x, checkIndexes(indexed)
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

// expiryItem is what TTL removes when a finished task's retention is over. The
// head itself never has a TTL: a purge goes by the head to find the rest.
func expiryItem(h lifecycle.Head) item {
	out := expiryKey(h.Ref()).item()
	at := h.ExpiresAt
	if at.Nanosecond() > 0 {
		at = at.Add(time.Second)
	}
	out[ttlName] = number(uint64(max(at.Unix(), 0)))
	return out
}
