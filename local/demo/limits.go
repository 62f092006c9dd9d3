package main

import "time"

const (
	// playTime bounds everything after the builds; it takes about ten seconds.
	playTime = 90 * time.Second
	// waitTime bounds one wait for a condition, so that a failure says which it was.
	waitTime = 30 * time.Second
)

// The product's timing: a short lease, so that a lost one shows soon.
var timing = []string{"--lease", "3s", "--renewal", "1s", "--grace", "3s", "--sweep", "1s"}

// The story's figures.
const (
	agentName      = "access-review"
	heldPlace      = 23 // of the systems in the order of the file, from 1
	systemCount    = 40
	grantCount     = 14        // to be revoked
	revokedBefore  = 9         // the network fails
	agentVersion   = 1         // of the first build, on which the task runs to its end
	currentVersion = 2         // of the next build
	stepThen       = "fetch"   // a step of that version
	stepNow        = "collect" // its name in the next build
	approval       = "approve all"
)
