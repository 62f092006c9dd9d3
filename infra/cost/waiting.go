package main

import (
	"fmt"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/api"
)

// How long somebody waits for a task, and how often a caller without a stream asks.
const (
	waitTime = 5 * time.Minute
	askEvery = 2 * time.Second
)

// smallMemory is for comparison: the least that Lambda has.
const smallMemory = 128

// wait is a way to wait for a task, and what a million such waits cost while nothing happens to it.
type wait struct {
	name                          string
	requests, reads, gbs, dollars float64
}

// waits are a model over the ledger's own schedule and the reads that were counted for one GetTask.
func waits(asking spent) []wait {
	once := asking.Reads / float64(max(asking.Times, 1))
	stream := func(memory float64) wait {
		return wait{name: fmt.Sprintf("a stream of %s, %g MiB", brief(waitTime), memory), requests: 1, reads: once + float64(dynamo.Looks(waitTime)), gbs: gbSeconds(memory, waitTime)}
	}
	asked := float64(waitTime / askEvery)
	out := []wait{
		stream(memoryAPI), stream(smallMemory),
		{name: fmt.Sprintf("GetTask every %s for %s", brief(askEvery), brief(waitTime)), requests: asked, reads: asked * once, gbs: asked * gbSeconds(memoryAPI, ownTime+2*dynamoTime)},
		{name: fmt.Sprintf("a blocking send of %s", brief(api.DefaultWaitBudget)), requests: 1, reads: float64(dynamo.Looks(api.DefaultWaitBudget)) + once, gbs: gbSeconds(memoryAPI, api.DefaultWaitBudget)},
	}
	for i, w := range out {
		out[i].dollars = w.requests*(perRequest+perInvocation) + w.reads*perReadUnit + w.gbs*perGBSecond
	}
	return out
}

// brief writes whole minutes and seconds.
func brief(d time.Duration) string {
	if d%time.Minute == 0 {
		return fmt.Sprintf("%d min", d/time.Minute)
	}
	return fmt.Sprintf("%d s", d/time.Second)
}
