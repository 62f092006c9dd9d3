package health

import (
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// ID names a watched invariant. It is also its anchor in the runbook.
type ID string

// What is watched.
const (
	ConflictingContent ID = "conflicting-content"
	PostTerminal       ID = "post-terminal"
	IllegalTransition  ID = "illegal-transition"
	TaskPastDue        ID = "task-past-due"
	PausePastDue       ID = "pause-past-due"
	UnknownVersion     ID = "unknown-version"
	EffectInDoubt      ID = "effect-in-doubt"
	Undelivered        ID = "undelivered"
	DeliveryGivenUp    ID = "delivery-given-up"
	StreamBehind       ID = "stream-behind"
	UnreadableRecord   ID = "unreadable-record"
	ExecutionFailed    ID = "execution-failed"
	Throttled          ID = "throttled"
	Faulty             ID = "faulty"
	PurgeBehind        ID = "purge-behind"
	SweepSilent        ID = "sweep-silent"
)

// Invariant is what is watched: a promise of ARCHITECTURE.md, or what promises rest
// on.
type Invariant struct {
	ID ID
	// Rule is the promise's number there; empty for what they rest on.
	Rule string
	Name string
	// Means is what it is when the light is not green, in one line.
	Means  string
	Metric metrics.Name
	// Amber and Red are from where on the light has that color, in the metric's unit; 0:
	// it does not have it by number.
	Amber, Red float64
	// Below: the light is red when the number is below Red, instead of from there on.
	Below bool
	// Patience is how long the light stays amber before it is red by time alone; 0: it
	// does not.
	Patience time.Duration
	// Event is a thing that happens, and is over: its light goes out by itself when it
	// has not happened for a while. Any other is a state, and stands until it is mended.
	Event bool
	// Deployment: it may be of the deployment as a whole, and then every tenant sees it.
	Deployment bool
}

// color says what the light shows.
func (i Invariant) color(value float64, oldest, now time.Time) Color {
	switch {
	case i.Below && value < i.Red, !i.Below && i.Red > 0 && value >= i.Red:
		return Red
	case i.Below || i.Amber == 0 || value < i.Amber:
		return Green
	case i.Patience > 0 && !oldest.IsZero() && now.Sub(oldest) >= i.Patience:
		return Red
	}
	return Amber
}

// Runbook is the file in which every invariant has a section, under a heading that is its ID.
const Runbook = "infra/RUNBOOK.md"

var watched = []Invariant{
	{ID: ConflictingContent, Rule: "I6", Name: "Conflicting content", Means: "One identity came with two contents: an event ID, a coordinate, or an effect's request or result. Nothing was changed.", Metric: metrics.ConflictingContent, Red: 1, Event: true},
	{ID: PostTerminal, Rule: "I2", Name: "Reports after the end", Means: "Somebody reports about tasks that have ended. Nothing was changed.", Metric: metrics.PostTerminal, Amber: 1, Red: 10, Event: true},
	{ID: IllegalTransition, Rule: "I1", Name: "Illegal transitions", Means: "A producer asks for moves that the transition table does not have. Nothing was changed.", Metric: metrics.IllegalTransition, Amber: 1, Red: 5, Event: true},
	{ID: TaskPastDue, Rule: "I8", Name: "Tasks past due without a lease", Means: "Tasks should be worked on, and nobody is: their users wait for nothing.", Metric: metrics.TasksPastDue, Red: 1},
	{ID: PausePastDue, Rule: "I8", Name: "Pauses past their deadline", Means: "Questions are still open after their deadline: their outcome was not committed.", Metric: metrics.PausesPastDue, Red: 1},
	{ID: UnknownVersion, Rule: "I8", Name: "Tasks of an unknown agent version", Means: "Tasks wait for an agent version that is not deployed.", Metric: metrics.UnknownVersions, Amber: 1, Patience: 15 * time.Minute},
	{ID: EffectInDoubt, Rule: "I7", Name: "Effects in doubt", Means: "Outside calls were begun, and nobody knows whether they were made: somebody must ask the other side.", Metric: metrics.EffectsInDoubt, Red: 1},
	{ID: Undelivered, Rule: "I11", Name: "Oldest undelivered update", Means: "A webhook does not take its updates; they are tried again.", Metric: metrics.OldestUndelivered, Amber: 60, Red: 900},
	{ID: DeliveryGivenUp, Rule: "I11", Name: "Deliveries given up", Means: "A webhook has not taken an update for three days, and is not called any more.", Metric: metrics.DeliveriesGivenUp, Red: 1},
	{ID: StreamBehind, Rule: "I11", Name: "Age of the change feed", Means: "What was committed reaches the webhooks late.", Metric: metrics.StreamAge, Amber: 60, Red: 300, Event: true, Deployment: true},
	{ID: UnreadableRecord, Rule: "I11", Name: "Unreadable records", Means: "Records of the change feed could not be read, and are given up.", Metric: metrics.UnreadableRecords, Red: 1, Event: true, Deployment: true},
	{ID: ExecutionFailed, Rule: "I8", Name: "Failures in executions", Means: "Executions meet faults of the infrastructure, and go on later.", Metric: metrics.ExecutionFailures, Amber: 1, Red: 5, Event: true},
	{ID: Throttled, Name: "Throttling", Means: "A service of AWS refuses requests because there are too many.", Metric: metrics.Throttled, Amber: 1, Red: 10, Event: true, Deployment: true},
	{ID: Faulty, Name: "Faults", Means: "Requests were answered with an error of ours.", Metric: metrics.Faults, Amber: 1, Red: 5, Event: true, Deployment: true},
	{ID: PurgeBehind, Rule: "I8", Name: "Purges behind", Means: "Tasks have expired, and are still there.", Metric: metrics.PurgesBehind, Red: 1},
	{ID: SweepSilent, Rule: "I8", Name: "Sweep", Means: "The sweep, which finds all of the above, does not run.", Metric: metrics.Sweeps, Red: 1, Below: true},
}

// Invariants are what is watched, in the order in which it is shown.
func Invariants() []Invariant { return slices.Clone(watched) }

// Of finds an invariant by its ID.
func Of(id ID) (Invariant, bool) {
	i := slices.IndexFunc(watched, func(v Invariant) bool { return v.ID == id })
	if i < 0 {
		return Invariant{}, false
	}
	return watched[i], true
}
