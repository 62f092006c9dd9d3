package integration_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// TestCreateTables: tables are made once; what is there is taken. Only tasks are
// streamed.
func TestCreateTables(t *testing.T) {
	names := tablesBy(t, client)
	if err := dynamo.CreateTables(t.Context(), client, names); err != nil {
		t.Fatalf("again: %v", err)
	}
	for _, c := range []struct {
		name     string
		streamed bool
		indexes  int
	}{{names.Tasks, true, 3}, {names.Private, false, 1}} {
		table, err := client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &c.name})
		if err != nil {
			t.Fatal(err)
		}
		stream := table.Table.StreamSpecification
		streamed := stream != nil && stream.StreamEnabled != nil && *stream.StreamEnabled
		if streamed != c.streamed || streamed && stream.StreamViewType != types.StreamViewTypeNewAndOldImages || len(table.Table.GlobalSecondaryIndexes) != c.indexes {
			t.Errorf("table %s: streamed %t with %d indexes", c.name, streamed, len(table.Table.GlobalSecondaryIndexes))
		}
		ttl, err := client.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &c.name})
		if err != nil || ttl.TimeToLiveDescription == nil || ttl.TimeToLiveDescription.AttributeName == nil || *ttl.TimeToLiveDescription.AttributeName != "ttl" {
			t.Errorf("table %s: TTL %+v (%v)", c.name, ttl, err)
		}
	}
}
