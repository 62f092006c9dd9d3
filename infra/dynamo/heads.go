package dynamo

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// maxBatch is how many items a BatchGetItem takes (API reference).
const maxBatch = 100

// heads reads many heads strongly. Those that are gone are missing. A batch takes
// no key twice, and an index that is catching up may name a task twice.
func (l *Ledger) heads(ctx context.Context, refs []lifecycle.Ref) (map[lifecycle.Ref]lifecycle.Head, []ledger.Unread, error) {
	var unread []ledger.Unread
	out := make(map[lifecycle.Ref]lifecycle.Head, len(refs))
	once := map[lifecycle.Ref]bool{}
	refs = slices.DeleteFunc(slices.Clone(refs), func(ref lifecycle.Ref) bool {
		again := once[ref]
		once[ref] = true
		return again
	})
	for len(refs) > 0 {
		n := min(len(refs), maxBatch)
		broken, err := l.headBatch(ctx, refs[:n], out)
		if err != nil {
			return nil, nil, err
		}
		unread = append(unread, broken...)
		refs = refs[n:]
	}
	return out, unread, nil
}

func (l *Ledger) headBatch(ctx context.Context, refs []lifecycle.Ref, into map[lifecycle.Ref]lifecycle.Head) (unread []ledger.Unread, err error) {
	keys := make([]item, len(refs))
	for i, ref := range refs {
		keys[i] = headKey(ref).item()
	}
	err = l.batch(ctx, l.tables.Tasks, keys, func(it item) error {
		if headOf(it) == nil {
			return nil
		}
		h, broken := decodeHead(it)
		if broken == nil {
			into[h.Ref()] = h
			return nil
		}
		unread = append(unread, ledger.Unread{Ref: h.Ref(), Err: broken})
		return nil
	})
	return unread, err
}

// batch reads up to maxBatch items strongly, each once. Those that are gone are
// missing. What was not processed is asked for again: a page ends at 16 MB, a
// throttled table earlier.
func (l *Ledger) batch(ctx context.Context, table string, keys []item, each func(item) error) error {
	for tries := 1; len(keys) > 0; tries++ {
		out, err := read(ctx, l, func(ctx context.Context) (*dynamodb.BatchGetItemOutput, error) {
			return l.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				table: {Keys: keys, ConsistentRead: aws.Bool(true)},
			}}, untried)
		})
		if err != nil {
			return err
		}
		for _, it := range out.Responses[table] {
			if err := each(it); err != nil {
				return err
			}
		}
		keys = out.UnprocessedKeys[table].Keys
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
