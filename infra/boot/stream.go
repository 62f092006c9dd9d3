package boot

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// Batch is a batch of the table's stream. Records are decoded one by one, so that one
// that is no record fails alone.
type Batch struct {
	Records []json.RawMessage `json:"Records"` //nolint:tagliatelle // Lambda's name
}

// Streaming is a function that a stream calls, as what lambda.Start takes.
type Streaming func(ctx context.Context, b Batch) (events.DynamoDBEventResponse, error)

// Stream is the function of the table's stream.
func Stream() (Streaming, error) { return newProcess().stream() }

func (p process) stream() (Streaming, error) {
	s, t, networks := readStorage(p.variables), readTiming(p.variables), readNetworks(p.variables)
	machine, key := readDeliveryMachine(p.variables), readKey(p.variables)
	c := readAWS(p.variables)
	if err := p.err(); err != nil {
		return nil, err
	}
	tables, monitor := p.watched(c, s, t)
	ring, err := ringOf(c, tables, key)
	if err != nil {
		return nil, err
	}
	hooks := delivering(p.push(tables, ring, networks, t.grace, monitor), c, machine)
	hooks.Receivers = &webhook.Receivers{}
	return following(p.logger, monitor, func(ctx context.Context, h *hints) []string {
		return h.deliver(ctx, hooks)
	}, func(ctx context.Context, refs []lifecycle.Ref) sweep.Forgotten {
		return expired(ctx, p.purges(tables, newBlobs(c, s), len(refs)), refs)
	}), nil
}

// following decodes records, has the endpoints of their tasks delivered to, and those
// tasks purged that have expired. Records of one commit come apart, in any order among
// themselves and more than once (DynamoDB Streams and AWS Lambda triggers): each is
// understood alone, and only raises how far an endpoint should be, or says that a task
// may have to be purged, which its head decides. So none of that does harm.
//
// A record that cannot be read is named by its sequence number, not its event ID
// (Lambda, "Reporting batch item failures"). Lambda delivers again what begins with the
// first such one, and gives it up in the end. What stands behind it was handled at the
// first delivery already, and is at each: a poisoned record blocks nothing but itself.
//
// How old the oldest record was is looked at in every batch that has one.
func following(logger *slog.Logger, monitor *health.Monitor, deliver func(context.Context, *hints) []string, purge func(context.Context, []lifecycle.Ref) sweep.Forgotten) Streaming {
	return func(ctx context.Context, b Batch) (events.DynamoDBEventResponse, error) {
		failures := []events.DynamoDBBatchItemFailure{} // Lambda takes null for a failed batch
		entries, told := 0, newHints()
		var over []lifecycle.Ref
		var first time.Time
		for _, raw := range b.Records {
			r, err := decode(raw)
			if !r.At.IsZero() && (first.IsZero() || r.At.Before(first)) {
				first = r.At
			}
			switch {
			case err != nil:
				failures = append(failures, events.DynamoDBBatchItemFailure{ItemIdentifier: r.SequenceNumber})
				monitor.RecordUnreadable(ctx, r.SequenceNumber, err)
			case r.Expired:
				over = append(over, r.Ref)
			case !r.Ignored():
				entries++
				told.add(r)
			}
		}
		if !first.IsZero() {
			monitor.StreamAge(ctx, monitor.Now().Sub(first))
		}
		if len(told.order) > 0 {
			for _, number := range deliver(ctx, told) {
				failures = append(failures, events.DynamoDBBatchItemFailure{ItemIdentifier: number})
			}
		}
		done := purge(ctx, over)
		logger.LogAttrs(ctx, slog.LevelInfo, "stream", slog.Int("records", len(b.Records)), slog.Int("entries", entries), slog.Int("expired", len(over)), slog.Int("failed", len(failures)), forgotten(done))
		return events.DynamoDBEventResponse{BatchItemFailures: failures}, nil
	}
}

// decode reads a record, and of one that cannot be read at least its number.
func decode(raw json.RawMessage) (dynamo.Record, error) {
	var numbered struct {
		Change struct {
			SequenceNumber string `json:"SequenceNumber"` //nolint:tagliatelle // DynamoDB's name
		} `json:"dynamodb"`
	}
	_ = json.Unmarshal(raw, &numbered) // whatever is wrong is found below
	unread := dynamo.Record{SequenceNumber: numbered.Change.SequenceNumber}
	var record events.DynamoDBEventRecord
	if err := json.Unmarshal(raw, &record); err != nil {
		return unread, err
	}
	r, err := dynamo.Decode(record)
	if err != nil {
		return unread, err
	}
	return r, nil
}
