package dynamo

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// named is a head in a conversation, which has one partition: a script needs one
// query.
func named(id string, statusAt time.Time) lifecycle.Head {
	h := seen()
	h.Task, h.ContextID, h.StatusAt = a2a.TaskID(id), "conversation", statusAt
	return h
}

// found is an answer of an index, with heads as they were when it was written.
func found(t *testing.T, heads ...lifecycle.Head) answer {
	t.Helper()
	out := &dynamodb.QueryOutput{}
	for _, h := range heads {
		it := stored(t, h)
		out.Items = append(out.Items, item{partitionName: it[partitionName], sortName: it[sortName], statusName: it[statusName], dueName: it[dueName], dueSortName: it[dueSortName]})
	}
	return answer{out: out}
}

// batchOf is an answer with heads as they are.
func batchOf(t *testing.T, heads ...lifecycle.Head) answer {
	t.Helper()
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for _, h := range heads {
		out.Responses["tasks"] = append(out.Responses["tasks"], stored(t, h))
	}
	return answer{out: out}
}

func inConversation() ledger.ListQuery {
	return ledger.ListQuery{Tenant: "tenant", ContextID: "conversation", Now: at.Add(time.Hour), Limit: 10}
}

func tasksOf(heads []lifecycle.Head) string {
	var s strings.Builder
	for _, h := range heads {
		s.WriteString(string(h.Task))
	}
	return s.String()
}

// TestListStale: the index lags behind; pages show heads as they are, in the
// order of their present status.
func TestListStale(t *testing.T) {
	a, b, c := named("a", at.Add(3*time.Second)), named("b", at.Add(2*time.Second)), named("c", at.Add(time.Second))
	moved := c
	moved.StatusAt, moved.State = at.Add(time.Minute), lifecycle.Completed
	expired := moved
	expired.ExpiresAt = at.Add(time.Hour)
	working := func(q *ledger.ListQuery) { q.State = lifecycle.Working }
	behind := func(q *ledger.ListQuery) { q.After = &ledger.ListCursor{StatusAt: at.Add(4 * time.Second), Task: "z"} }
	for _, c := range []struct {
		name   string
		change func(*ledger.ListQuery)
		index  []lifecycle.Head
		now    []lifecycle.Head
		want   string
	}{
		{"nothing moved", nil, []lifecycle.Head{a, b, c}, []lifecycle.Head{c, a, b}, "abc"},
		{"the last one moved to the front", nil, []lifecycle.Head{a, b, c}, []lifecycle.Head{a, b, moved}, "cab"},
		{"it is in the index twice", nil, []lifecycle.Head{moved, a, b, c}, []lifecycle.Head{a, b, moved}, "cab"},
		{"it is no longer what is asked for", working, []lifecycle.Head{a, b, c}, []lifecycle.Head{a, b, moved}, "ab"},
		{"it has expired", nil, []lifecycle.Head{a, b, c}, []lifecycle.Head{a, b, expired}, "ab"},
		{"its new place is on a page before", behind, []lifecycle.Head{a, b, c}, []lifecycle.Head{a, b, moved}, "ab"},
		{"it was purged", nil, []lifecycle.Head{a, b, c}, []lifecycle.Head{a, b}, "ab"},
	} {
		q := inConversation()
		if c.change != nil {
			c.change(&q)
		}
		l, s := played(t, found(t, c.index...), batchOf(t, c.now...))
		page, err := l.List(t.Context(), q)
		if got := tasksOf(page.Heads); err != nil || got != c.want || page.Next != nil {
			t.Errorf("%s: %q (%v), next %v; want %q", c.name, got, err, page.Next, c.want)
		}
		s.want("Query", "BatchGetItem")
	}
}

// TestListPageOfStale: what was left out makes room, and a page goes on.
func TestListPageOfStale(t *testing.T) {
	a, b, c := named("a", at.Add(3*time.Second)), named("b", at.Add(2*time.Second)), named("c", at.Add(time.Second))
	q := inConversation()
	q.Limit = 1
	l, s := played(t, found(t, a, b, c), batchOf(t), batchOf(t, c))
	page, err := l.List(t.Context(), q) // of a and b nothing is left
	if got := tasksOf(page.Heads); err != nil || got != "c" || page.Next != nil {
		t.Errorf("%q (%v), next %v; want c, the last", got, err, page.Next)
	}
	s.want("Query", "BatchGetItem", "BatchGetItem")
}

// TestListUnprocessed: what a batch left out is asked for again.
func TestListUnprocessed(t *testing.T) {
	a, b := named("a", at.Add(3*time.Second)), named("b", at.Add(2*time.Second))
	half := batchOf(t, a)
	half.out.(*dynamodb.BatchGetItemOutput).UnprocessedKeys = map[string]types.KeysAndAttributes{"tasks": {Keys: []map[string]types.AttributeValue{headKey(b.Ref()).item()}}}
	l, s := played(t, found(t, a, b), half, batchOf(t, b))
	page, err := l.List(t.Context(), inConversation())
	if got := tasksOf(page.Heads); err != nil || got != "ab" {
		t.Errorf("%q (%v), want both", got, err)
	}
	s.want("Query", "BatchGetItem", "BatchGetItem")
}

