package integration_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// shaky is a client on a bad day: between the ledger and a real server it refuses
// requests as DynamoDB does, and loses answers of requests that were done. Its
// faults come from a seed.
type shaky struct {
	dynamo.API

	refuse, lose float64 // shares of the writes

	mu            sync.Mutex
	dice          *rand.Rand
	refused, lost int
}

func newShaky(refuse, lose float64, seed uint64) *shaky {
	return &shaky{API: client, refuse: refuse, lose: lose, dice: rand.New(rand.NewPCG(seed, seed))}
}

func answered(status int, err error) error {
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Any", Err: &awshttp.ResponseError{
		ResponseError: &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err},
	}}
}

// before may refuse a request; nothing is done then.
func (s *shaky) before(transaction bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dice.Float64() >= s.refuse {
		return nil
	}
	s.refused++
	code := []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}[s.dice.IntN(3)]
	switch {
	case transaction && s.dice.IntN(2) == 0:
		return answered(http.StatusBadRequest, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: &code}}})
	case transaction:
		return answered(http.StatusBadRequest, &smithy.GenericAPIError{Code: "ThrottlingException"})
	default:
		return answered(http.StatusBadRequest, &smithy.GenericAPIError{Code: "TransactionConflictException"})
	}
}

// after may lose the answer of what was done, or make an internal error of it.
func (s *shaky) after(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dice.Float64() >= s.lose {
		return err
	}
	s.lost++
	if s.dice.IntN(2) == 0 {
		return answered(http.StatusInternalServerError, &types.InternalServerError{})
	}
	return &smithy.OperationError{ServiceID: "DynamoDB", OperationName: "Any", Err: &smithyhttp.RequestSendError{Err: errors.New("connection reset by peer")}}
}

func (s *shaky) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	if err := s.before(true); err != nil {
		return nil, err
	}
	out, err := s.API.TransactWriteItems(ctx, in, opts...)
	return out, s.after(err)
}

func (s *shaky) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if err := s.before(false); err != nil {
		return nil, err
	}
	out, err := s.API.UpdateItem(ctx, in, opts...)
	return out, s.after(err)
}

func (s *shaky) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if err := s.before(false); err != nil {
		return nil, err
	}
	out, err := s.API.PutItem(ctx, in, opts...)
	return out, s.after(err)
}

func (s *shaky) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if err := s.before(false); err != nil {
		return nil, err
	}
	out, err := s.API.DeleteItem(ctx, in, opts...)
	return out, s.after(err)
}

func (s *shaky) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	out, err := s.API.GetItem(ctx, in, opts...)
	return out, s.after(err)
}

func (s *shaky) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := s.API.Query(ctx, in, opts...)
	return out, s.after(err)
}
