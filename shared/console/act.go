package console

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	// actTime bounds an action, whatever becomes of whoever asked for it.
	actTime = 20 * time.Second
	// maxBodyBytes is more than any action needs: an effect's result has 32 KiB.
	maxBodyBytes = 128 << 10
	// maxAnswerBytes bounds an operator's answer, and maxNoteBytes what is said to why.
	maxAnswerBytes = 8 << 10
	maxNoteBytes   = 512
)

// body reads what an action is asked with. Only JSON is taken: a form of another site
// cannot send it.
func (c *call) body(into any) error {
	if media, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return refuse(errMediaType, "The request must be application/json.")
	}
	d := json.NewDecoder(http.MaxBytesReader(c.w, c.r.Body, maxBodyBytes))
	d.DisallowUnknownFields()
	err := d.Decode(into)
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return refuse(errTooLarge, "The request has more than %d bytes.", maxBodyBytes)
	}
	if err != nil || d.More() {
		return refuse(errInvalid, "The request is not what this action takes.")
	}
	return nil
}

// text checks what an operator wrote.
func text(name, s string, limit int, needed bool) error {
	switch {
	case needed && s == "":
		return refuse(errInvalid, "%s is needed.", name)
	case len(s) > limit:
		return refuse(errInvalid, "%s has %d bytes, the limit is %d.", name, len(s), limit)
	case !utf8.ValidString(s):
		return refuse(errInvalid, "%s is not UTF-8.", name)
	}
	return nil
}

// done is what came of an action, in a sentence.
type done struct {
	Says string `json:"says"`
}

// act does something to a task, on record.
func (c *call) act(action ledger.Action, detail string, do func(context.Context) (string, error)) (string, error) {
	if _, err := c.head(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx()), actTime)
	defer cancel()
	var says, reason string
	var shown *refusal
	record := ledger.Acted{By: c.who.Name, Action: action, Detail: lifecycle.Clip(detail, lifecycle.MaxDetailBytes)}
	err, unkept := c.Authority.Act(ctx, c.ref(), record, func(ctx context.Context) (err error) {
		says, err = do(ctx)
		return err
	}, func(err error) string {
		k, p := c.explain(err)
		shown, reason = &refusal{k.err, p.Message}, p.Reason
		if k.fault { // as when an answer was lost
			p.Message = "Whether it was done is not known. " + p.Message
		}
		return lifecycle.Clip(p.Message, lifecycle.MaxDetailBytes)
	})
	if err != nil && shown == nil {
		return "", err // nothing was to be done
	}
	if unkept != nil {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "that an action was refused was not kept", slog.String("tenant", c.who.Tenant), slog.String("task", string(c.task)), slog.Any("error", unkept))
	}
	c.Logger.LogAttrs(ctx, slog.LevelInfo, "an operator acted",
		slog.String("tenant", c.who.Tenant), slog.String("task", string(c.task)), slog.String("action", string(action)), slog.String("operator", c.who.Hash()), slog.String("reason", reason))
	if shown != nil {
		return "", shown
	}
	return says, nil
}

// acted is act, as an answer.
func (c *call) acted(action ledger.Action, detail string, do func(context.Context) (string, error)) (any, error) {
	says, err := c.act(action, detail, do)
	if err != nil {
		return nil, err
	}
	return done{says}, nil
}

// source is the operator as a producer of entries. Callers can read those, so it is the
// hash of the name; who that is stands in the operator's record.
func (c *call) source(eventID string) lifecycle.Source {
	return lifecycle.Source{Producer: "operator:" + c.who.Hash(), EventID: eventID}
}

// told tells the execution that is parked on a pause that it was closed.
func (c *call) told(ctx context.Context, res ledger.Result) {
	if a, _ := c.known(res.Task.Agent, res.Task.AgentVersion); res.Answered == 0 || a.Outside {
		return
	}
	c.untold(ctx, c.Executions.Answered(ctx, res.Task.Head, res.Answered))
}

// untold notes that an execution was not told: the sweep will.
func (c *call) untold(ctx context.Context, err error) {
	if err != nil {
		c.Logger.LogAttrs(ctx, slog.LevelWarn, "an execution was not told; the sweep will", slog.String("tenant", c.who.Tenant), slog.String("task", string(c.task)), slog.Any("error", err))
	}
}
