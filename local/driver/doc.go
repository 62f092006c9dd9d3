// Package driver is what the programs that try the product from outside have in
// common: they build it, start it as a process, kill it, speak HTTP to it, follow its
// streams, wait for conditions, and end with a line that says PASS or FAIL. It knows
// nothing of the product and imports nothing of this module, so that a program that
// uses it stays a black box: no error of the product's own parts can hide one of its
// server.
package driver

import "time"

const (
	// buildTime bounds a build: minutes where nothing was compiled before.
	buildTime = 10 * time.Minute
	// endTime is how long a process may take to die of SIGKILL.
	endTime = 5 * time.Second
	// stopTime is how long one may take to end of SIGTERM.
	stopTime = 10 * time.Second
	// requestTime bounds one request; a cancellation waits for the worker the longest.
	requestTime = 40 * time.Second
	// maxAnswerBytes bounds an answer or a frame.
	maxAnswerBytes = 16 << 20
	// firstPort and portCount are where processes listen: below the ports that systems
	// give to outgoing connections, one of which could take the address while the
	// process is down.
	firstPort, portCount = 20_000, 10_000
)
