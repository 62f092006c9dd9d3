// Package simulation runs the whole system in one process under fake time, and lets a
// seed decide everything that may go one way or another: who is called when, what is
// lost, late or done twice, who dies in the middle of what, how long anything takes.
//
// All calls between the parts (of the ledger, of the blob store, of the outside
// systems, of executions and between clients and servers) wait for their turn, and one
// of them has it at a time. So what a seed did once it does again: make sim SEED=n.
//
// Real are the doors with authentication, the runner and its agents, the dispatcher, the
// sweeps, the state machines with their interpreter, webhooks, policies, purges, exports
// and their verification. A world is one node, two nodes on one ledger, or the functions
// of the cloud, each invocation a process of its own. In memory are the network, the
// outside systems, the receivers, and in most worlds the ledger: the model that its
// adapters are held against, or else the embedded one. Fake is the time.
//
// Callers submit, follow streams, answer, approve and cancel, early, late, twice and at
// the very moment of a commit; workers outside claim and report; operators export, have
// webhooks delivered again, replace keys, and at the console have tasks go on, settle
// what is in doubt, answer and cancel; new versions of agents and policies are deployed
// and taken back; clocks jump; the machine is suspended.
// In a second act retentions end, and what has expired is purged while others live on.
//
// Every write is looked at when it happens, everything that anybody is shown when he is
// shown it, and each task at its end: the fold, the verified export, what its agent was
// to do, what the outside systems were asked and how often, what webhooks were told, what
// operators are shown of trouble, and what the door has promised. A seed that fails is added to testdata/seeds.txt.
package simulation
