package main

import "maps"

// What AWS Lambda durable functions would cost for six steps with one pause, by the metering that AWS documents: a
// model, for nothing of it runs here. The door stays as it is, since callers speak A2A either way; what it shows and
// lists must then be kept in DynamoDB beside the execution.
const (
	modelOf    = "one pause" // the scenario
	modelTitle = "durable (model)"

	modelSteps  = 6
	modelPauses = 1
	// operations: the start is one, a step one, WaitForCallback three.
	operations = 1 + modelSteps*1 + modelPauses*3
	// operationBytes is what an operation writes, about; one that waits has two copies of its payload among its three.
	operationBytes = 1000.0
	// A day's wait, and the retention that an execution has unless told otherwise.
	waitDays      = 1.0
	retentionDays = 14.0
	// durableInvocations are one until the wait and one after it.
	durableInvocations = 2
	// projectionUnits are for a task's item with its index, at the start, at each step, and at both ends of the pause.
	projectionUnits = 21.0
)

// durable is what would be counted, had the counted task run on durable functions.
func durable(counted *tally) *tally {
	t := newTally()
	t.Operations = operations
	for a, s := range counted.Acts {
		s.Writes = 0
		t.Acts[a] = s
	}
	t.Acts[act{fnStep, "projection"}] = spent{Times: 1, Writes: projectionUnits}
	maps.Copy(t.Work, counted.Work)
	w := t.Work[fnStep]
	w.Invocations = durableInvocations
	t.Work[fnStep] = w
	return t
}

// withModel puts the model beside the scenarios.
func withModel(all []counted) []counted {
	out := append([]counted(nil), all...)
	for _, c := range all {
		if c.title == modelOf {
			out = append(out, counted{scenario{title: modelTitle}, durable(c.tally)})
		}
	}
	return out
}
