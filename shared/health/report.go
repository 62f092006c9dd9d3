package health

import (
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
)

// Color is what a light shows.
type Color string

// Colors.
const (
	Green Color = "green"
	Amber Color = "amber" // look at it today
	Red   Color = "red"   // somebody waits, or something is broken: look at it now
)

// MaxTasks is how many tasks a light names.
const MaxTasks = 20

// Report is every light at an instant.
type Report struct {
	At     time.Time `json:"at"`
	Lights []Light   `json:"lights"` // one for each of Invariants that was asked for, in that order

	unread []ledger.Unread // for those who look at everybody's
}

// Worst is the report in one color.
func (r Report) Worst() Color {
	worst := Green
	for _, l := range r.Lights {
		if l.Light == Red {
			return Red
		}
		if l.Light == Amber {
			worst = Amber
		}
	}
	return worst
}

// Light is one invariant, and what breaks it.
type Light struct {
	Invariant ID     `json:"invariant"`
	Rule      string `json:"rule,omitempty"`
	Name      string `json:"name"`
	Means     string `json:"means"`
	Light     Color  `json:"light"`
	// Value is the metric's number, in its unit, from Amber and Red on with that color.
	Value float64      `json:"value"`
	Unit  metrics.Unit `json:"unit"`
	// Count is how many tasks break it.
	Count int `json:"count"`
	// Oldest is since when one of them has; zero when none does.
	Oldest time.Time `json:"oldest,omitzero"`
	// Tasks are some of them, those that have for longest.
	Tasks []Task `json:"tasks,omitempty"`
	// Unread is how many findings, or tasks that they lead to, cannot be read: the light is
	// amber at least, for nobody knows.
	Unread int `json:"unread,omitempty"`
	// More: there is more than was looked at, so Value and Count are at least so much.
	More    bool   `json:"more,omitempty"`
	Metric  string `json:"metric"`
	Runbook string `json:"runbook"`
}

// Task is a task that breaks an invariant.
type Task struct {
	ref lifecycle.Ref // whose it is, for those who look at everybody's

	Task         a2a.TaskID    `json:"task"`
	Agent        string        `json:"agent,omitempty"`
	AgentVersion int           `json:"agentVersion,omitempty"`
	State        a2a.TaskState `json:"state,omitempty"`
	// Since is when it began, Last when it last happened.
	Since time.Time `json:"since,omitzero"`
	Last  time.Time `json:"last,omitzero"`
	Count int       `json:"count,omitempty"` // times, of an event
}
