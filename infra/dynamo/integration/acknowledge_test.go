package integration_test

import (
	"strconv"
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

// TestAcknowledgeMovesTheMarker: the marker that TTL removes goes by the retention of the task's end, and by the sooner one
// from an acknowledged export on. There is one of it, whatever happened.
func TestAcknowledgeMovesTheMarker(t *testing.T) {
	names, clock := tables(t), ledgertest.NewClock()
	meter := dynamo.NewMeter(client)
	auth := &ledger.Authority{Ledger: dynamo.New(meter, names, quick), Now: clock.Now, NewID: a2a.NewMessageID}
	judged := lifecycle.DefaultPolicy()
	judged.Terms = &lifecycle.Terms{Digest: "d", Seconds: lifecycle.Spans{Canceled: 10 * 86_400, Exported: 7200}}
	ref := lifecycle.Ref{Tenant: "acme-production", Task: a2a.NewTaskID()}
	res, err := auth.Create(t.Context(), ref, lifecycle.Submit{ContextID: "c", Agent: "a", AgentVersion: 1, Step: "s", Message: says("go"), Policy: judged}, lifecycle.Source{Producer: "client"}, nil)
	if err == nil {
		res, err = auth.Do(t.Context(), res.Task, lifecycle.RequestCancel{}, lifecycle.Source{Producer: "client"}, ledger.Extra{})
	}
	if err != nil {
		t.Fatal(err)
	}
	wantMarker(t, names.Tasks, res.Task.StatusAt.Add(10*24*time.Hour))
	for range 2 {
		clock.Advance(time.Minute)
		before := meter.Spent()
		h, err := auth.Acknowledge(t.Context(), ref, res.Task.TerminalReceipt())
		if err != nil {
			t.Fatal(err)
		}
		wantMarker(t, names.Tasks, h.AckedAt.Add(2*time.Hour))
		t.Logf("an acknowledgement costs %+v", meter.Spent().Sub(before))
	}
}

// wantMarker wants one expiry marker in a table, with an instant.
func wantMarker(t *testing.T, table string, want time.Time) {
	t.Helper()
	out, err := client.Scan(t.Context(), &dynamodb.ScanInput{
		TableName: &table, ConsistentRead: aws.Bool(true), FilterExpression: aws.String("sk = :marker"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":marker": &types.AttributeValueMemberS{Value: "t#"}},
	})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("%d markers (%v), want one", len(out.Items), err)
	}
	ttl, is := out.Items[0]["ttl"].(*types.AttributeValueMemberN)
	if !is || ttl.Value != strconv.FormatInt(want.Unix(), 10) {
		t.Errorf("the marker is removed at %+v, want %d", out.Items[0]["ttl"], want.Unix())
	}
}
