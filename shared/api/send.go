package api

import (
	"context"
	"errors"
	"log/slog"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// sendMessage begins or continues a task (A2A §3.1.1). It blocks, within a
// budget, unless the caller said otherwise (§3.2.2).
func (c *call) sendMessage(q request) {
	f, fresh, err := c.accept(q)
	if err == nil && !fresh {
		err = f.load(c.r.Context())
	}
	if err == nil && !q.immediately {
		err = c.waitFor(f, c.WaitBudget, rests)
	}
	if err != nil {
		c.refuse(err)
		return
	}
	c.answer(wireEvent{Task: wireTaskOf(f.view.Task(), q.history)}, nil)
}

// accept commits a message, or recognises it. The follower has folded the task as
// it was created when that is fresh, and nothing yet otherwise.
func (c *call) accept(q request) (f *follower, fresh bool, err error) {
	if q.webhook != nil && c.Push == nil { // §3.3.4
		return nil, false, noPush()
	}
	if err := c.fits(q.message, q.accepted); err != nil {
		return nil, false, err
	}
	switch {
	case q.authorization != nil:
		return c.replyAuthorized(q)
	case q.id != "":
		return c.reply(q)
	}
	return c.submit(q)
}

// submit creates a task under its submission key (§3.3.1).
func (c *call) submit(q request) (*follower, bool, error) {
	if err := c.validate(q.message); err != nil {
		return nil, false, err
	}
	key, err := c.submissionKey(q)
	if err != nil {
		return nil, false, err
	}
	digest, err := lifecycle.DigestJSON(q.message)
	if err != nil {
		return nil, false, err
	}
	ctx, cancel := c.commitment()
	defer cancel()
	f := c.follow(a2a.TaskID(c.NewID()))
	message, moved, err := c.offload(ctx, f.ref, q.message, func() error { return c.recall(ctx, key) })
	if taken, ok := errors.AsType[*ledger.KeyTaken](err); ok {
		return c.submitted(taken.Note, digest)
	}
	if err != nil {
		return nil, false, err
	}
	contextID := message.ContextID
	if contextID == "" {
		contextID = c.NewID()
	}
	var endpoints []ledger.Endpoint
	if q.webhook != nil {
		e, err := c.endpoint(ctx, f.ref, q.webhook, 0)
		if err != nil {
			return nil, false, err
		}
		endpoints = append(endpoints, e)
	}
	res, err := c.Authority.Create(ctx, f.ref, lifecycle.Submit{
		ContextID: contextID, Agent: c.agent.Name, AgentVersion: c.agent.Version, Step: c.agent.FirstStep,
		Message: message, Principal: c.who.Hash(), RequestDigest: digest, Policy: c.agent.Policy,
	}, c.source(message.ID), key, endpoints...)
	if taken, ok := errors.AsType[*ledger.KeyTaken](err); ok {
		if moved {
			c.discard(ctx, f.ref)
		}
		return c.submitted(taken.Note, digest)
	}
	if rejection, ok := errors.AsType[*lifecycle.Rejection](err); ok {
		return nil, false, unfit(rejection)
	}
	if err != nil {
		return nil, false, err
	}
	if err := f.add(res.Entries, nil); err != nil {
		return nil, false, err
	}
	if c.Executions != nil && !c.agent.Outside {
		c.untold(f.ref, "submitted", c.Executions.Submitted(ctx, res.Task.Head))
	}
	return f, true, nil
}

// validate asks the agent. What it says is for the caller, unless it says by one
// of A2A's errors that it could not tell.
func (c *call) validate(m *a2a.Message) error {
	if c.agent.Validate == nil {
		return nil
	}
	err := c.agent.Validate(m)
	if err == nil {
		return nil
	}
	k := kindOf(err)
	if k.fault {
		k.err = a2a.ErrInvalidParams
	}
	return refuse(k.err, "%s", clip(err.Error()))
}

// clip bounds a text that others wrote.
func clip(s string) string { return lifecycle.Clip(s, lifecycle.MaxReasonBytes) }

// submitted answers for a key that belongs to a task already: the same request
// gives the same task, in whatever state it is; another request is a conflict (I5).
// When the task has expired, purged or not, the caller is told so, and not given
// another one: the work was done.
func (c *call) submitted(note ledger.KeyNote, digest lifecycle.Digest) (*follower, bool, error) {
	if note.RequestDigest != digest {
		return nil, false, refuse(errKeyConflict, "The submission key belongs to another request: use a new key for a new message.")
	}
	err := error(notFound(note.Task))
	if !note.Expired() {
		_, err = c.known(note.Task)
	}
	if errors.Is(err, a2a.ErrTaskNotFound) {
		return nil, false, refuse(errKeyExpired, "The task of this submission key has ended, and can be read no more: use a new key to run it again.")
	}
	return c.follow(note.Task), false, err
}

// recall looks the key up before large parts are stored for nothing.
func (c *call) recall(ctx context.Context, key *ledger.Key) error {
	if key == nil {
		return nil
	}
	note, err := c.Authority.Ledger.Key(ctx, *key)
	if errors.Is(err, ledger.ErrNotFound) || err == nil && note.Forgotten(c.Now()) {
		return nil
	}
	if err != nil {
		return err
	}
	return &ledger.KeyTaken{Note: note}
}

// untold logs that nobody was told; the sweep will find it.
func (c *call) untold(ref lifecycle.Ref, what string, err error) {
	if err != nil {
		c.Logger.LogAttrs(c.r.Context(), slog.LevelWarn, "an execution was not told; the sweep will",
			slog.String("tenant", ref.Tenant), slog.String("task", string(ref.Task)), slog.String("operation", what), slog.Any("error", err))
	}
}
