// Package webhook delivers the updates of tasks to the endpoints that callers have
// registered (A2A: push notifications).
//
// A delivery is at least once, in order for each task and endpoint, with an id that
// is the same on every attempt (I11). It reads what was committed and never changes
// a task. One endpoint's trouble is its own: an update that it does not take blocks
// the later ones of the same task at the same endpoint, and nothing else.
//
//   - [Sender.Hint] says that a task has a new entry. Lost, doubled or late hints do no
//     harm: a hint only raises how far an endpoint should be.
//   - [Sender.Send] delivers what an endpoint lacks, within a budget of time, and says
//     when somebody must go on.
//   - [Fast] makes the first attempts of many endpoints within one budget, and leaves to
//     executions what it does not bring about.
//   - [Execution] goes on with one endpoint: it waits, calls [Handler], and waits again.
//     Of two for the same endpoint the later one counts (its generation).
//   - [Sweeper] finds what nobody was told of, or died over.
//   - [Sender.Replay] lets an operator begin again, where a delivery was given up or
//     not.
//
// A request is on the wire under a lease alone, so that no two senders' requests overtake
// one another; a sender may find after a request that it has lost its lease, and then
// writes nothing. What is ours to mend (a ledger or keys that cannot be reached) is no
// attempt of the receiver's. Leases are by the wall clock: processes whose clocks differ
// by more than the rest of a lease, and a process that is frozen with a request half
// written, can still send an update while another does. It is the same update then, and
// its id tells. A change of an endpoint's address or secrets is heeded by the next call.
//
// Addresses come from strangers. [Guard] refuses those that are not public, when they
// are registered and again for every connection, when the name has become an address.
//
// A receiver that fails is tried again after 5 s, 1 m, 5 m, 15 m, 1 h, 3 h, 8 h, 24 h
// and 24 h, each shortened by up to half; then its delivery is given up, which shows in
// its state and is no end. An answer of 410 disables it at once. Retry-After is heeded
// on 429 and 503. A redirect is a failure.
//
// Every request carries:
//
//	Authorization              scheme and credentials, as configured
//	A2A-Notification-Token     the token, if there is one (also with X- before it)
//	webhook-id                 the same for every attempt of one update
//	webhook-timestamp          Unix seconds of this attempt
//	webhook-signature          Standard Webhooks, v1a (Ed25519), one for each key
//	Holdfast-Sequence          the update's place in its task: it only rises
//
// Not promised: that a receiver sees an update once, or that updates of two tasks, or
// at two endpoints, keep an order among them.
package webhook
