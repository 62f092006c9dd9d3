package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Durations of leases in races; nobody loses one by time.
const (
	raceLease = 10 * time.Minute
	raceGrace = 10 * time.Minute
)

// newAuthority is a ledger process of its own: its own client, its own connections.
func newAuthority(endpoint string, names dynamo.Names) *ledger.Authority {
	return &ledger.Authority{Ledger: dynamo.New(dynamodb.NewFromConfig(configuration(endpoint)), names, dynamo.Options{}), Now: time.Now, NewID: a2a.NewMessageID}
}

// holder runs a task in the place of the runner, one report after the other.
type holder struct {
	*testing.T
	auth *ledger.Authority
	task lifecycle.Task
}

// newHolder submits a task and takes its lease.
func newHolder(t *testing.T, auth *ledger.Authority) (*holder, error) {
	h := &holder{T: t, auth: auth}
	id := a2a.NewTaskID()
	res, err := auth.Create(t.Context(), refTo(id), lifecycle.Submit{
		ContextID: a2a.NewContextID(), Agent: hello.Agent.Name(), AgentVersion: hello.Agent.Version(), Step: hello.Agent.First(),
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("race")), Principal: "key:tests",
		RequestDigest: lifecycle.DigestBytes([]byte(id)), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil)
	if err != nil {
		return h, err
	}
	return h, h.grant(t.Context(), res.Task)
}

func (h *holder) grant(ctx context.Context, t lifecycle.Task) error {
	name := string(t.Task) + "-g1"
	res, err := h.auth.Do(ctx, t, lifecycle.Grant{Holder: name, Generation: t.Generation, Lease: raceLease, Grace: raceGrace}, lifecycle.Source{Producer: "runner", Holder: name}, ledger.Extra{})
	h.task = res.Task
	return err
}

// report commits what the holder has to say.
func (h *holder) report(ctx context.Context, r lifecycle.Report) error {
	r.Holder, r.Fence, r.Grace = h.task.Holder, h.task.Fence, raceGrace
	res, err := h.auth.Do(ctx, h.task, r, lifecycle.Source{Producer: "runner", Holder: r.Holder, Fence: r.Fence}, ledger.Extra{})
	if err == nil {
		h.task = res.Task
	}
	return err
}

func says(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
}
