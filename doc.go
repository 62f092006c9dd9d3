// Package holdfast is the root of a tree of packages; it holds no code itself.
//
// Holdfast puts an agent on the A2A 1.0 protocol so that its tasks survive dropped
// connections, dead processes and pauses of days, and so that no disorder does again
// what was committed. The ledger is the only source of truth about a task: whatever
// was committed survives, whatever was not is done again.
//
// Where to start:
//
//   - shared/agent, to write an agent, and shared/agent/agenttest, to test it;
//   - shared/catalog, for agents to copy from;
//   - shared/lifecycle, for the rules of a task;
//   - shared/ledger, for the port behind which tasks are kept;
//   - local, for the program that runs everything in one process.
//
// The tests of this package keep the tree as ARCHITECTURE.md promises it, the import table
// (testdata/tidy/imports.txt) first of all.
package holdfast
