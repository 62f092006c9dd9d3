package integration_test

import (
	"context"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/catalog/accessreview"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var embedded struct {
	once   sync.Once
	digest lifecycle.Digest
	err    error
}

// embeddedDigest is the digest of the report that the embedded default comes to: the
// whole product in this process, over the model of a ledger.
func embeddedDigest(t *testing.T) lifecycle.Digest {
	t.Helper()
	embedded.once.Do(func() { embedded.digest, embedded.err = reviewEmbedded(t) })
	if embedded.err != nil {
		t.Fatal(embedded.err)
	}
	return embedded.digest
}

func reviewEmbedded(t *testing.T) (lifecycle.Digest, error) {
	agents, err := catalog.New(accessreview.New(accessreview.HTTP{BaseURL: newOutside(t).url})...)
	if err != nil {
		return "", err
	}
	n, err := node.New(node.Config{
		Ledger: ledgertest.NewMemory(), Blobs: ledgertest.NewMemoryBlobs(), Catalog: agents, HoldersGone: true, Timing: node.DefaultTiming(),
		Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return "", err
	}
	server := httptest.NewServer(n.Handler)
	defer server.Close()
	if err := n.Start(); err != nil {
		return "", err
	}
	defer func() { _ = n.Stop(context.Background()) }()
	task, err := review(t, server.URL+reviewer, "embedded")
	if err != nil {
		return "", err
	}
	return reportDigest(task)
}

// review submits the shipped review, approves everything and waits for its end.
func review(t *testing.T, agent, name string) (a2a.Task, error) {
	return reviewAimed(t, agent, name, func(lifecycle.Ref) {})
}

// reviewAimed is review, which tells whose it is as soon as that is known.
func reviewAimed(t *testing.T, agent, name string, aim func(lifecycle.Ref)) (a2a.Task, error) {
	ctx := t.Context()
	task, err := send(ctx, agent, submission(name))
	if err != nil {
		return task, err
	}
	id := task.ID
	aim(refTo(id))
	reached := func(what string, states ...a2a.TaskState) error {
		ok := expect(t, name+" is "+what, lookEvery, func() (bool, string) {
			if task, err = getTask(ctx, agent, id); err != nil {
				return false, err.Error()
			}
			if slices.Contains(states, task.Status.State) {
				return true, ""
			}
			return task.Status.State.Terminal(), string(task.Status.State)
		})
		if !ok {
			return fmt.Errorf("%s is not %s", name, what)
		}
		return nil
	}
	if err := reached("paused", a2a.TaskStateInputRequired); err != nil {
		return task, err
	}
	if _, err := send(ctx, agent, approval(task, name+"-approval")); err != nil {
		return task, err
	}
	if err := reached("complete", a2a.TaskStateCompleted); err != nil {
		return task, err
	}
	if task.Status.State != a2a.TaskStateCompleted {
		reason := ""
		if m := task.Status.Message; m != nil && len(m.Parts) > 0 {
			reason = m.Parts[0].Text()
		}
		return task, fmt.Errorf("%s ended as %s: %s", name, task.Status.State, reason)
	}
	return task, nil
}
