package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func TestJudge(t *testing.T) {
	old := item{"op": text("theirs")}
	for _, c := range []struct {
		name   string
		err    error
		want   verdict
		failed []bool // of the refusal's reasons; none: no refusal
	}{
		{"a failed condition", conditionFailed(old), final, []bool{true}},
		{"one of a transaction", canceled(nothing(), because("ConditionalCheckFailed", old)), final, []bool{false, true}},
		{"a failed condition beside a conflict", canceled(because("TransactionConflict", nil), because("ConditionalCheckFailed", nil)), final, []bool{false, true}},
		{"a failed condition beside throttling", canceled(because("ConditionalCheckFailed", nil), because("ThrottlingError", nil)), final, []bool{true, false}},
		{"a conflict", canceled(nothing(), because("TransactionConflict", nil)), undone, nil},
		{"conflict and throttling", canceled(because("ProvisionedThroughputExceeded", nil), because("TransactionConflict", nil)), undone, nil},
		{"a transaction in the way of an update", coded(400, "TransactionConflictException"), undone, nil},
		{"throttling", coded(400, "ThrottlingException"), undone, nil},
		{"throughput", coded(400, "ProvisionedThroughputExceededException"), undone, nil},
		{"an account's limit", coded(400, "RequestLimitExceeded"), undone, nil},
		{"a transaction in progress", wrapped(400, &types.TransactionInProgressException{}), underway, nil},
		{"an internal error", wrapped(500, &types.InternalServerError{}), underway, nil},
		{"an unknown error of the service", coded(503, "Whatever"), underway, nil},
		{"an item that is not valid", canceled(because("ValidationError", nil), because("TransactionConflict", nil)), final, nil},
		{"an item collection that is full", canceled(because("ItemCollectionSizeLimitExceeded", nil)), final, nil},
		{"a request that is not valid", coded(400, "ValidationException"), final, nil},
		{"no table", wrapped(400, &types.ResourceNotFoundException{}), final, nil},
		{"no permission", coded(400, "AccessDeniedException"), final, nil},
		{"another request under the token", wrapped(400, &types.IdempotentParameterMismatchException{}), final, nil},
		{"a broken connection", broken(), unknown, nil},
		{"a time-out", &smithy.OperationError{Err: &smithy.CanceledError{Err: context.DeadlineExceeded}}, unknown, nil},
		{"an answer that cannot be read", &smithy.DeserializationError{Err: errors.New("unexpected end")}, unknown, nil},
		{"a request that was never sent", &smithy.OperationError{Err: &smithy.SerializationError{Err: errors.New("no such value")}}, final, nil},
		{"a parameter that is missing", &smithy.OperationError{Err: &smithy.InvalidParamsError{}}, final, nil},
	} {
		got, err := judge(c.err)
		var failed []bool
		if r, is := errors.AsType[*refusal](err); is {
			for _, one := range r.reasons {
				failed = append(failed, one.failed)
			}
		} else if !errors.Is(err, c.err) {
			t.Errorf("%s: the cause is lost: %v", c.name, err)
		}
		if got != c.want || !slices.Equal(failed, c.failed) {
			t.Errorf("%s is judged %d, failed %v; want %d, %v", c.name, got, failed, c.want, c.failed)
		}
	}
}

// TestWrites: what a write does about faults, by its requests (case 69).
func TestWrites(t *testing.T) {
	ok := answer{}
	conflict, progress := answer{err: canceled(because("TransactionConflict", nil))}, answer{err: wrapped(400, &types.TransactionInProgressException{})}
	internal, lost, refused := answer{err: coded(500, "InternalServerError")}, answer{err: broken()}, answer{err: canceled(because("ConditionalCheckFailed", nil))}
	for _, c := range []struct {
		name    string
		answers []answer
		check   func(error) bool
		tokens  int // different ones
	}{
		{"success", []answer{ok}, isNil, 1},
		{"conflicts, then success", []answer{conflict, conflict, ok}, isNil, 3},
		{"an unknown outcome is asked for under the same token", []answer{internal, progress, ok}, isNil, 1},
		{"a failed condition is final", []answer{refused}, isRefused, 1},
		{"a conflict, then a failed condition", []answer{conflict, refused}, isRefused, 2},
		{"a broken connection is the caller's to ask about", []answer{lost}, isUnavailable, 1},
		{"not valid", []answer{{err: coded(400, "ValidationException")}}, isPlain, 1},
		{"conflicts without end", slices.Repeat([]answer{conflict}, defaultRetry().Tries), isUnavailable, defaultRetry().Tries},
	} {
		synctest.Test(t, func(t *testing.T) {
			l, s := played(t, c.answers...)
			start := time.Now()
			err := l.transact(t.Context(), &transaction{})
			if !c.check(err) || len(s.answers) > 0 {
				t.Errorf("%s: error %v, %d answers left", c.name, err, len(s.answers))
			}
			slices.Sort(s.tokens)
			if got := len(slices.Compact(slices.Clone(s.tokens))); got != c.tokens {
				t.Errorf("%s: %d different tokens, want %d", c.name, got, c.tokens)
			}
			for _, token := range s.tokens {
				if token == "" || len(token) > 36 {
					t.Errorf("%s: token %q, DynamoDB takes 1 to 36 bytes", c.name, token)
				}
			}
			if took := time.Since(start); took > defaultRetry().Total {
				t.Errorf("%s took %s", c.name, took)
			}
		})
	}
}

