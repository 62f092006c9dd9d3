package playground

import "time"

const (
	// maxWords bounds what is planned.
	maxWords = 1000
	// maxPlanBytes bounds a request that plans.
	maxPlanBytes = 16 << 10
	// maxReceived is how many requests are remembered.
	maxReceived = 200
	// maxBodyBytes is how much of a request that is to fail is read, so that its sender
	// is seen to go away.
	maxBodyBytes = 4 << 20
	// maxRetryAfter is the longest that a word may ask for.
	maxRetryAfter = 7 * 24 * time.Hour
)
