// Package dynamo is the ledger on DynamoDB: the port of package ledger on two
// tables, in production and against any server that speaks DynamoDB's protocol.
//
// The table `tasks` holds everything of a task in one partition, and is
// streamed; the table `private` holds what must never enter a stream, such as
// callback tokens. keys.go has every key, table.go every index.
//
// Every commit is one TransactWriteItems, or one conditional UpdateItem when the
// head alone changes. A refused write is classified from the old items that the
// refusal brings back (ReturnValuesOnConditionCheckFailure), so that a caller can
// decide again without another read; attempt.go says what is tried again and what
// is not. Nothing depends on ClientRequestToken beyond one call: one's own success
// is recognised by the operation ID in entry and head.
//
// Heads, entries, effects, receipts and keys are read strongly. What looks for many
// tasks, endpoints or findings starts from indexes, which lag behind by a moment, and
// finishes with strong reads; Count, Expired and DueDeliveries go by the index alone.
//
// A write whose outcome is unknown is answered with ledger.ErrUnavailable. The
// pages of Amazon's documentation that a rule comes from are named where it is
// kept.
package dynamo
