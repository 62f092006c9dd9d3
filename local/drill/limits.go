package main

import "time"

const (
	// playTime bounds everything after the build; it takes about a minute.
	playTime = 8 * time.Minute
	// waitTime bounds one wait for a condition, so that a failure says which it was.
	waitTime = 60 * time.Second
	// lanes is how many tasks are played at once where there are many.
	lanes = 8
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
	conflicting    = 12 // senders of different bytes to one coordinate
	cancelRounds   = 500
	leastShare     = 10 // percent of the rounds that each outcome must have
	questionExpiry = 1  // seconds
	grantCount     = 14 // that the shipped access review revokes
)

// effectKills are the revocations after which the product is killed.
var effectKills = []int{1, 8}
