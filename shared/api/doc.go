// Package api is the door: an http.Handler that speaks A2A 1.0 to callers and
// commands to the ledger. It is one process's share of the protocol and keeps
// nothing between two requests; any number of doors may stand before one ledger.
//
// A request is read strictly, turned into a command, decided and committed by
// [ledger.Authority], and only then are others told ([Executions]) and the caller
// answered. What a caller sees, in an answer or on a stream, was read from the
// ledger (I4). A caller that goes away takes nothing with it: commits have a
// context of their own (A2A §3.5.2).
//
// Both bindings, JSON-RPC (§9) at /rpc and HTTP+JSON (§11) beside it, are frames
// around the same operations, and one ordered table gives each error its code in
// both (fault.go). The default agent is at /, every agent at /{agent}/ as well;
// A2A's tenant, in the path or as a parameter, is the same selector. Whose data a
// request concerns follows from its principal alone (I10).
//
// Where the specification leaves a choice, or we deviate:
//
//   - A blocking SendMessage (§3.2.2) waits for a bounded time and then answers
//     with the task as it is, which may be working. The task goes on.
//   - A stream ends when the task is terminal or input-required (§11.7), stays on
//     auth-required (§7.6.1), and is cut cleanly before the platform would cut it.
//     Every update has its sequence as SSE id; Last-Event-ID, or "after" in the
//     extension's metadata, resumes behind it.
//   - An error that precedes a stream is a plain JSON answer, never an event.
//   - JSON-RPC errors come with HTTP status 200, save those that say that the
//     request was not read at all: 401, 403, 405, 413, 415.
//   - A JSON-RPC request without an id is answered with id null; batches are refused.
//   - HTTP+JSON answers are application/a2a+json, unless the request's Accept
//     header does not admit it: then application/json.
//   - Request bodies are application/json or application/a2a+json, or unlabelled.
//   - Integers are JSON numbers: "10" is not 10. null is the same as absent (§5.7).
//   - Requests that a browser makes for another site are refused, for on loopback
//     nobody is authenticated.
//   - An authorization receipt that comes with a message, in the extension's metadata,
//     is taken out of it before anything is digested or stored (I9).
//   - A duplicate cancellation returns the canceled task (§3.1.5, §3.3.1).
package api
