package integration_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// partition is where a task's items are, by the layout that infra/dynamo documents.
func partition(ref lifecycle.Ref) types.AttributeValue {
	return &types.AttributeValueMemberS{Value: "T#" + ref.Tenant + "#" + string(ref.Task)}
}

// removeMarker removes a task's expiry marker, as TTL does.
func removeMarker(t *testing.T, names dynamo.Names, ref lifecycle.Ref) {
	t.Helper()
	_, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: &names.Tasks, Key: map[string]types.AttributeValue{"pk": partition(ref), "sk": &types.AttributeValueMemberS{Value: "t#"}},
		ConditionExpression: aws.String("attribute_exists(pk)"),
	})
	if err != nil {
		t.Fatalf("the expiry marker: %v", err)
	}
}

// itemsOf reads every item of a table, by its keys.
func itemsOf(t *testing.T, table string) map[string]map[string]types.AttributeValue {
	t.Helper()
	out := map[string]map[string]types.AttributeValue{}
	in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}
	for {
		page, err := client.Scan(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range page.Items {
			out[fmt.Sprintf("%s %s", stringOf(it["pk"]), stringOf(it["sk"]))] = it
		}
		if in.ExclusiveStartKey = page.LastEvaluatedKey; in.ExclusiveStartKey == nil {
			return out
		}
	}
}

func stringOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// dying is a client of a process that dies at its n-th request, before or after it has
// had its effect. Requests of the dead fail.
type dying struct {
	dynamo.API

	at    int64
	after bool
	made  atomic.Int64
}

var errDead = errors.New("the process is dead")

func dies[T any](d *dying, do func() (T, error)) (T, error) {
	var none T
	n := d.made.Add(1)
	if d.at > 0 && (n > d.at || n == d.at && !d.after) {
		return none, errDead
	}
	out, err := do()
	if n == d.at {
		return none, errDead
	}
	return out, err
}

func (d *dying) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return dies(d, func() (*dynamodb.UpdateItemOutput, error) { return d.API.UpdateItem(ctx, in, opts...) })
}

func (d *dying) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return dies(d, func() (*dynamodb.DeleteItemOutput, error) { return d.API.DeleteItem(ctx, in, opts...) })
}

func (d *dying) BatchWriteItem(ctx context.Context, in *dynamodb.BatchWriteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	return dies(d, func() (*dynamodb.BatchWriteItemOutput, error) { return d.API.BatchWriteItem(ctx, in, opts...) })
}

func (d *dying) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return dies(d, func() (*dynamodb.QueryOutput, error) { return d.API.Query(ctx, in, opts...) })
}

// long makes an ended task of more entries than a batch takes, with a token and an
// endpoint, under a key.
func long(t *testing.T, auth *ledger.Authority, key string) lifecycle.Ref {
	t.Helper()
	s := &storyteller{T: t, auth: auth}
	must := func(res ledger.Result, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		s.task = res.Task
	}
	must(s.submitUnder(key))
	must(s.grant())
	r := lifecycle.Report{Verb: lifecycle.VerbSubStep}
	for range 40 {
		r.Updates = append(r.Updates, lifecycle.Update{Message: says("on it")})
	}
	must(s.report(r))
	must(s.complete())
	if _, err := auth.Ledger.Park(t.Context(), s.task.Ref(), 1, ledger.Token{Value: "token", Generation: 1, EnteredAt: s.task.StatusAt}); err != nil {
		t.Fatal(err)
	}
	if err := auth.Ledger.PutEndpoint(t.Context(), s.task.Ref(), ledger.Endpoint{ID: "one", URL: "https://example.com"}); err != nil {
		t.Fatal(err)
	}
	return s.task.Ref()
}

