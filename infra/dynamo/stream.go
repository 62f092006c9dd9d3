package dynamo

import (
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Record is what a record of the stream means. Records come at least once, and
// those of one transaction come apart and in any order among themselves
// (DynamoDB transactions, developer guide): each one must be understood alone.
type Record struct {
	// SequenceNumber is what a partial batch response names (Reporting batch item
	// failures, Lambda developer guide).
	SequenceNumber string
	Ref            lifecycle.Ref
	// Entry is a new entry; its Seq is 0 when the record is about something else.
	Entry lifecycle.Entry
	// At is when the change was made, to the second; zero when nobody says.
	At time.Time
	// Expired says that TTL removed the task's expiry marker: it is time to purge.
	Expired bool
}

// Ignored says whether there is nothing to do.
func (r Record) Ignored() bool { return r.Entry.Seq == 0 && !r.Expired }

// poisoned is a record that cannot be read, now or later. It must block nothing but itself.
func poisoned(sequence string, err error) error {
	return fmt.Errorf("stream record %s cannot be read: %w", sequence, err)
}

// Decode reads a record as the stream function is given it. One that cannot be read now
// cannot be read later either.
func Decode(r events.DynamoDBEventRecord) (Record, error) {
	c := change{name: r.EventName, sequence: r.Change.SequenceNumber}
	if r.UserIdentity != nil {
		c.principal = r.UserIdentity.PrincipalID
	}
	var err error
	if c.keys, err = eventItem(r.Change.Keys); err == nil {
		c.after, err = eventItem(r.Change.NewImage)
	}
	if err != nil {
		return Record{}, poisoned(c.sequence, err)
	}
	out, err := decodeRecord(c)
	if at := r.Change.ApproximateCreationDateTime; at.Unix() > 0 {
		out.At = at.UTC()
	}
	return out, err
}

// change is a record, whoever brought it.
type change struct {
	name        string // INSERT, MODIFY, REMOVE
	sequence    string
	principal   string // who did it, when it was DynamoDB itself
	keys, after item
}

const (
	inserted = "INSERT"
	removed  = "REMOVE"
	// ttlPrincipal is who removes what has expired (Working with expired items and
	// time to live, developer guide).
	ttlPrincipal = "dynamodb.amazonaws.com"
)

func decodeRecord(c change) (Record, error) {
	out := Record{SequenceNumber: c.sequence}
	partition, sort := textOf(c.keys, partitionName), textOf(c.keys, sortName)
	if partition == "" || sort == "" {
		return out, poisoned(c.sequence, fmt.Errorf("keys %q and %q, want two texts", partition, sort))
	}
	entry := strings.HasPrefix(sort, entryPrefix) && c.name == inserted
	expired := sort == expirySort && c.name == removed && c.principal == ttlPrincipal
	var err error
	switch {
	case entry:
		// The key is what counts; the image repeats it.
		c.after[partitionName], c.after[sortName] = text(partition), text(sort)
		out.Ref, out.Entry, err = decodeEntry(c.after)
	case expired:
		out.Expired = true
		out.Ref, err = taskOf(partition)
	}
	if err != nil {
		return Record{SequenceNumber: c.sequence}, poisoned(c.sequence, err)
	}
	return out, nil
}

func eventItem(from map[string]events.DynamoDBAttributeValue) (item, error) {
	out := make(item, len(from))
	for name, v := range from {
		switch v.DataType() {
		case events.DataTypeString:
			out[name] = text(v.String())
		case events.DataTypeNumber:
			out[name] = &types.AttributeValueMemberN{Value: v.Number()}
		case events.DataTypeBinary:
			out[name] = &types.AttributeValueMemberB{Value: v.Binary()}
		case events.DataTypeBoolean:
			out[name] = &types.AttributeValueMemberBOOL{Value: v.Boolean()}
		case events.DataTypeMap:
			inner, err := eventItem(v.Map())
			if err != nil {
				return nil, err
			}
			out[name] = &types.AttributeValueMemberM{Value: inner}
		default:
			return nil, fmt.Errorf("attribute %s has a type that this ledger does not write", name)
		}
	}
	return out, nil
}