func isNil(err error) bool         { return err == nil }
func isUnavailable(err error) bool { return errors.Is(err, ledger.ErrUnavailable) }
func isRefused(err error) bool {
	_, is := errors.AsType[*refusal](err)
	return is
}
func isPlain(err error) bool { return err != nil && !isUnavailable(err) && !isRefused(err) }

// TestReads: a read may be made again whatever happened.
func TestReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, s := played(t, answer{err: broken()}, answer{err: coded(500, "InternalServerError")}, answer{err: coded(400, "ThrottlingException")}, answer{})
		if _, err := l.Head(t.Context(), lifecycle.Ref{Tenant: "t", Task: "1"}); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("error %v, want not found", err)
		}
		s.want("GetItem", "GetItem", "GetItem", "GetItem")
	})
	synctest.Test(t, func(t *testing.T) {
		l, s := played(t, slices.Repeat([]answer{{err: broken()}}, defaultRetry().Tries)...)
		if _, err := l.Head(t.Context(), lifecycle.Ref{Tenant: "t", Task: "1"}); !isUnavailable(err) || len(s.answers) > 0 {
			t.Errorf("error %v after %d requests", err, len(s.asked))
		}
	})
}

// TestCallerGone: the caller's own end is not taken for a fault of the table.
func TestCallerGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		l, _ := played(t, slices.Repeat([]answer{{err: coded(400, "ThrottlingException")}}, 100)...)
		_, err := l.Head(ctx, lifecycle.Ref{Tenant: "t", Task: "1"})
		if !errors.Is(err, context.DeadlineExceeded) || isUnavailable(err) {
			t.Errorf("error %v, want the caller's deadline", err)
		}
	})
}

// TestAttemptBounded: a request that hangs is given up, and its outcome is
// unknown.
func TestAttemptBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := played(t)
		start := time.Now()
		_, err := write(t.Context(), l, func(ctx context.Context, _ string) (int, error) {
			<-ctx.Done()
			return 0, &smithy.OperationError{Err: &smithy.CanceledError{Err: ctx.Err()}}
		})
		if took := time.Since(start); !isUnavailable(err) || took != l.retry.Attempt {
			t.Errorf("error %v after %s", err, took)
		}
	})
}

func TestRetryLimits(t *testing.T) {
	r := defaultRetry()
	var got []string
	for tries := 1; tries <= 8; tries++ {
		got = append(got, r.limit(tries).String())
		for range 100 {
			if d := jitter(r.limit(tries)); d <= 0 || d > r.limit(tries) {
				t.Errorf("a rest of %s after %d tries", d, tries)
			}
		}
	}
	if want := "[25ms 50ms 100ms 200ms 400ms 800ms 1s 1s]"; fmt.Sprint(got) != want {
		t.Errorf("rests of at most %v, want %s", got, want)
	}
	if r.limit(1<<20) != r.Longest {
		t.Error("the rest grows without end")
	}
	if o := (Retry{Tries: 3}).withDefaults(); o.Tries != 3 || o.Total != r.Total {
		t.Errorf("%+v", o)
	}
	if httpStatus(coded(http.StatusTeapot, "x")) != http.StatusTeapot || httpStatus(errors.New("x")) != 0 {
		t.Error("the status of an answer is not read")
	}
}

// Throttling is told of once for each request that was refused, whatever it is a part
// of; what else fails is not.
func TestThrottlingIsTold(t *testing.T) {
	throttled := []error{
		coded(400, "ThrottlingException"), coded(400, "ProvisionedThroughputExceededException"), coded(400, "RequestLimitExceeded"),
		canceled(nothing(), because("ThrottlingError", nil)), canceled(because("ProvisionedThroughputExceeded", nil)),
	}
	others := []error{
		conditionFailed(nil), canceled(because("TransactionConflict", nil)), coded(500, "InternalServerError"), broken(), canceled(because("ConditionalCheckFailed", nil)),
	}
	for _, err := range append(slices.Clone(throttled), others...) {
		synctest.Test(t, func(t *testing.T) {
			told := 0
			s := &script{t: t, answers: []answer{{err: err}, {err: err}, {}}}
			l := New(s, Names{Tasks: "tasks", Private: "private"}, Options{Throttled: func(context.Context) { told++ }})
			_ = l.Note(t.Context(), lifecycle.Ref{}, "kind", time.Now(), time.Hour, 1)
			want := 0
			if slices.Contains(throttled, err) {
				want = 2
			}
			if told != want {
				t.Errorf("%v: told %d times, want %d", err, told, want)
			}
		})
	}
}
