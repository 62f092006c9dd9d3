package dynamo

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// begun is what is left of a head when its purge has begun.
func begun() item {
	out := headKey(seen().Ref()).item()
	out[keyName], out[expiresName] = text("k"), encodeInstant(at)
	return out
}

// page is an answer to a query: the head's place, then so many children.
func page(first item, children int) answer {
	items := []item{first}
	for i := range children {
		items = append(items, entryKey(seen().Ref(), uint64(i+1)).item())
	}
	return answer{out: &dynamodb.QueryOutput{Items: items}}
}

// unprocessed is an answer to a batch that left so many.
func unprocessed(n int) answer {
	out := &dynamodb.BatchWriteItemOutput{}
	if n > 0 {
		out.UnprocessedItems = map[string][]types.WriteRequest{"tasks": make([]types.WriteRequest, n)}
	}
	return answer{out: out}
}

func nonePrivate() answer { return answer{out: &dynamodb.QueryOutput{}} }

// TestPurgePieceInBatches: what a throttled table leaves of a batch is asked for again,
// alone, with longer and longer rests, and not for ever.
func TestPurgePieceInBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		l, s := played(t, page(begun(), 60), unprocessed(20), unprocessed(7), unprocessed(0), unprocessed(0), unprocessed(0), nonePrivate())
		removed, more, err := l.PurgePiece(t.Context(), seen().Ref())
		if err != nil || removed != 60 || more {
			t.Errorf("%d removed, more: %t, %v", removed, more, err)
		}
		if want := []int{25, 20, 7, 25, 10}; !slices.Equal(s.batches, want) {
			t.Errorf("batches of %v, want %v", s.batches, want)
		}
		if rested, most := time.Since(began), 3*defaultRetry().First+time.Millisecond; rested > most || rested == 0 {
			t.Errorf("it rested for %s, want at most %s", rested, most)
		}

		l, s = played(t, append([]answer{page(begun(), 3)}, slices.Repeat([]answer{unprocessed(3)}, defaultRetry().Tries)...)...)
		removed, more, err = l.PurgePiece(t.Context(), seen().Ref())
		if !isUnavailable(err) || removed != 0 || !more {
			t.Errorf("a table that takes nothing: %d removed, more: %t, %v", removed, more, err)
		}
		if n := len(s.batches); n != defaultRetry().Tries {
			t.Errorf("it was asked %d times, want %d", n, defaultRetry().Tries)
		}
	})
}

// TestPurgePieceTriesAgain: removing twice does no harm, so a broken connection is no
// reason to give up.
func TestPurgePieceTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := played(t, page(begun(), 1), answer{err: broken()}, answer{err: coded(http.StatusBadRequest, "ThrottlingException")}, unprocessed(0), nonePrivate())
		if removed, more, err := l.PurgePiece(t.Context(), seen().Ref()); err != nil || removed != 1 || more {
			t.Errorf("%d removed, more: %t, %v", removed, more, err)
		}
		s.want("Query", "BatchWriteItem", "BatchWriteItem", "BatchWriteItem", "Query")
	})
}

// TestPurgePieceNeedsABegunPurge: nothing is removed where a head is, and nothing where
// none is: another purge has ended.
func TestPurgePieceNeedsABegunPurge(t *testing.T) {
	for name, first := range map[string]item{"a head": stored(t, seen()), "no head": entryKey(seen().Ref(), 1).item()} {
		l, s := played(t, page(first, 5))
		if removed, more, err := l.PurgePiece(t.Context(), seen().Ref()); err != nil || removed != 0 || more {
			t.Errorf("%s: %d removed, more: %t, %v", name, removed, more, err)
		}
		s.want("Query")
	}
}

// TestBeginPurgeClassified: a refusal is explained by what is there.
func TestBeginPurgeClassified(t *testing.T) {
	ended := seen()
	ended.State, ended.ExpiresAt = lifecycle.Completed, at.Add(time.Hour)
	for name, c := range map[string]struct {
		old  item
		want error
	}{
		"nothing": {nil, ledger.ErrNotFound}, "a purge that was begun": {begun(), nil},
		"a task that lives":     {stored(t, seen()), &ledger.NotExpired{Ref: seen().Ref()}},
		"a task that has ended": {stored(t, ended), &ledger.NotExpired{Ref: seen().Ref(), ExpiresAt: ended.ExpiresAt}},
	} {
		l, s := played(t, answer{err: conditionFailed(c.old)})
		p, err := l.BeginPurge(t.Context(), seen().Ref(), at)
		if fmt.Sprint(err) != fmt.Sprint(c.want) && !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
		if want := (ledger.Purge{Ref: seen().Ref(), ExpiresAt: at, Key: "k"}); c.want == nil && p != want {
			t.Errorf("%s: %+v, want %+v", name, p, want)
		}
		s.want("UpdateItem")
	}
}

// TestStrippedHeadIsNone: what a purge leaves of a head has no sequence, is in no list
// and keeps what its end needs.
func TestStrippedHeadIsNone(t *testing.T) {
	ended := seen()
	ended.State, ended.ExpiresAt, ended.Key = lifecycle.Completed, at, lifecycle.DigestBytes(nil)
	it := stored(t, ended)
	for _, name := range strippedNames {
		delete(it, name)
	}
	for name := range it {
		if !slices.Contains([]string{partitionName, sortName, keyName, expiresName, dueName, dueSortName}, name) {
			t.Errorf("%s is left", name)
		}
	}
	p, err := purgeOf(ended.Ref(), it)
	if err != nil || headOf(it) != nil || p.Key != ended.Key || !p.ExpiresAt.Equal(at) || textOf(it, dueName) != expiredPartition(ended.Ref()) {
		t.Errorf("%+v of %v, %v", p, it, err)
	}
}
