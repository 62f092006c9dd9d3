package main

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// playQuestion asks a question that expires, three times: it is answered in time,
// answered too late, and not answered at all while the product is down.
func (d *drill) playQuestion(ctx context.Context) (string, error) {
	// The one that is answered in time has an hour: a slow machine must not decide.
	inTime, err := d.asks(ctx, "answered in time", 3600, stateFailed)
	if err != nil {
		return "", err
	}
	tooLate, err := d.asks(ctx, "answered too late", questionExpiry, stateCanceled)
	if err != nil {
		return "", err
	}
	unheard, err := d.asks(ctx, "not answered", questionExpiry, stateFailed)
	if err != nil {
		return "", err
	}
	if err := d.kill(); err != nil {
		return "", err
	}
	wait := time.NewTimer(questionExpiry * time.Second)
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if err := d.start(ctx); err != nil {
		return "", err
	}
	a, err := tooLate.reply(ctx, tooLate.task, "answer", "The third one.", 1)
	if err != nil {
		return "", err
	}
	if err := a.RefusedFor("an answer after the deadline", unsupportedNow); err != nil {
		return "", err
	}
	for w, want := range map[*worker]string{tooLate: stateCanceled, unheard: stateFailed} {
		if err := d.expires(ctx, w, want); err != nil {
			return "", err
		}
	}
	if a, err = inTime.reply(ctx, inTime.task, "answer", "The third one.", 1); err != nil {
		return "", err
	}
	if a.Status != http.StatusOK {
		return "", fmt.Errorf("an answer in time: %s", a)
	}
	if err := inTime.claim(ctx); err != nil {
		return "", err
	}
	if _, err := inTime.report(ctx, event{"end", 2, inTime.fence, object{"kind": "complete", "text": "Done."}}); err != nil {
		return "", err
	}
	if err := d.expires(ctx, inTime, stateCompleted); err != nil {
		return "", err
	}
	return fmt.Sprintf("answered in time: completed; answered %d s or more late: refused, canceled; not answered, and the product down at the deadline: failed", questionExpiry), nil
}

// asks begins a task that asks a question.
func (d *drill) asks(ctx context.Context, messageID string, timeout int, outcome string) (*worker, error) {
	w, err := d.worker(ctx, messageID)
	if err != nil {
		return nil, err
	}
	if err := w.claim(ctx); err != nil {
		return nil, err
	}
	_, err = w.report(ctx, event{"ask", 1, w.fence, object{
		"kind": "pause", "text": "Which quarter?", "pause": object{"for": "input", "timeoutSeconds": timeout, "outcome": outcome},
	}})
	return w, err
}

// expires waits until a task has ended, and tries to get on with it.
func (d *drill) expires(ctx context.Context, w *worker, want string) error {
	err := until(ctx, "a question expires", d.running.product, func(ctx context.Context) (bool, error) {
		is, err := w.door.task(ctx, w.task)
		if err == nil && is.Status.State == stateInput {
			return false, fmt.Errorf("the task is %s", is.Status.State)
		}
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if err := w.refused(ctx, w.claiming(), postTerminal); err != nil {
		return err
	}
	a, err := w.reply(ctx, w.task, "answer after the end", "Still there?", 1)
	if err != nil {
		return err
	}
	if err := a.RefusedFor("an answer after the end", unsupportedNow); err != nil {
		return err
	}
	p, whole, err := pictureOf(ctx, w.door, w.task)
	if err == nil && p.State != want {
		err = fmt.Errorf("the task is %s, want %s", p.State, want)
	}
	if err != nil {
		return err
	}
	d.rest(w.door, w.task, whole.Head)
	return nil
}
