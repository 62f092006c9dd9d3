// Package ledgertest is what every ledger must pass, and what tests use in place
// of one.
//
// [Run] and [RunBlobs] are the conformance suites: everything that the doc
// comments of package ledger promise, the races included. An adapter calls them
// with a function that opens an empty ledger:
//
//	func TestLedger(t *testing.T) {
//		ledgertest.Run(t, func(t *testing.T) ledger.Ledger { return open(t) })
//	}
//
// The opened ledger may be shared with other tests: every test uses tenants of
// its own. Index and feed may lag; the suite waits for them, a bounded time.
//
// [Memory] is the model: maps under one mutex, nothing durable. [Faults] makes
// any ledger misbehave by plan, and [Crash] lets a process die at its N-th call.
// [Reordered] is a ledger with a feed as untidy as a real one.
//
// Test names cite the invariants I1–I12 of ARCHITECTURE.md, and comments the
// reported cases behind them.
package ledgertest
