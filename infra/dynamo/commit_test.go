package dynamo

import (
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// seen is a head at entry 2; its successors are made of it.
func seen() lifecycle.Head {
	return lifecycle.Head{
		Tenant: "tenant", Task: "task", Agent: "agent", State: lifecycle.Working, StatusAt: at, AcceptedAt: at, LifeEndsAt: at.Add(time.Hour),
		Seq: 2, Holder: "holder", Fence: 1, Generation: 1, Op: "op-0", DueAt: at.Add(time.Minute),
	}
}

// stored is a head as the table has it.
func stored(t *testing.T, h lifecycle.Head) item {
	t.Helper()
	it, err := headItem(h)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// written is an entry as the table has it.
func written(t *testing.T, seq uint64, op string) item {
	t.Helper()
	e := lifecycle.Entry{Task: "task", Seq: seq, Type: lifecycle.TypeProgress, TypeVersion: 1, OpID: op, Payload: []byte("{}")}
	it, err := keyed(entryKey(seen().Ref(), seq), entryLayout, e)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// step is a commit of one entry.
func step() ledger.Commit {
	c := ledger.Commit{Seen: seen(), Head: seen()}
	c.Head.Seq, c.Head.Op = 3, "op-1"
	c.Entries = []lifecycle.Entry{{Task: "task", Seq: 3, Type: lifecycle.TypeProgress, TypeVersion: 1, OpID: "op-1", Payload: []byte("{}")}}
	return c
}

// TestCommitClassified: a refused commit is explained by the old items that came
// back, and read again only when one that is needed did not come.
func TestCommitClassified(t *testing.T) {
	ahead := seen()
	ahead.Seq, ahead.Op = 3, "op-theirs"
	marked := seen()
	marked.Cancel = &lifecycle.CancelMark{Principal: "somebody", At: at}
	failed := func(old item) answer { return answer{err: canceled(because("ConditionalCheckFailed", old), nothing())} }
	both := func(head, entry item) answer {
		return answer{err: canceled(because("ConditionalCheckFailed", head), because("ConditionalCheckFailed", entry))}
	}
	for _, c := range []struct {
		name    string
		answers []answer
		asked   []string
		want    lifecycle.Head // of the conflict; zero: not found
		nextOp  string
	}{
		{"somebody else's entry is there", []answer{both(stored(t, ahead), written(t, 3, "op-theirs"))}, []string{"TransactWriteItems"}, ahead, "op-theirs"},
		{"one's own entry is there", []answer{both(stored(t, ahead), written(t, 3, "op-1"))}, []string{"TransactWriteItems"}, ahead, "op-1"},
		{"a cancellation was marked", []answer{failed(stored(t, marked))}, []string{"TransactWriteItems"}, marked, ""},
		{"there is no task", []answer{failed(nil)}, []string{"TransactWriteItems"}, lifecycle.Head{}, ""},
		{"the entry's old item did not come", []answer{failed(stored(t, ahead)), {item: item{opName: text("op-1")}}}, []string{"TransactWriteItems", "GetItem"}, ahead, "op-1"},
		{"a conflict, then a refusal", []answer{{err: canceled(because("TransactionConflict", nil))}, both(stored(t, ahead), written(t, 3, "op-theirs"))}, []string{"TransactWriteItems", "TransactWriteItems"}, ahead, "op-theirs"},
		{"a refusal beside a conflict", []answer{{err: canceled(because("ConditionalCheckFailed", stored(t, marked)), because("TransactionConflict", nil))}}, []string{"TransactWriteItems"}, marked, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, s := played(t, c.answers...)
			err := l.Commit(t.Context(), step())
			s.want(c.asked...)
			conflict, is := errors.AsType[*ledger.Conflict](err)
			if c.want.Seq == 0 {
				if !errors.Is(err, ledger.ErrNotFound) {
					t.Errorf("%s: error %v, want not found", c.name, err)
				}
				return
			}
			if !is || conflict.NextOp != c.nextOp || conflict.Current.Op != c.want.Op || !ledger.Stands(c.want, conflict.Current) {
				t.Errorf("%s: error %v, %+v; want %+v after %q", c.name, err, conflict, c.want, c.nextOp)
			}
		})
	}
}

// TestCommitAlone: what changes the head alone is one update, which is half the
// price; what belongs to more is one transaction.
func TestCommitAlone(t *testing.T) {
	renewal := ledger.Commit{Seen: seen(), Head: seen()}
	answered, receipted := renewal, renewal
	answered.Answered = 1
	receipted.Receipts = []ledger.Receipt{{Producer: "client", EventID: "m-1"}}
	for want, commits := range map[string][]ledger.Commit{"UpdateItem": {renewal}, "TransactWriteItems": {step(), answered, receipted}} {
		for _, c := range commits {
			l, s := played(t, answer{})
			if err := l.Commit(t.Context(), c); err != nil {
				t.Error(err)
			}
			s.want(want)
		}
	}
}

// TestCommitMarksExpiry: the marker comes behind the commit that ends a task, and
// changes nothing about its answer.
func TestCommitMarksExpiry(t *testing.T) {
	end := step()
	end.Head.State, end.Head.ExpiresAt = lifecycle.Completed, at.Add(time.Hour)
	for _, marked := range []answer{{}, {err: broken()}, {err: coded(http.StatusBadRequest, "ThrottlingException")}} {
		synctest.Test(t, func(t *testing.T) {
			l, s := played(t, append([]answer{{}}, slices.Repeat([]answer{marked}, defaultRetry().Tries)...)...)
			if err := l.Commit(t.Context(), end); err != nil {
				t.Fatalf("the marker was answered %v, the commit %v", marked.err, err)
			}
			if s.asked[0] != "TransactWriteItems" || s.asked[1] != "PutItem" {
				t.Errorf("requests %q", s.asked)
			}
		})
	}
	l, s := played(t, answer{err: canceled(because("ConditionalCheckFailed", stored(t, seen())), nothing())})
	if err := l.Commit(t.Context(), end); !conflicts(err) {
		t.Errorf("a refused end: %v", err)
	}
	s.want("TransactWriteItems")
}

// TestCommitUnknown: a broken connection says nothing about the commit; the
// caller asks again with the same operation and finds its own success.
func TestCommitUnknown(t *testing.T) {
	after := step().Head
	l, s := played(t, answer{err: broken()}, answer{err: canceled(because("ConditionalCheckFailed", stored(t, after)), because("ConditionalCheckFailed", written(t, 3, "op-1")))})
	if err := l.Commit(t.Context(), step()); !isUnavailable(err) {
		t.Fatalf("error %v, want unavailable", err)
	}
	conflict, is := errors.AsType[*ledger.Conflict](l.Commit(t.Context(), step()))
	if !is || conflict.NextOp != "op-1" {
		t.Errorf("%+v, want one's own operation", conflict)
	}
	s.want("TransactWriteItems", "TransactWriteItems")
}

// TestCommitTwice: two calls are two requests, whatever their content: the second
// must be refused and not be taken for a repetition of the first.
func TestCommitTwice(t *testing.T) {
	l, s := played(t, answer{}, answer{})
	for range 2 {
		if err := l.Commit(t.Context(), step()); err != nil {
			t.Fatal(err)
		}
	}
	if s.tokens[0] == s.tokens[1] {
		t.Errorf("both have the token %q", s.tokens[0])
	}
}

// TestDamaged: a table that contradicts itself is reported; nobody is told to
// decide again.
func TestDamaged(t *testing.T) {
	l, _ := played(t, answer{err: canceled(nothing(), because("ConditionalCheckFailed", written(t, 3, "op-theirs")))})
	if err := l.Commit(t.Context(), step()); !isPlain(err) || conflicts(err) {
		t.Errorf("an entry that the head does not know of: %v", err)
	}
	bad := stored(t, seen())
	bad[seqName] = text("three")
	l, _ = played(t, answer{err: conditionFailed(bad)})
	if err := l.Commit(t.Context(), ledger.Commit{Seen: seen(), Head: seen()}); !isPlain(err) || conflicts(err) {
		t.Errorf("a head that cannot be read: %v", err)
	}
}

func conflicts(err error) bool {
	_, is := errors.AsType[*ledger.Conflict](err)
	return is
}
