package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// script is a client that answers by a plan and notes what it was asked. Nothing
// is real: what may be asserted is which requests the ledger makes, and how it
// reads answers.
type script struct {
	t       *testing.T
	mu      sync.Mutex
	answers []answer
	asked   []string // methods, in order
	tokens  []string
	batches []int // how many writes each batch had
}

// answer is the answer to one request: an error, or an output for reads.
type answer struct {
	err  error
	item item
	out  any
}

func (s *script) next(method string) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, method)
	if len(s.answers) == 0 {
		return answer{err: fmt.Errorf("the script has no answer to request %d, a %s", len(s.asked), method)}
	}
	a := s.answers[0]
	s.answers = s.answers[1:]
	return a
}

func (s *script) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	s.tokens = append(s.tokens, aws.ToString(in.ClientRequestToken))
	return &dynamodb.TransactWriteItemsOutput{}, s.next("TransactWriteItems").err
}

func (s *script) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, s.next("UpdateItem").err
}

func (s *script) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return &dynamodb.PutItemOutput{}, s.next("PutItem").err
}

func (s *script) DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return &dynamodb.DeleteItemOutput{}, s.next("DeleteItem").err
}

func (s *script) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	a := s.next("GetItem")
	return &dynamodb.GetItemOutput{Item: a.item}, a.err
}

// BatchGetItem refuses what names a key twice, as DynamoDB does.
func (s *script) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	a := s.next("BatchGetItem")
	once := map[string]bool{}
	for _, k := range in.RequestItems["tasks"].Keys {
		if once[textOf(k, partitionName)] {
			return nil, coded(http.StatusBadRequest, "ValidationException")
		}
		once[textOf(k, partitionName)] = true
	}
	out, _ := a.out.(*dynamodb.BatchGetItemOutput)
	return out, a.err
}

func (s *script) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	a := s.next("BatchWriteItem")
	for _, requests := range in.RequestItems {
		s.batches = append(s.batches, len(requests))
	}
	out, _ := a.out.(*dynamodb.BatchWriteItemOutput)
	return out, a.err
}

func (s *script) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	a := s.next("Query")
	out, _ := a.out.(*dynamodb.QueryOutput)
	return out, a.err
}

// want stops the test unless exactly these requests were made.
func (s *script) want(methods ...string) {
	s.t.Helper()
	if !slices.Equal(s.asked, methods) || len(s.answers) > 0 {
		s.t.Fatalf("requests %q with %d answers left, want %q", s.asked, len(s.answers), methods)
	}
}

// played is a ledger over a script.
func played(t *testing.T, answers ...answer) (*Ledger, *script) {
	t.Helper()
	s := &script{t: t, answers: answers}
	return New(s, Names{Tasks: "tasks", Private: "private"}, Options{}), s
}

// Faults as the SDK reports them.

func canceled(reasons ...types.CancellationReason) error {
	return wrapped(http.StatusBadRequest, &types.TransactionCanceledException{CancellationReasons: reasons})
}

func because(code string, old item) types.CancellationReason {
	return types.CancellationReason{Code: &code, Item: old}
}

func nothing() types.CancellationReason { return because(codeNone, nil) }

func conditionFailed(old item) error {
	return wrapped(http.StatusBadRequest, &types.ConditionalCheckFailedException{Item: old})
}

func coded(status int, code string) error {
	return wrapped(status, &smithy.GenericAPIError{Code: code, Message: "as planned"})
}

func broken() error {
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Any", Err: &smithyhttp.RequestSendError{Err: errors.New("connection reset by peer")}}
}

func wrapped(status int, err error) error {
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Any", Err: &awshttp.ResponseError{
		ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err},
	}}
}
