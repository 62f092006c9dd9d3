package stepfn

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
	"github.com/aws/aws-sdk-go-v2/service/sfn/types"
)

const (
	// maxAttempts and maxBackoff ride out the emptying of a token bucket (300
	// starts a second are refilled, Service quotas) and end well within the time of a
	// commit: whoever is not told now is told by the sweep.
	maxAttempts = 6
	maxBackoff  = 2 * time.Second
)

// NewClient makes a client whose retries are ours: throttling and broken
// connections are tried again after a random, growing delay, and nothing else.
// Both calls may be repeated, so one whose answer was lost is safe to try again.
func NewClient(config aws.Config, options ...func(*sfn.Options)) *sfn.Client {
	ours := func(o *sfn.Options) {
		o.Retryer = retry.NewStandard(func(s *retry.StandardOptions) {
			s.MaxAttempts = maxAttempts
			s.MaxBackoff = maxBackoff
			s.Backoff = retry.NewExponentialJitterBackoff(maxBackoff)
			// The SDK knows Step Functions' own throttling, not that of the key behind it.
			throttledKey := (*types.KmsThrottlingException)(nil).ErrorCode()
			s.Retryables = append(s.Retryables, retry.RetryableErrorCode{Codes: map[string]struct{}{throttledKey: {}}})
		})
	}
	return sfn.NewFromConfig(config, append([]func(*sfn.Options){ours}, options...)...)
}
