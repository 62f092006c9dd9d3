package ledger

import (
	"context"
	"errors"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Limits of endpoints.
const (
	// MaxEndpoints is how many endpoints a task may have. Every update goes to each.
	MaxEndpoints = 16
	// MaxAttemptsKept is how many attempts an endpoint remembers, the latest ones: so
	// many that what is written for each update stays below 1 KB, a write unit.
	MaxAttemptsKept = 4
	// MaxURLBytes bounds an endpoint's address.
	MaxURLBytes = 2048
	// MaxSecretBytes bounds what is sealed for an endpoint.
	MaxSecretBytes = 8 << 10
)

// FromCursor asks for a replay from where deliveries have got to.
const FromCursor uint64 = math.MaxUint64

var (
	// ErrTooManyEndpoints: the task has MaxEndpoints.
	ErrTooManyEndpoints = errors.New("the task has as many endpoints as it may")
	// ErrDeliveryChanged: somebody else has delivered since the endpoint was read, it was
	// made anew, or more is wanted than was known.
	ErrDeliveryChanged = errors.New("the delivery was changed meanwhile")
)

// Endpoints keeps the webhooks of tasks (A2A: push notification configurations) and
// how far deliveries to each are. They are no part of a task's history and never
// change a task (I11). On DynamoDB they stand in the table that has no stream.
type Endpoints interface {
	// PutEndpoint writes an endpoint: a new one, whose revision is 0, or another
	// configuration of the one with its ID, whose Delivery and CreatedAt stay as they
	// are. ErrNotFound: there is no such task. ErrTooManyEndpoints; callers who put
	// new ones at the same moment may pass MaxEndpoints by their number, less one.
	PutEndpoint(ctx context.Context, ref lifecycle.Ref, e Endpoint) error
	// Endpoint reads one. ErrNotFound.
	Endpoint(ctx context.Context, ref lifecycle.Ref, id string) (Endpoint, error)
	// EndpointList reads all of a task, by ID. An unknown task has none.
	EndpointList(ctx context.Context, ref lifecycle.Ref) ([]Endpoint, error)
	// DeleteEndpoint removes one. Doing it again changes nothing.
	DeleteEndpoint(ctx context.Context, ref lifecycle.Ref, id string) error
	// Want raises an endpoint's Wanted to a sequence, and makes it due at once if it
	// is idle (see Delivery.Idle). Nothing else changes, and the revision stays. A
	// sequence that is not above Wanted changes nothing. ErrNotFound.
	Want(ctx context.Context, ref lifecycle.Ref, id string, seq uint64, now time.Time) error
	// Deliver writes how far an endpoint is, guarded by the stored incarnation being the
	// same and the stored revision one below the new one; an idle one (see Delivery.Idle)
	// also by the stored Wanted not being above its Cursor. ErrDeliveryChanged.
	// ErrNotFound: it was removed. The stored Wanted is not touched.
	Deliver(ctx context.Context, ref lifecycle.Ref, id string, d Delivery) error
	// DueDeliveries reads a page of endpoints of all tenants whose DueAt is not after
	// an instant, earliest first. Like all indexes it may be stale by a moment.
	DueDeliveries(ctx context.Context, before time.Time, after *DeliveryCursor, limit int) (DeliveryPage, error)
}

// Endpoint is a webhook of a task.
type Endpoint struct {
	// ID is unique within the task.
	ID  string `json:"id"`
	URL string `json:"url"`
	// Scheme is the authentication scheme of the Authorization header, empty for none.
	Scheme string `json:"scheme,omitempty"`
	// Secrets are the client's token and credentials, sealed: who reads the ledger
	// cannot read them (I9).
	Secrets []byte `json:"secrets,omitempty"`
	// Agent is the name of the task's agent; Base is the address under which the
	// caller reached it, for links to large parts.
	Agent string `json:"agent"`
	Base  string `json:"base"`
	// Principal is a hash of who configured it.
	Principal string    `json:"principal"`
	CreatedAt time.Time `json:"createdAt"`

	Delivery Delivery `json:"delivery"`
}

// Origin is scheme and host, which name the receiver: paths of one server are one. The
// rest of an address may be a secret.
func (e Endpoint) Origin() string {
	u, err := url.Parse(e.URL)
	if err != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// DeliveryState is whether an endpoint is delivered to.
type DeliveryState string

// States of a delivery.
const (
	// DeliveryActive: updates go out as they come.
	DeliveryActive DeliveryState = ""
	// DeliveryGivenUp: the last attempt of the ladder has failed. An operator can
	// have it replayed; a new configuration begins anew.
	DeliveryGivenUp DeliveryState = "given-up"
	// DeliveryDisabled: the endpoint said that it is gone (410).
	DeliveryDisabled DeliveryState = "disabled"
)

// Delivery is how far deliveries to an endpoint are.
type Delivery struct {
	// Cursor is the last entry of the task that needs no delivery any more.
	Cursor uint64 `json:"cursor"`
	// Wanted is the highest entry that somebody has seen to exist.
	Wanted uint64        `json:"wanted"`
	State  DeliveryState `json:"state,omitempty"`
	// Revision counts writes by Deliver; 1 is the first after the endpoint was made.
	Revision uint64 `json:"revision"`
	// Incarnation tells the endpoint from those that were removed and had its ID, whose
	// senders may still be at work: each has a random one, for good.
	Incarnation string `json:"incarnation,omitempty"`
	// Generation counts the executions that were to deliver to it. One of an earlier
	// generation ends quietly.
	Generation uint64 `json:"generation,omitempty"`
	// Holder is the sender at work, until LeaseUntil.
	Holder     string    `json:"holder,omitempty"`
	LeaseUntil time.Time `json:"leaseUntil,omitzero"`
	// Attempt counts the failed attempts of the update behind the cursor; NextAt is
	// when it is tried again.
	Attempt int       `json:"attempt,omitempty"`
	NextAt  time.Time `json:"nextAt,omitzero"`
	// Failures counts failed attempts since the last success, over all updates.
	Failures  int `json:"failures,omitempty"`
	Delivered int `json:"delivered,omitempty"` // updates that the endpoint took
	// DueAt is when somebody must look if nothing happens by itself. Zero: never
	// again, for the task has ended and the endpoint has everything, or takes no more.
	DueAt time.Time `json:"dueAt,omitzero"`
	// Attempts are the latest ones, oldest first, at most MaxAttemptsKept.
	Attempts []Attempt `json:"attempts,omitempty"`
}

// Idle says whether the endpoint takes updates, nobody is at work on it and nothing
// is to be tried again: only what is wanted anew sets somebody to work.
func (d Delivery) Idle() bool {
	return d.State == DeliveryActive && d.Holder == "" && d.NextAt.IsZero()
}

// Behind says whether the endpoint is known to lack something.
func (d Delivery) Behind() bool { return d.State == DeliveryActive && d.Cursor < d.Wanted }

// Attempted is the delivery with one more attempt remembered.
func (d Delivery) Attempted(a Attempt) Delivery {
	d.Attempts = append(slices.Clone(d.Attempts), a)
	if over := len(d.Attempts) - MaxAttemptsKept; over > 0 {
		d.Attempts = d.Attempts[over:]
	}
	return d
}

// Attempt is one try of a delivery. It holds nothing that was sent or answered.
type Attempt struct {
	At     time.Time `json:"at"`
	Seq    uint64    `json:"q"`
	Number int       `json:"n"`           // from 1, for this update
	Status int       `json:"s"`           // HTTP, 0: none came
	Millis int64     `json:"m"`           // until the answer or the failure
	Error  string    `json:"e,omitempty"` // its class
}

// DeliveryCursor is the last endpoint of a page of due ones.
type DeliveryCursor struct {
	DueAt time.Time
	Ref   lifecycle.Ref
	ID    string
}

// DueDelivery is an endpoint that is due.
type DueDelivery struct {
	Ref lifecycle.Ref
	ID  string
}

// DeliveryTo names an endpoint by its tenant, its task and its ID.
func DeliveryTo(tenant, task, id string) DueDelivery {
	return DueDelivery{Ref: lifecycle.Ref{Tenant: tenant, Task: a2a.TaskID(task)}, ID: id}
}

// DeliveryPage is a page of due endpoints. Next is nil on the last one.
type DeliveryPage struct {
	Due  []DueDelivery
	Next *DeliveryCursor
}
