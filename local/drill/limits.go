package main

import "time"

const (
	// buildTime bounds the build: minutes where nothing was compiled before.
	buildTime = 10 * time.Minute
	// playTime bounds everything after it; it takes about a minute.
	playTime = 8 * time.Minute
	// waitTime bounds one wait for a condition, so that a failure says which it was.
	waitTime = 60 * time.Second
	// requestTime bounds one request; a cancellation waits for the worker the longest.
	requestTime = 40 * time.Second
	// endTime is how long a child may take to die of SIGKILL.
	endTime = 5 * time.Second
	// lookEvery is how often a condition is looked at.
	lookEvery = 10 * time.Millisecond
	// maxAnswerBytes bounds an answer or a frame.
	maxAnswerBytes = 16 << 20
	// lanes is how many tasks are played at once where there are many.
	lanes = 8
	// firstPort and portCount are where the processes listen: below the ports that
	// systems give to outgoing connections, one of which could take the address while
	// the product is down.
	firstPort = 4680
	portCount = 10
)

// The product's timing: a short lease, so that a lost one shows soon.
var timing = []string{"--lease", "3s", "--renewal", "1s", "--grace", "3s", "--sweep", "1s"}

// The figures of the acts.
const (
	shuffles       = 200
	maxRounds      = 200 // through the bag; the next letter is in it each time
	chunksEach     = 24  // of each of two producers
	turnChunks     = 2   // that a producer reports at once before it lets the other one in
	pipelines      = 200
	conflicting    = 12 // senders of one event with different bytes
	cancelRounds   = 500
	leastShare     = 10 // percent of the rounds that each outcome must have
	questionExpiry = 1  // seconds
	grantCount     = 14 // that the shipped access review revokes
)

// effectKills are the revocations after which the product is killed.
var effectKills = []int{1, 8}
