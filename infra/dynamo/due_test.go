package dynamo

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestHeadThatCannotBeRead: it is told apart, and the others of its batch are there.
func TestHeadThatCannotBeRead(t *testing.T) {
	good, bad := named("good", at), named("bad", at)
	torn, err := headItem(bad)
	if err != nil {
		t.Fatal(err)
	}
	torn[seqName] = text("many")
	answered := batchOf(t, good)
	into := answered.out.(*dynamodb.BatchGetItemOutput).Responses
	into["tasks"] = append([]map[string]types.AttributeValue{torn}, into["tasks"]...)
	l, s := played(t, answered)
	heads, unread, err := l.heads(t.Context(), []lifecycle.Ref{bad.Ref(), good.Ref()})
	s.want("BatchGetItem")
	if err != nil || len(heads) != 1 || heads[good.Ref()].Task != good.Task {
		t.Errorf("read %+v (%v)", heads, err)
	}
	if len(unread) != 1 || unread[0].Ref != bad.Ref() || unread[0].Err == nil {
		t.Errorf("unread %+v", unread)
	}
}
