package webhook

import "time"

const (
	// Timeout bounds one attempt, from the name to the end of the answer (A2A 4.3.3
	// recommends 10 to 30 s).
	Timeout = 15 * time.Second
	// Lease is how long a sender has an endpoint to itself before it renews. It is
	// longer than an attempt: a request on the wire is always under a lease, so that no
	// two senders' requests overtake one another.
	Lease = 2 * Timeout
	// minBudget is the least time in which an attempt makes sense; the first one of a
	// call gets it in any case.
	minBudget = time.Second
	// CheckEvery is when an endpoint is first looked at if nobody does anything: a hint
	// was lost, a sender has died. One to which nothing happens is looked at after as
	// long again: a task may wait for days.
	CheckEvery = 5 * time.Minute
	// CheckMost is the longest that an endpoint is left alone.
	CheckMost = time.Hour
	// SlowAfter is how many failures in a row take an endpoint off the fast path.
	SlowAfter = 5
	// slowTime is how long an endpoint may have taken for its last update to be on it.
	slowTime = 2 * time.Second
	// slowFor is how long a receiver that was slow is taken for one, in a process that
	// hears nothing else of it.
	slowFor = 10 * time.Minute
	// maxReceivers bounds how many are remembered.
	maxReceivers = 10_000
	// MaxTurns is how often one execution calls its function. A turn is 9 events of its
	// history, and 3 more for each of at most 8 retries of a fault (Step Functions,
	// history events): together below the 25,000 at which it would be ended.
	MaxTurns = 500
	// troubleWait is for trouble of our own.
	troubleWait = 30 * time.Second
	// maxAnswerBytes is what is read of an answer, and dropped: enough for a receiver to
	// get rid of its sentence, too little to keep us busy.
	maxAnswerBytes = 64 << 10
	// maxAnswerHeaderBytes bounds the head of an answer.
	maxAnswerHeaderBytes = 32 << 10
	// pageSize is how many updates are read at a time; one is at most some 100 KB.
	pageSize = 32
	// maxRounds bounds how often a write is tried against others who write the same.
	maxRounds = 5
)

// Ladder is how long after its n-th failed attempt an update is tried again. After the
// last one it is given up. Together less than three days: the task is still there.
var Ladder = []time.Duration{
	5 * time.Second, time.Minute, 5 * time.Minute, 15 * time.Minute, time.Hour, 3 * time.Hour, 8 * time.Hour, 24 * time.Hour, 24 * time.Hour,
}

// maxWait is the longest that a receiver's Retry-After can make us wait.
const maxWait = 24 * time.Hour

// backoff is how long to wait after a number of failed attempts; false when there
// was the last. dice is from [0,1). asked is what the receiver asked for, 0 for nothing.
func backoff(attempts int, asked time.Duration, dice float64) (time.Duration, bool) {
	if attempts < 1 || attempts > len(Ladder) {
		return 0, false
	}
	half := Ladder[attempts-1] / 2
	if asked > 0 {
		// A little later, for it has asked everybody.
		asked = min(asked, maxWait)
		return min(max(asked, half)+time.Duration(dice*float64(asked)/10), maxWait), true
	}
	return half + time.Duration(dice*float64(half)), true
}
