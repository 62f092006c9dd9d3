package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// playT43 rejects a task that was just submitted, and tries to revive it with
// everything that a caller or a worker can send.
func (d *drill) playT43(ctx context.Context) (string, error) {
	w, err := d.worker(ctx, "T-43")
	if err != nil {
		return "", err
	}
	before, err := w.ledger(ctx, w.task, 0)
	if err != nil {
		return "", err
	}
	if err := w.claim(ctx); err != nil {
		return "", err
	}
	end := event{"E1", 1, w.fence, object{"kind": "reject", "reason": "not ours", "text": "This is not for us."}}
	if _, err := w.report(ctx, end); err != nil {
		return "", err
	}
	p, rejected, err := pictureOf(ctx, w.door, w.task)
	if err != nil {
		return "", err
	}
	// A worker's claim is the only way to a rejection, and begins the work.
	var types []string
	for _, e := range rejected.Entries {
		types = append(types, e.Type)
	}
	if before.Head.State != stateSubmitted || p.State != stateRejected || !slices.Equal(types, []string{"submitted", "started", "ended"}) {
		return "", fmt.Errorf("%s became %s by the entries %v", before.Head.State, p.State, types)
	}
	tries, err := d.revive(ctx, w)
	if err != nil {
		return "", err
	}
	if _, err := w.report(ctx, end); err != nil { // a lookup hit
		return "", err
	}
	again, now, err := pictureOf(ctx, w.door, w.task)
	if err != nil {
		return "", err
	}
	if diff := p.differs(again); diff != "" || now.Head.Chain != rejected.Head.Chain || now.Head.Counts.Hits != 1 {
		return "", fmt.Errorf("the task was changed by what came late: %s, %+v", diff, now.Head)
	}
	d.rest(w.door, w.task, now.Head)
	return fmt.Sprintf("submitted, claimed (working), rejected; %d late events, messages and receipts refused, head unchanged", tries), nil
}

// revive sends a task that has ended everything that leads anywhere.
func (d *drill) revive(ctx context.Context, w *worker) (tries int, err error) {
	late := []event{
		{"late-1", 2, w.fence, said("Going on after all.")},
		{"late-2", 2, w.fence, chunked(chunkOf(draft, draftBefore, false, true))},
		{"late-3", 2, w.fence, object{"kind": "complete", "text": "Done after all."}},
		{"late-4", 2, w.fence, object{"kind": "fail", "reason": "late"}},
		{"late-5", 2, w.fence + 1, object{"kind": "pause", "text": "Shall I?"}},
		{"late-6", 7, w.fence, said("Out of nowhere.")},
		w.claiming(),
	}
	for _, e := range late {
		if err := w.refused(ctx, e, postTerminal); err != nil {
			return 0, err
		}
	}
	for about, ask := range map[string]func() (answer, error){
		"a message": func() (answer, error) { return w.reply(ctx, w.task, "late-message", "Please!", 1) },
		"a receipt": func() (answer, error) {
			asked := task{ID: w.task}
			asked.Metadata.Own.Challenge = &challenge{1, action}
			text, err := d.approver.give(asked, "late-receipt")
			if err != nil {
				return answer{}, err
			}
			return w.authorize(ctx, w.task, text)
		},
		"a cancellation": func() (answer, error) { return w.cancel(ctx, w.task) },
	} {
		a, err := ask()
		if err != nil {
			return 0, err
		}
		if a.Status/100 != 4 {
			return 0, fmt.Errorf("%s to a task that has ended: %s", about, a)
		}
	}
	a, err := w.submit(ctx, "T-43", firstText)
	if err != nil {
		return 0, err
	}
	t, err := driver.Sent[task](a)
	if err == nil && (t.ID != w.task || t.Status.State != stateRejected) {
		err = errors.New("the submission again gave another task, or a live one")
	}
	return len(late) + 3, err
}
