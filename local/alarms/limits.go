package main

import "time"

const (
	// playTime bounds everything after them; it takes less than a minute.
	playTime = 6 * time.Minute
	// waitTime bounds one wait for a condition, so that a failure says which it was.
	waitTime = 60 * time.Second
	// requestTime bounds one request.
	requestTime = 20 * time.Second
	// commandTime bounds one command of the runbook.
	commandTime = 30 * time.Second
	// lookEvery is how often a condition is looked at.
	lookEvery = 50 * time.Millisecond
	// maxAnswerBytes bounds an answer.
	maxAnswerBytes = 4 << 20
)

// What is late, and how long a light shows what is over: short, so that both are seen.
const (
	late   = "2s"
	window = "4s"
)

// The numbers at which lights are red, as the runbook's alarms have them.
const (
	lateReports      = 10
	illegalMoves     = 5
	failedExecutions = 5
	faults           = 5
	throttledFrom    = 10
)

// rungs are more attempts than a delivery has; between two of them the clock is set
// ahead by more than any pause.
const (
	rungs = 14
	rung  = 25 * time.Hour
)
