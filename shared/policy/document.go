package policy

import (
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Default is the policy of agents that name none.
const Default = "default@1"

// Document is a policy as its owner wrote it.
type Document struct {
	Name    string
	Version int
	Owner   string
	// Lease is how long a holder has a task without renewal; 0: as the deployment says.
	Lease        time.Duration
	LongestLife  time.Duration
	LongestPause time.Duration
	Retention    Retention
	// Effects are by name, or by how names begin, with a "*".
	Effects map[string]lifecycle.EffectTerms
	Billing lifecycle.Billing

	canonical []byte
	digest    lifecycle.Digest
}

// Retention is how long an ended task can be read.
type Retention struct {
	Completed, Failed, Canceled, Rejected time.Duration
	// AfterExport counts from an acknowledged export on, if that is sooner.
	AfterExport time.Duration
}

// ID is name@version, by which agents and tasks name the policy.
func (d Document) ID() string { return d.Name + "@" + strconv.Itoa(d.Version) }

// Digest is that of the canonical JSON (RFC 8785).
func (d Document) Digest() lifecycle.Digest { return d.digest }

// JSON is the document as canonical JSON.
func (d Document) JSON() json.RawMessage { return append(json.RawMessage(nil), d.canonical...) }

// Policy is what a task that is accepted under the document is judged by.
func (d Document) Policy() lifecycle.Policy {
	whole := func(span time.Duration) int64 { return int64(span / time.Second) }
	other := func(span time.Duration) int64 {
		if span == d.Retention.Completed {
			return 0 // as recorded for all
		}
		return whole(span)
	}
	t := &lifecycle.Terms{Digest: d.digest, Billing: d.Billing, Effects: maps.Clone(d.Effects), Seconds: lifecycle.Spans{
		Lease: whole(d.Lease), Pause: whole(d.LongestPause), Exported: whole(d.Retention.AfterExport),
		Failed: other(d.Retention.Failed), Canceled: other(d.Retention.Canceled), Rejected: other(d.Retention.Rejected),
	}}
	return lifecycle.Policy{Version: d.ID(), Life: d.LongestLife, Retention: d.Retention.Completed, Grace: lifecycle.DefaultGrace, Terms: t}
}

// Invalid is a field of a document that is not as it has to be.
type Invalid struct {
	Source  string // file or name
	Field   string // such as retentionSeconds.failed; empty: the document as a whole
	Problem string
}

// Error implements error.
func (e *Invalid) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("policy %s %s", e.Source, e.Problem)
	}
	return fmt.Sprintf("policy %s: %s %s", e.Source, e.Field, e.Problem)
}
