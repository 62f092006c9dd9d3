// Package export writes a task's ledger as a file that somebody else can check
// without this product's servers, and reads such files.
//
// An export is NDJSON: one line, one JSON object with a kind and a member of that
// name. The kinds come in this order:
//
//	header     format, task, agent and version, policy, whose view it is, when, with which SDK
//	entry      each entry, in the envelope in which ledgers keep it
//	artifact   how far each artifact is: its line in the manifest
//	effect     the record of each outside call, with its evidence       (operators only)
//	rejection  each command that was refused, as far as they are kept   (operators only)
//	quarantine what came after a cancellation, by digest                (operators only)
//	act        what operators did about the task, and who did it        (operators only)
//	endpoint   each webhook and its attempts, without address or secret (operators only)
//	head       lease, fence, generation, pause, and for operators the counters
//	policy     the document that the task was accepted under, where it is at hand
//	settlement what the ended task came to                              (operators only)
//	trailer    how many lines there are of each kind, and a digest over all of them
//
// [Write] reads a head, writes the entries up to it, reads what is beside them, and
// reads the head again. When the task has moved meanwhile it writes the entries that
// came and looks once more, some times over; a task that still moves is exported up to
// an entry, and its head line says how far the ledger was by then. Two exports of a
// task that rests are equal but for the header's time, whichever ledger it is in.
//
// [Verify] tests the invariants on the file alone and names those that are broken, by
// number, with the line. [Replay] rebuilds the task, its head and its artifacts.
//
// What is not in an export: credentials of any kind, callback tokens, the secrets and
// addresses of webhooks, and the bytes in the blob store, which it names by digest.
//
// What a check cannot tell: nothing in an export is signed. Whoever recomputes the
// whole chain and the trailer has made another valid export. Hold the last sequence
// and digest against a receipt that was kept elsewhere: answers, streams and webhooks
// of the finished task carry them.
package export
