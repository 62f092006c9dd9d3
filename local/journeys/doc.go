// Package journeys holds the tests of whole journeys: from a message over HTTP to
// a finished task, through crashes, cuts and pauses. They run the real node, the
// real state machine and the real agents; only the network is in memory and, where
// a test says so, the time is fake.
package journeys
