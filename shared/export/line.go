package export

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// Format is the version of the format that is written. Readers accept it and all
// earlier ones:
//
//	1  no lines of the kinds policy and settlement
//	2  both, where the task was accepted under a document and has ended
const Format = 2

// settled is the first format with settlements. Whoever changes the rules of package
// policy raises the format, and holds older settlements against the older rules.
const settled = 2

// SDK is the A2A SDK whose nouns are in the entries' payloads. A test holds it
// against go.mod.
const SDK = "github.com/a2aproject/a2a-go/v2 v2.4.0"

// Kind says what a line is about.
type Kind string

// Kinds, in the order in which they come.
const (
	KindHeader    Kind = "header"
	KindEntry     Kind = "entry"
	KindArtifact  Kind = "artifact"
	KindEffect    Kind = "effect"
	KindRejection Kind = "rejection"
	KindLate      Kind = "quarantine"
	KindAct       Kind = "act"
	KindEndpoint  Kind = "endpoint"
	KindHead      Kind = "head"
	KindPolicy    Kind = "policy"
	KindSettled   Kind = "settlement"
	KindTrailer   Kind = "trailer"
)

var kinds = []Kind{KindHeader, KindEntry, KindArtifact, KindEffect, KindRejection, KindLate, KindAct, KindEndpoint, KindHead, KindPolicy, KindSettled, KindTrailer}

// Line is one line: a kind and the member of that name.
type Line struct {
	Kind      Kind                `json:"kind"`
	Header    *Header             `json:"header,omitempty"`
	Entry     *lifecycle.Entry    `json:"entry,omitempty"`
	Artifact  *lifecycle.Artifact `json:"artifact,omitempty"`
	Effect    *Effect             `json:"effect,omitempty"`
	Rejection *ledger.Rejected    `json:"rejection,omitempty"`
	Late      *Late               `json:"quarantine,omitempty"`
	Act       *ledger.Acted       `json:"act,omitempty"`
	Endpoint  *Endpoint           `json:"endpoint,omitempty"`
	Head      *Head               `json:"head,omitempty"`
	Policy    *Policy             `json:"policy,omitempty"`
	Settled   *policy.Settlement  `json:"settlement,omitempty"`
	Trailer   *Trailer            `json:"trailer,omitempty"`
}

// whole says whether a line has the member of its kind and no other.
func (l Line) whole() bool {
	members := map[Kind]bool{
		KindHeader: l.Header != nil, KindEntry: l.Entry != nil, KindPolicy: l.Policy != nil, KindArtifact: l.Artifact != nil, KindEffect: l.Effect != nil, KindSettled: l.Settled != nil,
		KindRejection: l.Rejection != nil, KindLate: l.Late != nil, KindAct: l.Act != nil, KindEndpoint: l.Endpoint != nil, KindHead: l.Head != nil, KindTrailer: l.Trailer != nil,
	}
	there := 0
	for _, is := range members {
		if is {
			there++
		}
	}
	return there == 1 && members[l.Kind]
}

// Scope is whose view of a task an export is.
type Scope string

// Scopes.
const (
	// Caller has the history, the artifacts and the head.
	Caller Scope = "caller"
	// Operator has all that the ledger keeps.
	Operator Scope = "operator"
)

// Header begins an export.
type Header struct {
	Format       int        `json:"format"`
	Task         a2a.TaskID `json:"task"`
	Tenant       string     `json:"tenant"`
	Agent        string     `json:"agent"`
	AgentVersion int        `json:"agentVersion"`
	Policy       string     `json:"policy"` // version of the policy that the task is judged by
	Scope        Scope      `json:"scope"`
	ExportedAt   time.Time  `json:"exportedAt"`
	SDK          string     `json:"sdk"`
}

// Policy is the document that the task is judged by, when whoever exported it had it.
// What it says is in the submission, which also has its digest.
type Policy struct {
	ID       string           `json:"id"` // name@version
	Digest   lifecycle.Digest `json:"digest"`
	Document json.RawMessage  `json:"document"`
}

// maxResultBytes is the largest result of an effect that is exported as it is.
// Larger ones are what steps worked with, and are shown by their digest.
const maxResultBytes = 4 << 10

// Effect is the record of an outside call.
type Effect struct {
	lifecycle.Effect

	// ResultDigest is taken over the result as compact JSON, ResultBytes is its length.
	ResultDigest lifecycle.Digest `json:"resultDigest,omitempty"`
	ResultBytes  int              `json:"resultBytes,omitempty"`
}

// Late is output that came after its task was canceled, without what it said.
type Late struct {
	At       time.Time        `json:"at"`
	Producer string           `json:"producer"`
	EventID  string           `json:"eventId"`
	Digest   lifecycle.Digest `json:"digest"`
	Bytes    int              `json:"bytes"`
}

// Endpoint is a webhook without what would let anybody call it.
type Endpoint struct {
	ID        string               `json:"id"`
	Origin    string               `json:"origin"` // scheme and host: the rest of an address may be a secret
	Scheme    string               `json:"scheme,omitempty"`
	CreatedAt time.Time            `json:"createdAt"`
	State     ledger.DeliveryState `json:"state,omitempty"`
	Cursor    uint64               `json:"cursor"`
	Wanted    uint64               `json:"wanted"`
	Delivered int                  `json:"delivered,omitempty"`
	Failures  int                  `json:"failures,omitempty"`
	Attempt   int                  `json:"attempt,omitempty"`
	NextAt    time.Time            `json:"nextAt,omitzero"`
	Holder    string               `json:"holder,omitempty"`
	Attempts  []Attempt            `json:"attempts,omitempty"`
}

// Attempt is ledger.Attempt under readable names.
type Attempt struct {
	At     time.Time `json:"at"`
	Seq    uint64    `json:"seq"`
	Number int       `json:"number"`
	Status int       `json:"status"`
	Millis int64     `json:"millis"`
	Error  string    `json:"error,omitempty"`
}

// Trailer ends an export.
type Trailer struct {
	Counts Counts `json:"counts"`
	// Digest is taken over all lines before the trailer, line feeds included.
	Digest lifecycle.Digest `json:"digest"`
	// Seq and Chain are those of the last entry.
	Seq   uint64           `json:"seq"`
	Chain lifecycle.Digest `json:"chain"`
}

// Counts are how many lines there are of each kind.
type Counts struct {
	Header    int `json:"header"`
	Entry     int `json:"entry"`
	Artifact  int `json:"artifact"`
	Effect    int `json:"effect"`
	Rejection int `json:"rejection"`
	Late      int `json:"quarantine"`
	Act       int `json:"act,omitempty"`
	Endpoint  int `json:"endpoint"`
	Head      int `json:"head"`
	Policy    int `json:"policy"`
	Settled   int `json:"settlement"`
}

// add counts a line.
func (c *Counts) add(k Kind) {
	switch k {
	case KindHeader:
		c.Header++
	case KindEntry:
		c.Entry++
	case KindPolicy:
		c.Policy++
	case KindArtifact:
		c.Artifact++
	case KindEffect:
		c.Effect++
	case KindSettled:
		c.Settled++
	case KindRejection:
		c.Rejection++
	case KindLate:
		c.Late++
	case KindAct:
		c.Act++
	case KindEndpoint:
		c.Endpoint++
	case KindHead:
		c.Head++
	case KindTrailer: // counts the others
	}
}
