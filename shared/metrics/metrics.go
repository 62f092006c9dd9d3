// Package metrics declares the numbers that this product reports of itself, and
// writes them into the log in CloudWatch's embedded metric format: a line of JSON
// that a person reads as a log line and CloudWatch as metrics.
//
// Their names are declared once, in the table of [All]. They have one dimension,
// the deployment: no tenant, no agent and no task is ever one. What a number is
// about stands beside it in the line, and in package health.
package metrics

import "slices"

// Name is the name of a metric.
type Name string

// Unit is a CloudWatch unit.
type Unit string

// Units.
const (
	Count   Unit = "Count"
	Seconds Unit = "Seconds"
)

// Metric is what is known of one.
type Metric struct {
	Name Name
	Unit Unit
	// Gauge is a number that stands until it is measured again, and is measured over and
	// over while it is of interest; any other counts what happened, when it happens.
	Gauge bool
}

// Names. Package health says what each is about.
const (
	ConflictingContent Name = "ConflictingContent"
	PostTerminal       Name = "PostTerminal"
	IllegalTransition  Name = "IllegalTransition"
	// OtherRejections counts what was refused, and is remembered, for any other reason.
	OtherRejections   Name = "OtherRejections"
	TasksPastDue      Name = "TasksPastDue"
	PausesPastDue     Name = "PausesPastDue"
	UnknownVersions   Name = "UnknownVersions"
	EffectsInDoubt    Name = "EffectsInDoubt"
	OldestUndelivered Name = "OldestUndelivered"
	DeliveriesGivenUp Name = "DeliveriesGivenUp"
	StreamAge         Name = "StreamAge"
	UnreadableRecords Name = "UnreadableRecords"
	ExecutionFailures Name = "ExecutionFailures"
	// TasksFailed counts executions that fail because their task did: those of AWS's
	// count that are not among them failed for a reason of their own.
	TasksFailed  Name = "TasksFailed"
	Throttled    Name = "Throttled"
	Faults       Name = "Faults"
	PurgesBehind Name = "PurgesBehind"
	Sweeps       Name = "Sweeps"
)

var table = []Metric{
	{ConflictingContent, Count, false},
	{PostTerminal, Count, false},
	{IllegalTransition, Count, false},
	{OtherRejections, Count, false},
	{TasksPastDue, Count, true},
	{PausesPastDue, Count, true},
	{UnknownVersions, Count, true},
	{EffectsInDoubt, Count, true},
	{OldestUndelivered, Seconds, true},
	{DeliveriesGivenUp, Count, false},
	{StreamAge, Seconds, true},
	{UnreadableRecords, Count, false},
	{ExecutionFailures, Count, false},
	{TasksFailed, Count, false},
	{Throttled, Count, false},
	{Faults, Count, false},
	{PurgesBehind, Count, true},
	{Sweeps, Count, false},
}

// All are the metrics that there are.
func All() []Metric { return slices.Clone(table) }

// Of finds a metric by its name.
func Of(n Name) (Metric, bool) {
	i := slices.IndexFunc(table, func(m Metric) bool { return m.Name == n })
	if i < 0 {
		return Metric{}, false
	}
	return table[i], true
}
