// Package lifecycle holds the rules of a durable A2A task, and nothing else.
//
// It is pure: no clock, no randomness, no context, no input or output. A caller
// hands in the task as it is, a command and the time, and gets back what
// happened:
//
//	decision, err := lifecycle.Decide(task, command, now)
//
// A nil error means that the command was accepted: the caller seals the
// decision's events into entries and commits them in one write. A *Rejection
// means that the command is not allowed now. A rejection may still come with
// events, which must be committed too: a reply that comes too late commits the
// expiry of its pause.
//
// The folded part of a task is a function of its entries alone:
//
//	task, err := lifecycle.Fold(ref, entries) // same state, sequence, chain, artifacts
//
// Leases, generations and the cancel mark are not entries. They live on the
// head, beside what was folded, and only Decide changes them.
//
// The invariants I1–I12 that this package upholds are listed in ARCHITECTURE.md;
// [Check] tests those that can be seen on one task.
package lifecycle