// TestListIsBounded: a page that finds too few among very many ends early and says where
// it goes on; counting them ends as well.
func TestListIsBounded(t *testing.T) {
	many := func(n int) (answers []answer) {
		for first := 0; first < n; first += 500 {
			var heads []lifecycle.Head
			for i := range 500 {
				heads = append(heads, named(fmt.Sprintf("%06d", first+i), at.Add(-time.Duration(first+i)*time.Second)))
			}
			a := found(t, heads...)
			a.out.(*dynamodb.QueryOutput).LastEvaluatedKey = item{partitionName: text("x")}
			answers = append(answers, a)
		}
		return answers
	}
	q := inConversation()
	q.State = lifecycle.Failed // none is
	l, _ := played(t, many(mostLooked)...)
	page, err := l.List(t.Context(), q)
	want := a2a.TaskID(fmt.Sprintf("%06d", mostLooked-1))
	if err != nil || len(page.Heads) > 0 || page.Next == nil || page.Next.Task != want {
		t.Errorf("%d tasks, next %+v (%v); want none, and to go on after %s", len(page.Heads), page.Next, err, want)
	}
	q.State = lifecycle.Working
	l, _ = played(t, many(mostCounted)...)
	if n, err := l.Count(t.Context(), q); err != nil || n != (ledger.Counted{Tasks: mostCounted, More: true}) {
		t.Errorf("counted %+v (%v), want %d and more", n, err, mostCounted)
	}
}

// TestCount reads no heads.
func TestCount(t *testing.T) {
	a, b := named("a", at), named("b", at)
	b.State, b.ExpiresAt = lifecycle.Completed, at.Add(time.Minute)
	for state, want := range map[a2a.TaskState]int{"": 1, lifecycle.Working: 1, lifecycle.Completed: 0} {
		q := inConversation()
		q.State = state
		l, s := played(t, found(t, a, b))
		if n, err := l.Count(t.Context(), q); err != nil || n != (ledger.Counted{Tasks: want}) {
			t.Errorf("%+v in state %q (%v), want %d", n, state, err, want)
		}
		s.want("Query")
	}
}

// TestDueStale: a task whose head says another time is left out, and the cursor
// goes past it.
func TestDueStale(t *testing.T) {
	a, b := named("a", at), named("b", at)
	moved := a
	moved.DueAt = at.Add(time.Hour)
	answers := []answer{found(t, a, b)}
	for range dueShards - 1 {
		answers = append(answers, found(t))
	}
	l, _ := played(t, append(answers, batchOf(t, moved))...)
	page, err := l.Due(t.Context(), at.Add(time.Minute), nil, 1)
	if err != nil || len(page.Heads) > 0 || page.Next == nil || page.Next.Ref != a.Ref() || !page.Next.DueAt.Equal(a.DueAt) {
		t.Errorf("%+v (%v), want no task and a cursor past the first", page, err)
	}
}

// TestPlacesDamaged: an index that is not ours is an error.
func TestPlacesDamaged(t *testing.T) {
	for _, place := range []string{"", "x", "1#2#3#4#5#6", "00000000001.000000000#t#s#never#a#1", "00000000001.000000000#t#s#-#a", "00000000001.000000000#t#s#-#a#x"} {
		if s, err := parseStatus(place); err == nil {
			t.Errorf("%q was read as %+v", place, s)
		}
		if d, err := parseDue(place); err == nil {
			t.Errorf("%q was read as %+v", place, d)
		}
	}
	l, _ := played(t, answer{err: coded(400, "ValidationException")})
	if _, err := l.List(t.Context(), inConversation()); err == nil || errors.Is(err, ledger.ErrUnavailable) {
		t.Errorf("a query that was refused: %v", err)
	}
}

// TestPlacesOfNamesakes: a page begins after its cursor's task also where one
// task's name begins another's.
func TestPlacesOfNamesakes(t *testing.T) {
	ids := []a2a.TaskID{"a", "a!", "a\"", "a#", "a%", "a-", "aa", "é"}
	for _, cursor := range ids {
		s := listSpan(ledger.ListQuery{Tenant: "tenant", After: &ledger.ListCursor{StatusAt: at, Task: cursor}})
		for _, id := range ids {
			h := named(string(id), at)
			inside := statusSort(h) >= s.first && statusSort(h) <= s.last
			if after := latestFirst(at, at, cursor, id) < 0; inside != after {
				t.Errorf("task %q is in the page after %q: %t, want %t", id, cursor, inside, after)
			}
		}
	}
}
