// Package systems is the small HTTP server that stands for the systems under an
// access review. It lists their grants, revokes them, counts what it was asked
// and what it did, and can be told to fail, to delay, to hold an answer back,
// or to act and not answer.
//
// It takes its systems from a CSV file in the format of
// events/accessreview/README.md:
//
//	server, err := systems.New(events.AccessReviewCSV)
//	…
//	http.ListenAndServe("127.0.0.1:8090", server)
//
// # The systems
//
//	GET  /systems                        {"systems":[{"name","owner","grants":n}…]}, in file order
//	GET  /systems/{system}/grants        {"system","owner","grants":[{"account","person","status","role",
//	                                     "entitledRole","grantedOn","lastUsedOn"}…]}
//	POST /systems/{system}/revocations   {"account","role"} → {"revocation","applied"}
//	GET  /systems/{system}/revocations?key=…   the same answer, looked up by its Idempotency-Key
//
// A revocation needs the header Idempotency-Key. The first request with a key
// applies; the same request again gets the same answer, is counted as a repeat
// and applies nothing; another request under that key is a conflict (409). Keys
// are one space over all systems. A grant that is revoked under a second key is
// applied a second time: that is how a duplicate shows. Neither the system nor
// the grant need be in the file, and a revocation does not change what
// /grants lists, so that a review can be run again.
//
// # The counters
//
//	GET /counters   {"fetches":{"payroll":1…},"revocations":{"payroll/jdoe/admin":{"applied":1,"repeats":0}…},
//	                "totals":{"fetches","revokes","applied","repeats","conflicts","faults"},"held":["fetch payroll"…]}
//
// Fetches and revokes count arrivals: a request that a fault fails, drops or
// holds is counted like any other. Applied, repeats and conflicts count
// outcomes. Faults counts the requests that a rule met. A request refused as
// malformed, or for the grants of an unknown system, counts nowhere.
//
// # The faults
//
//	POST   /faults    a list of rules, added to those there are → {"rules":n}
//	DELETE /faults    forgets all rules; what is held stays held
//	POST   /release   lets all held requests go on → {"released":n}
//
// A rule is {"op","system","nth","times","do","millis"}:
//
//	op      "fetch" (a system's grants) or "revoke"
//	system  a name, or "*" for all
//	nth     counts the requests that fit op and system, from the rule's arrival on, 1 being the first; 0: every one
//	times   how many requests from the nth on; 0: one, or without end when nth is 0
//	do      "error"         answers 503, not done
//	        "drop"          closes the connection, not done
//	        "act-and-drop"  does it, then closes the connection without an answer
//	        "delay"         waits for millis, then does it and answers
//	        "hold"          waits until released, then does it and answers
//
// Repeats of a request count for nth like any other. When several rules meet a
// request the first one acts. A delayed or held request whose client is gone
// still acts in the end, like a call that is late on the wire; its answer goes
// nowhere.
//
// Every answer closes its connection: a client that sends on a used connection
// may repeat a request by itself when that connection breaks (Go's does for GET
// and for Idempotency-Key), which would hide faults from the caller and distort
// the counters.
//
// Errors are {"error":{"code","message"}}. State is in memory only.
package systems
