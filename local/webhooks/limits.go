package main

import "time"

const (
	// installTime bounds what is installed: minutes where nothing was before.
	installTime = 10 * time.Minute
	// playTime bounds everything after it; it takes less than a minute, on a machine that
	// has time.
	playTime = 8 * time.Minute
	// waitTime bounds one wait for a condition, so that a failure says which it was. An
	// attempt that hangs takes 15 s, and the next one comes up to 5 s later.
	waitTime = 60 * time.Second
	// requestTime bounds one request.
	requestTime = 30 * time.Second
	// lookEvery is how often a condition is looked at.
	lookEvery = 20 * time.Millisecond
	// maxBodyBytes bounds a webhook, or an answer to one.
	maxBodyBytes = 4 << 20
	// keepOpen is how many connections to a product are kept.
	keepOpen = 64
)

// The product's timing: a short grace, so that what nobody tells it shows soon.
var timing = []string{"--lease", "3s", "--renewal", "1s", "--grace", "1s", "--sweep", "500ms"}

// The figures of the acts.
const (
	hangsAtLeast   = 14 * time.Second      // until the product gives an attempt up
	retryAfter     = 3 * time.Second       // that a receiver asks for
	slowUpdate     = 3 * time.Second       // that a receiver takes for one update
	killRounds     = 4                     // of each of the consumers' receivers
	liveTasks      = 8                     // that each of them is fed by the product
	forgedRequests = 50                    // that must not make a receiver call for keys each time
	slowReceiver   = 5 * time.Second       // of the load's slow one, for each update
	keepsUp        = 25 * time.Millisecond // the median, on a machine that has time
	ratioBound     = 2.0                   // of the healthy one's p99, with the others and alone
)

// token is what webhooks are configured with.
const token = "webhooks-0123456789"
