package dynamo

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	randv2 "math/rand/v2"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Retry bounds how a request is tried again. Failed conditions never are.
type Retry struct {
	// Tries is how often in all.
	Tries int
	// First is the longest rest before the second try. It doubles up to Longest, and
	// each rest is a random part of it (full jitter).
	First, Longest time.Duration
	// Attempt bounds one try, Total all of them. Transactions want at least 1 s and
	// 5 s (TransactWriteItems, API reference, TransactionInProgressException).
	Attempt, Total time.Duration
}

func defaultRetry() Retry {
	return Retry{Tries: 12, First: 25 * time.Millisecond, Longest: time.Second, Attempt: 4 * time.Second, Total: 15 * time.Second}
}

func (r Retry) withDefaults() Retry {
	d := defaultRetry()
	return Retry{
		Tries: cmp.Or(r.Tries, d.Tries), First: cmp.Or(r.First, d.First), Longest: cmp.Or(r.Longest, d.Longest),
		Attempt: cmp.Or(r.Attempt, d.Attempt), Total: cmp.Or(r.Total, d.Total),
	}
}

// limit is the longest rest after so many tries.
func (r Retry) limit(tries int) time.Duration {
	d := r.First
	for range tries - 1 {
		if d *= 2; d >= r.Longest {
			return r.Longest
		}
	}
	return min(d, r.Longest)
}

// write makes a request that changes something. It gives each try the token by
// which DynamoDB recognises a transaction that it has done already: the same one
// only while the outcome is open. *refusal: a condition failed. ErrUnavailable:
// the write may or may not have happened.
func write[T any](ctx context.Context, l *Ledger, do func(ctx context.Context, token string) (T, error)) (T, error) {
	return attempt(ctx, l, do, unknown)
}

// read makes a request that changes nothing, so a broken connection is tried
// again too.
func read[T any](ctx context.Context, l *Ledger, do func(ctx context.Context) (T, error)) (T, error) {
	return attempt(ctx, l, func(ctx context.Context, _ string) (T, error) { return do(ctx) }, final)
}

// attempt tries until there is an answer or a verdict that ends it.
func attempt[T any](ctx context.Context, l *Ledger, do func(ctx context.Context, token string) (T, error), ends verdict) (T, error) {
	var none T
	all, stop := context.WithTimeout(ctx, l.retry.Total)
	defer stop()
	token := rand.Text()
	for tries := 1; ; tries++ {
		out, err := once(all, l.retry.Attempt, token, do)
		if err == nil {
			return out, nil
		}
		if gone := ended(ctx, err); gone != nil {
			return none, gone
		}
		if l.throttled != nil && isThrottle(err) {
			l.throttled(ctx)
		}
		v, err := judge(err)
		switch {
		case v == final:
			return none, err
		case v == ends || tries == l.retry.Tries:
			return none, unavailable(err)
		case v == undone:
			token = rand.Text()
		}
		if rest(all, jitter(l.retry.limit(tries))) != nil {
			if gone := ended(ctx, err); gone != nil {
				return none, gone
			}
			return none, unavailable(err)
		}
	}
}

func once[T any](ctx context.Context, limit time.Duration, token string, do func(ctx context.Context, token string) (T, error)) (T, error) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	return do(ctx, token)
}

// jitter is a random part of a rest.
func jitter(d time.Duration) time.Duration { return randv2.N(d) + 1 }

func unavailable(err error) error {
	if errors.Is(err, ledger.ErrUnavailable) {
		return err
	}
	return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
}

// untried switches the SDK's own retries off: there is one policy, the one above.
func untried(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }
