package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// The story of T-42, as its worker reports it. A claim stands before E1, after the
// receipt A4 and after the reply: each gives the fence of what follows.
const (
	draft       = "draft"
	action      = "directory.export"
	replyID     = "R5"
	receiptID   = "A4"
	replyTo     = 2 // the second pause
	draftBefore = "# Review\n"
	draftMiddle = "Two grants <stale> & one orphaned.\n"
	draftLast   = "Nothing else.\n"
)

var (
	e1 = event{"E1", 1, 1, said("Reading the directory.")}
	e2 = event{"E2", 2, 1, object{"kind": "pause", "text": "May I export the directory?", "pause": object{"for": "authorization", "action": action, "timeoutSeconds": 3600}}}
	e3 = event{"E3", 3, 2, said("Exporting the directory.")}
	e4 = event{"E4", 4, 2, object{"kind": "pause", "text": "Which quarter?", "pause": object{"for": "input", "named": true, "timeoutSeconds": 3600}}}
	e5 = event{"E5", 5, 3, said("Reviewing the third quarter.")}
	c1 = event{"draft-1", 6, 3, chunked(chunkOf(draft, draftBefore, false, false))}
	c2 = event{"draft-2", 7, 3, chunked(chunkOf(draft, draftMiddle, true, false))}
	c3 = event{"draft-3", 8, 3, chunked(chunkOf(draft, draftLast, true, true))}
	e6 = event{"E6", 9, 3, object{"kind": "complete", "text": "The review is done."}}
	e7 = event{"E7", 10, 3, object{"kind": "fail", "reason": "the directory has gone away"}}
)

// trace is one telling of the story.
type trace struct {
	worker

	approver approver
	message  string // the submission's ID
	token    string // the receipt A4, once it was given
}

// newTrace begins the story as a new task.
func (d *drill) newTrace(message string) trace {
	return trace{worker: worker{door: d.door(outsideAgent), producer: firstProducer}, approver: d.approver, message: message}
}

func (t *trace) submission(ctx context.Context) error {
	got, err := t.begin(ctx, t.message)
	if err != nil {
		return err
	}
	if t.task != "" && got.ID != t.task {
		return fmt.Errorf("the submission of task %s again gave task %s", t.task, got.ID)
	}
	t.task = got.ID
	return nil
}

// authorization presents the receipt A4, which is given for what the task then asks
// for, once.
func (t *trace) authorization(ctx context.Context) (answer, error) {
	if t.token == "" {
		is, err := t.door.task(ctx, t.task)
		if err != nil {
			return answer{}, err
		}
		if is.Metadata.Own.Challenge == nil {
			return answer{Status: http.StatusConflict}, nil
		}
		if t.token, err = t.approver.give(is, receiptID); err != nil {
			return answer{}, err
		}
	}
	return t.authorize(ctx, t.task, t.token)
}

func (t *trace) replied(ctx context.Context) (answer, error) {
	return t.reply(ctx, t.task, replyID, "The third one.", replyTo)
}

// chapter is a step of the story in its right order.
type chapter struct {
	about string
	tell  func(*trace, context.Context) error
}

func reported(e event) chapter {
	return chapter{e.id, func(t *trace, ctx context.Context) error {
		_, err := t.report(ctx, e)
		return err
	}}
}

func accepted(about string, ask func(*trace, context.Context) (answer, error)) chapter {
	return chapter{about, func(t *trace, ctx context.Context) error {
		a, err := ask(t, ctx)
		if err == nil && a.Status != http.StatusOK {
			err = errors.New(a.String())
		}
		return err
	}}
}

var claimed = chapter{"claim", func(t *trace, ctx context.Context) error { return t.claim(ctx) }}

// untilInput is the story up to its question, untilDraft up to two chunks of the
// draft.
var (
	untilInput = []chapter{
		{"submission", (*trace).submission}, claimed, reported(e1), reported(e2), accepted(receiptID, (*trace).authorization),
		claimed, reported(e3), reported(e4),
	}
	untilDraft = []chapter{accepted(replyID, (*trace).replied), claimed, reported(e5), reported(c1), reported(c2)}
	untilEnd   = []chapter{reported(c3), reported(e6), {e7.id, func(t *trace, ctx context.Context) error { return t.refused(ctx, e7, postTerminal) }}}
)

// tellAll tells chapters in order, with something between every two.
func (t *trace) tellAll(ctx context.Context, between func(context.Context) error, parts ...[]chapter) error {
	first := true
	for _, part := range parts {
		for _, c := range part {
			if !first && between != nil {
				if err := between(ctx); err != nil {
					return fmt.Errorf("before %s: %w", c.about, err)
				}
			}
			first = false
			if err := c.tell(t, ctx); err != nil {
				return fmt.Errorf("%s: %w", c.about, err)
			}
		}
	}
	return nil
}
