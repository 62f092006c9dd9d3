package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// refusal is a write whose condition failed: final, and nothing was written. It
// has one reason for each action of the request, in order.
type refusal struct{ reasons []reason }

// reason is what became of one action.
type reason struct {
	failed bool
	old    item // as it was when the condition failed; nil when there was none
}

// Error implements error.
func (r *refusal) Error() string {
	failed := 0
	for _, one := range r.reasons {
		if one.failed {
			failed++
		}
	}
	return fmt.Sprintf("%d of %d conditions failed", failed, len(r.reasons))
}

// at is what became of action n. Requests of one action have one reason.
func (r *refusal) at(n int) reason {
	if n < 0 || n >= len(r.reasons) {
		return reason{}
	}
	return r.reasons[n]
}

// verdict says what a failed request means.
type verdict int

const (
	final    verdict = iota // asking again gives the same
	undone                  // nothing was written; ask again, as a new request
	underway                // perhaps written; ask again, as the same request
	unknown                 // perhaps written: the caller finds out
)

// Codes of errors and of reasons of a canceled transaction (TransactWriteItems,
// API reference; Error handling with DynamoDB, developer guide).
const (
	codeConditionFailed = "ConditionalCheckFailed"
	codeNone            = "None"
)

func undoneCodes() []string {
	return append(throttleCodes(), "TransactionConflict", "TransactionConflictException", "ReplicatedWriteConflictException")
}

func throttleCodes() []string {
	return []string{
		"ThrottlingError", "ThrottlingException", "Throttling", "RequestLimitExceeded",
		"ProvisionedThroughputExceeded", "ProvisionedThroughputExceededException",
	}
}

// isThrottle says whether a request was refused because there are too many.
func isThrottle(err error) bool {
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		return slices.ContainsFunc(canceled.CancellationReasons, func(r types.CancellationReason) bool {
			return r.Code != nil && slices.Contains(throttleCodes(), *r.Code)
		})
	}
	api, is := errors.AsType[smithy.APIError](err)
	return is && slices.Contains(throttleCodes(), api.ErrorCode())
}

func underwayCodes() []string {
	return []string{"TransactionInProgressException", "InternalServerError", "InternalServerErrorException", "InternalFailure", "ServiceUnavailable"}
}

// judge reads an error of a request. A failed condition becomes a *refusal; a
// condition that failed beside a conflict is final as well, for what it saw is
// there.
func judge(err error) (verdict, error) {
	if canceled, is := errors.AsType[*types.TransactionCanceledException](err); is {
		return judgeReasons(canceled, err)
	}
	if failed, is := errors.AsType[*types.ConditionalCheckFailedException](err); is {
		return final, &refusal{reasons: []reason{{failed: true, old: orNil(failed.Item)}}}
	}
	if api, is := errors.AsType[smithy.APIError](err); is {
		switch code := api.ErrorCode(); {
		case slices.Contains(undoneCodes(), code):
			return undone, err
		case slices.Contains(underwayCodes(), code) || httpStatus(err) >= http.StatusInternalServerError:
			return underway, err
		default:
			return final, err
		}
	}
	// What never left the process is no fault of the network.
	_, invalid := errors.AsType[*smithy.InvalidParamsError](err)
	_, unwritable := errors.AsType[*smithy.SerializationError](err)
	if invalid || unwritable {
		return final, err
	}
	return unknown, err
}

func judgeReasons(canceled *types.TransactionCanceledException, err error) (verdict, error) {
	r := &refusal{reasons: make([]reason, len(canceled.CancellationReasons))}
	failed, again := false, false
	for i, one := range canceled.CancellationReasons {
		code := codeNone
		if one.Code != nil {
			code = *one.Code
		}
		switch {
		case code == codeConditionFailed:
			failed = true
			r.reasons[i] = reason{failed: true, old: orNil(one.Item)}
		case code == codeNone || code == "":
		case slices.Contains(undoneCodes(), code):
			again = true
		default:
			return final, err // ValidationError and what we do not know: nobody's turn to try again
		}
	}
	switch {
	case failed:
		return final, r
	case again:
		return undone, err
	default:
		return final, err
	}
}

// orNil: an old item that is empty is none.
func orNil(it item) item {
	if len(it) == 0 {
		return nil
	}
	return it
}

func httpStatus(err error) int {
	if r, is := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); is {
		return r.HTTPStatusCode()
	}
	return 0
}

// ended tells the caller's own end from a request that took too long.
func ended(ctx context.Context, err error) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ctx.Err(), err)
}
