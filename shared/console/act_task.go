package console

import (
	"context"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// note is what an operator says to why.
type note struct {
	Note string `json:"note"`
}

// cancel asks for a cancellation. Whoever holds the lease meets it; if nobody does, the
// task is canceled at once.
func (c *call) cancel() (any, error) {
	var in note
	if err := c.body(&in); err != nil {
		return nil, err
	}
	if err := text("note", in.Note, maxNoteBytes, false); err != nil {
		return nil, err
	}
	return c.acted(ledger.ActionCancel, in.Note, func(ctx context.Context) (string, error) {
		t, err := c.Authority.Load(ctx, c.ref())
		if err != nil {
			return "", err
		}
		res, err := c.Authority.Do(ctx, t, lifecycle.RequestCancel{Principal: c.who.Hash()}, c.source(""), ledger.Extra{})
		c.told(ctx, res)
		switch {
		case err != nil:
			return "", err
		case res.Marked:
			return fmt.Sprintf("The cancellation is requested; %s holds the lease and will meet it.", res.Task.Holder), nil
		}
		return "The task is canceled.", nil
	})
}

// reply answers the open question in the caller's place. The message says that an
// operator sent it.
func (c *call) reply() (any, error) {
	var in struct {
		Pause int    `json:"pause"`
		Text  string `json:"text"`
	}
	if err := c.body(&in); err != nil {
		return nil, err
	}
	if err := text("text", in.Text, maxAnswerBytes, true); err != nil {
		return nil, err
	}
	if in.Pause < 1 {
		return nil, refuse(errInvalid, "pause is the number of the question.")
	}
	return c.acted(ledger.ActionAnswer, fmt.Sprintf("pause %d", in.Pause), func(ctx context.Context) (string, error) {
		t, err := c.Authority.Load(ctx, c.ref())
		if err != nil {
			return "", err
		}
		if t.State == lifecycle.AuthRequired {
			return "", refuse(errNotNow, "The task waits for an authorization receipt, which no operator can give.")
		}
		m := &a2a.Message{
			ID: c.NewID(), Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(in.Text)},
			Metadata: map[string]any{lifecycle.ExtensionURI: map[string]any{"operator": true}},
		}
		res, err := c.Authority.Do(ctx, t, lifecycle.Reply{Message: m, Pause: &in.Pause, Grace: c.Grace}, c.source(m.ID), ledger.Extra{})
		c.told(ctx, res)
		if err != nil {
			return "", err
		}
		return "The answer is committed; the task goes on.", nil
	})
}

// resume has a stuck task go on: what a sweep would do, now, and without waiting for
// another attempt.
func (c *call) resume() (any, error) {
	var in struct {
		note
		seen
	}
	if err := c.body(&in); err != nil {
		return nil, err
	}
	if err := text("note", in.Note, maxNoteBytes, false); err != nil {
		return nil, err
	}
	if err := in.seen.check(); err != nil {
		return nil, err
	}
	return c.acted(ledger.ActionResume, in.Note, func(ctx context.Context) (string, error) { return c.goOn(ctx, in.Generation) })
}

// seen is the generation of the task that the operator saw. Only that one is followed by
// another: whoever presses twice, or at the same time as somebody else, restarts it once.
type seen struct {
	Generation uint64 `json:"generation"`
}

func (s seen) check() error {
	if s.Generation < 1 {
		return refuse(errInvalid, "generation is that of the task that was seen.")
	}
	return nil
}

func (c *call) goOn(ctx context.Context, generation uint64) (string, error) {
	t, err := c.Authority.Load(ctx, c.ref())
	if err != nil {
		return "", err
	}
	now := c.Now()
	agent, known := c.known(t.Agent, t.AgentVersion)
	switch {
	case t.Terminal():
		return "", refuse(errNotNow, "The task has ended as %s.", short(t.State))
	case !now.Before(t.LifeEndsAt), t.Pause != nil && !now.Before(t.Pause.DeadlineAt):
		return c.expire(ctx, t)
	case t.State == lifecycle.InputRequired:
		return "", refuse(errNotNow, "The task waits for an answer until %s: answer it, or cancel it.", t.Pause.DeadlineAt.Format(time.RFC3339))
	case t.State == lifecycle.AuthRequired:
		return "", refuse(errNotNow, "The task waits for an authorization receipt until %s.", t.Pause.DeadlineAt.Format(time.RFC3339))
	case !known:
		return "", refuse(errNotNow, "Nothing here can run %s@%d: deploy it, or cancel the task.", t.Agent, t.AgentVersion)
	case agent.Outside:
		return "", refuse(errNotNow, "Workers from outside run %s@%d: one of them must claim the task.", t.Agent, t.AgentVersion)
	}
	res, err := c.Authority.Do(ctx, t, lifecycle.Restart{Generation: generation, EndWait: true, Grace: c.Grace}, c.source(""), ledger.Extra{})
	switch {
	case err != nil:
		return "", err
	case res.Task.Terminal():
		return "A cancellation that nobody had met is committed.", nil
	}
	c.untold(ctx, c.Executions.Submitted(ctx, res.Task.Head))
	return fmt.Sprintf("Execution %d takes over.", res.Task.Generation), nil
}

// expire commits what time has ended.
func (c *call) expire(ctx context.Context, t lifecycle.Task) (string, error) {
	res, err := c.Authority.Do(ctx, t, lifecycle.Expire{}, c.source(""), ledger.Extra{})
	c.told(ctx, res)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("A deadline had passed; its outcome is committed: %s.", short(res.Task.State)), nil
}
