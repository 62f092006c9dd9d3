// Package simulation runs the whole system in one process under fake time, and lets a
// seed decide everything that may go one way or another: who is called when, what is
// lost, late or done twice, who dies in the middle of what, how long anything takes.
//
// All calls between the parts (of the ledger, of the blob store, of the outside
// systems, of executions and between clients and servers) wait for their turn, and one
// of them has it at a time. So what a seed did once it does again: make sim SEED=n.
package simulation
