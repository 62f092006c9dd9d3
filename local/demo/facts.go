package main

import (
	"fmt"
	"time"
)

// facts is what the driver found, for the checks.
type facts struct {
	systems []string // under review, in order
	held    string   // the system whose fetch was held at the first kill

	killed  page // the ledger just before the first kill
	paused  page // just before the second kill
	woken   page // after the restart, before the answer
	entries []entry
	head    head
	effects []effect
	final   task

	streams  [][]frame // by connection
	cursors  []cursor  // of each connection
	watched  []uint64  // the sequences that holdfast watch printed
	watchErr error     // how it ended
	told     []told    // what the webhook's receiver was told, in order

	counters counters

	versionBefore, versionAfter string // of the agent, on the card
	tasks                       int    // of the agent
	submitted                   []string
	answers                     []string // what came back for each answer

	toProgress time.Duration // from the restart after the first kill to a new entry
	toReady    time.Duration // from the restart after the second kill to the first request
	took       time.Duration
}

// cursor is where a stream was resumed.
type cursor struct {
	fresh bool // it was opened without one
	after uint64
}

// seen lists the ids of all streams, in the order in which they came. A fresh
// stream's first id is its snapshot's.
func (f facts) seen() []uint64 {
	var ids []uint64
	for _, frames := range f.streams {
		for _, one := range frames {
			if one.id > 0 && !one.task {
				ids = append(ids, one.id)
			}
		}
	}
	return ids
}

// summary is the figures of the last line.
func (f facts) summary() string {
	totals := f.counters.Totals
	return fmt.Sprintf("2 kills, %d systems fetched once and %s %d times, %d revocations applied once each with %d repeat recognised, "+
		"%d entries, fence %d, %d ids streamed once each over %d connections, %d webhooks, the last of them %s, task on version %d under %s, "+
		"restart to progress %d ms, restart to ready %d ms, %.1f s in all",
		len(f.systems)-1, f.held, f.counters.Fetches[f.held], totals.Applied, totals.Repeats,
		len(f.entries), f.head.Fence, len(f.seen()), len(f.streams), len(f.told), f.told[len(f.told)-1].state, f.head.AgentVersion, f.versionAfter,
		f.toProgress.Milliseconds(), f.toReady.Milliseconds(), f.took.Seconds())
}