// TestPurgeDiesAtEveryRequest: a process dies at each request of a purge that takes
// several batches, before and after it had its effect. The next one ends the purge, and
// of both tables nothing is left but the note and a live sibling (case 65).
func TestPurgeDiesAtEveryRequest(t *testing.T) {
	names, clock := tables(t), ledgertest.NewClock()
	over := func(api dynamo.API) *ledger.Authority {
		return &ledger.Authority{Ledger: dynamo.New(api, names, quick), Now: clock.Now, NewID: a2a.NewMessageID}
	}
	auth := over(client)
	purge := func(l ledger.Ledger, ref lifecycle.Ref) error {
		_, err := (&ledger.Purger{Purges: l, Blobs: ledgertest.NewMemoryBlobs(), Now: clock.Now, KeyNote: time.Hour}).Purge(t.Context(), ref)
		return err
	}
	sibling := &storyteller{T: t, auth: auth}
	if _, err := sibling.submitUnder("sibling"); err != nil {
		t.Fatal(err)
	}
	before := itemsOf(t, names.Tasks)
	counting := &dying{API: client}
	ref := long(t, auth, "counted")
	clock.Advance(lifecycle.DefaultRetention)
	if err := purge(over(counting).Ledger, ref); err != nil {
		t.Fatal(err)
	}
	requests := int(counting.made.Load())
	notes := 1
	for at := 1; at <= requests; at++ {
		for _, after := range []bool{false, true} {
			ref := long(t, auth, a2a.NewMessageID())
			notes++
			clock.Advance(lifecycle.DefaultRetention)
			if err := purge(over(&dying{API: client, at: int64(at), after: after}).Ledger, ref); err == nil {
				t.Fatalf("request %d, after %t: the purge lived", at, after)
			}
			if err := purge(auth.Ledger, ref); err != nil && !ledger.Gone(err) {
				t.Fatalf("request %d, after %t: the next purge: %v", at, after, err)
			}
			if left := itemsOf(t, names.Tasks); len(left) != len(before)+notes {
				t.Fatalf("request %d, after %t: %d items are left, want the sibling's %d and %d notes", at, after, len(left), len(before), notes)
			}
			if left := itemsOf(t, names.Private); len(left) != 0 {
				t.Fatalf("request %d, after %t: %d items are left in the private table", at, after, len(left))
			}
		}
	}
	after := itemsOf(t, names.Tasks)
	for k, it := range before {
		if !reflect.DeepEqual(after[k], it) {
			t.Errorf("the sibling's item %s has changed", k)
		}
	}
	for k, it := range after {
		if _, old := before[k]; !old && (it["ttl"] == nil || it["forgetAt"] == nil) {
			t.Errorf("%s has no end", k)
		}
	}
	t.Logf("a purge of %d requests, died at each: %d notes with a TTL are left, and the sibling's %d items", requests, notes, len(before))
}

// TestLateToken: a token that comes when its task is gone expires by itself. It is the
// one write that nothing guards: a guard would cost every pause another unit.
func TestLateToken(t *testing.T) {
	s := newStory(t)
	s.act("create", 9, s.submit)
	s.act("cancel", 13, func() (ledger.Result, error) {
		return s.do(lifecycle.RequestCancel{}, lifecycle.Source{Producer: "client"})
	})
	s.clock.Advance(lifecycle.DefaultRetention)
	purger := &ledger.Purger{Purges: s.auth.Ledger, Blobs: ledgertest.NewMemoryBlobs(), Now: s.clock.Now}
	if _, err := purger.Purge(t.Context(), s.task.Ref()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.auth.Ledger.Park(t.Context(), s.task.Ref(), 1, ledger.Token{Value: "late", Generation: 1, EnteredAt: s.clock.Now()}); err != nil {
		t.Fatal(err)
	}
	left := itemsOf(t, s.names.Private)
	for k, it := range left {
		if it["ttl"] == nil {
			t.Errorf("%s has no end", k)
		}
	}
	if len(left) != 1 {
		t.Errorf("%d items are left", len(left))
	}
}
