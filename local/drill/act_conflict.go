package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// playConflict sends different bytes to one coordinate: all at once under one event ID,
// then one by one in every way that a worker can be wrong. The first bytes stay.
func (d *drill) playConflict(ctx context.Context) (string, error) {
	w, err := d.worker(ctx, "conflicting bytes")
	if err != nil {
		return "", err
	}
	if err := w.claim(ctx); err != nil {
		return "", err
	}
	won, err := d.collide(ctx, w)
	if err != nil {
		return "", err
	}
	before, err := w.ledger(ctx, w.task, 0)
	if err != nil {
		return "", err
	}
	if got := before.Head.Counts.Incidents; got != conflicting-1 {
		return "", fmt.Errorf("%d of %d senders had other bytes, and there are %d incidents", conflicting-1, conflicting, got)
	}
	if err := wrong(ctx, w, won); err != nil {
		return "", err
	}
	after, err := w.ledger(ctx, w.task, 0)
	if err != nil {
		return "", err
	}
	if after.Head.Seq != before.Head.Seq || after.Head.Chain != before.Head.Chain || after.Head.State != stateWorking {
		return "", fmt.Errorf("refused bytes led from %+v to %+v", before.Head, after.Head)
	}
	again, err := w.report(ctx, variant(won))
	if err != nil {
		return "", err
	}
	for _, e := range []event{
		{"last", 2, w.fence, chunked(chunkOf(draft, draftLast, true, true))}, {"end", 3, w.fence, object{"kind": "complete", "text": "Done."}},
	} {
		if _, err := w.report(ctx, e); err != nil {
			return "", err
		}
	}
	got, err := w.artifact(ctx, w.task, draft, 0)
	if err != nil {
		return "", err
	}
	if again.Hits != 1 || len(got.Chunks) != 2 || got.Chunks[0].Part.Text != bytesOf(won) || got.Chunks[0].Checksum != digestOf([]byte(bytesOf(won))) {
		return "", fmt.Errorf("sender %d was first, again it was answered with %+v, and the artifact is %+v", won, again, got)
	}
	_, whole, err := pictureOf(ctx, w.door, w.task)
	if err != nil {
		return "", err
	}
	d.rest(w.door, w.task, whole.Head)
	c := whole.Head.Counts
	return fmt.Sprintf("of %d senders one was taken; %d incidents, %d refusals, head and digest unchanged, the first bytes stay", conflicting, c.Incidents, c.Rejections), nil
}

// variant is the same event from one of the senders.
func variant(i int) event {
	return event{"chunk-1", 1, 1, chunked(chunkOf(draft, bytesOf(i), false, false))}
}

func bytesOf(i int) string { return fmt.Sprintf("the bytes of sender %d\n", i) }

// collide lets all senders send at once. Exactly one must be taken.
func (d *drill) collide(ctx context.Context, w *worker) (won int, err error) {
	answers := make([]answer, conflicting)
	failed := make([]error, conflicting)
	start := make(chan struct{})
	var all sync.WaitGroup
	for i := range conflicting {
		all.Go(func() {
			<-start
			answers[i], failed[i] = w.send(ctx, variant(i))
		})
	}
	close(start)
	all.Wait()
	if err := errors.Join(failed...); err != nil {
		return 0, err
	}
	won = -1
	for i, a := range answers {
		switch {
		case a.Status == http.StatusOK && won < 0:
			won = i
		case a.Reason() != eventConflict:
			return 0, fmt.Errorf("sender %d, after sender %d: %s", i, won, a)
		}
	}
	if won < 0 {
		return 0, errors.New("no sender was taken")
	}
	return won, nil
}

// wrong sends what must be refused beside an event that was taken.
func wrong(ctx context.Context, w *worker, won int) error {
	other := variant(won + 1)
	renamed := variant(won + 1)
	renamed.id = "chunk-1 under another name"
	mislabelled := event{"mislabelled", 2, w.fence, object{"kind": "chunk", "chunks": []object{
		{"artifactId": draft, "part": object{"text": "these"}, "checksum": digestOf([]byte("those")), "append": true},
	}}}
	unknown := event{"unknown", 2, w.fence, chunked(chunkOf("nowhere", "x", true, false))}
	for _, c := range []struct {
		e      event
		reason string
	}{{other, eventConflict}, {renamed, staleSequence}, {mislabelled, invalidParams}, {unknown, invalidParams}} {
		if err := w.refused(ctx, c.e, c.reason); err != nil {
			return err
		}
	}
	body, err := w.body(event{"misdigested", 2, w.fence, said("These words.")})
	if err != nil {
		return err
	}
	body["payloadDigest"] = digestOf([]byte("other words"))
	a, err := w.Ask(ctx, http.MethodPost, w.url+"/tasks/"+w.task+"/events", body)
	if err != nil {
		return err
	}
	return a.RefusedFor("a payload with another digest", invalidParams)
}
