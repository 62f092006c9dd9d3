package dynamo

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestFindingThatCannotBeRead: it is told apart, and the others of its batch are there.
func TestFindingThatCannotBeRead(t *testing.T) {
	met := func(ref lifecycle.Ref) item {
		it := findingKey(ref, "kind").item()
		it[firstName], it[lastName], it[countName] = encodeInstant(at), encodeInstant(at), number(1)
		return it
	}
	good, bad := lifecycle.Ref{Tenant: "tenant", Task: "good"}, lifecycle.Ref{Tenant: "tenant", Task: "bad"}
	torn := met(bad)
	torn[lastName] = text("yesterday")
	l, s := played(t, answer{out: &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{"private": {torn, met(good)}}}})
	found, unread, err := l.findings(t.Context(), "kind", []hit{{bad, "1"}, {good, "2"}})
	s.want("BatchGetItem")
	if err != nil || len(found) != 1 || !found[good].Last.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("found %+v (%v)", found, err)
	}
	if len(unread) != 1 || unread[0].Ref != bad || unread[0].Err == nil {
		t.Errorf("unread %+v", unread)
	}
}
