// Command conformance holds the door against the A2A specification 1.0.1, twice.
//
//	conformance [check]   the table and its tests; with TCK_DIR (--kit) set, the kit too
//	conformance serve     the test agent, for whoever wants to run the kit by hand
//
// The table, testdata/musts.tsv, quotes every normative MUST of the chapters that
// bind a server and names the tests that prove it; check runs exactly those tests.
// With A2A_SPEC (--spec) set to the specification's docs/specification.md, every quote is
// looked up there, and every MUST of those chapters must be quoted, tables made of
// the proto included.
//
// The kit is a2aproject/a2a-tck, branch 1.0-dev, in the folder TCK_DIR. It runs
// against the test agent over both bindings. What it does not pass must be listed,
// with the reason, in testdata/deviations.tsv, and what is listed must happen: a
// row that no longer applies fails too.
package main
