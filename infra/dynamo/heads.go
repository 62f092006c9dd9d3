package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// maxBatch is how many items a BatchGetItem takes (API reference).
const maxBatch = 100

// heads reads many heads strongly. Those that are gone are missing.
func (l *Ledger) heads(ctx context.Context, refs []lifecycle.Ref) (map[lifecycle.Ref]lifecycle.Head, error) {
	out := make(map[lifecycle.Ref]lifecycle.Head, len(refs))
	for len(refs) > 0 {
		n := min(len(refs), maxBatch)
		if err := l.headBatch(ctx, refs[:n], out); err != nil {
			return nil, err
		}
		refs = refs[n:]
	}
	return out, nil
}

func (l *Ledger) headBatch(ctx context.Context, refs []lifecycle.Ref, into map[lifecycle.Ref]lifecycle.Head) error {
	keys := make([]item, len(refs))
	for i, ref := range refs {
		keys[i] = headKey(ref).item()
	}
	// What was not processed is asked for again; a page ends at 16 MB, a throttled
	// table earlier.
	for tries := 1; len(keys) > 0; tries++ {
		out, err := read(ctx, l, func(ctx context.Context) (*dynamodb.BatchGetItemOutput, error) {
			return l.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				l.tables.Tasks: {Keys: keys, ConsistentRead: aws.Bool(true)},
			}}, untried)
		})
		if err != nil {
			return err
		}
		for _, it := range out.Responses[l.tables.Tasks] {
			h, err := decodeHead(it)
			if err != nil {
				return err
			}
			into[h.Ref()] = h
		}
		keys = out.UnprocessedKeys[l.tables.Tasks].Keys
		if len(keys) == 0 {
			return nil
		}
		if tries == l.retry.Tries {
			return unavailable(errUnprocessed)
		}
		if err := rest(ctx, jitter(l.retry.limit(tries))); err != nil {
			return err
		}
	}
	return nil
}
