package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
)

// playConflict sends different bytes to one coordinate, which the chunks name: all at
// once, each under its own event ID, then one by one in every way that a worker can be
// wrong. The first bytes stay, and they come again under another name for nothing.
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
	if err := d.wrong(ctx, w, won); err != nil {
		return "", err
	}
	after, err := w.ledger(ctx, w.task, 0)
	if err != nil {
		return "", err
	}
	if after.Head.Seq != before.Head.Seq || after.Head.Chain != before.Head.Chain || after.Head.State != stateWorking {
		return "", fmt.Errorf("refused bytes led from %+v to %+v", before.Head, after.Head)
	}
	first, err := w.report(ctx, variant(won))
	if err != nil {
		return "", err
	}
	renamed := variant(won)
	renamed.id, renamed.seq = "the first bytes again", 2
	again, err := w.report(ctx, renamed)
	if err != nil {
		return "", err
	}
	if again.Sequence != first.Sequence || again.Hits != first.Hits+1 {
		return "", fmt.Errorf("the first bytes were answered with %+v, and under another name with %+v", first, again)
	}
	for _, e := range []event{
		{"last", 3, w.fence, chunked(chunkAtPlace(2, draftLast, true))}, {"end", 4, w.fence, object{"kind": "complete", "text": "Done."}},
	} {
		if _, err := w.report(ctx, e); err != nil {
			return "", err
		}
	}
	got, err := w.artifact(ctx, w.task, draft, 0)
	if err != nil {
		return "", err
	}
	if again.Hits != 2 || len(got.Chunks) != 2 || got.Chunks[0].Part.Text != bytesOf(won) || got.Chunks[0].Checksum != digestOf([]byte(bytesOf(won))) {
		return "", fmt.Errorf("sender %d was first, again it was answered with %+v, and the artifact is %+v", won, again, got)
	}
	_, whole, err := pictureOf(ctx, w.door, w.task)
	if err != nil {
		return "", err
	}
	d.rest(w.door, w.task, whole.Head)
	c := whole.Head.Counts
	return fmt.Sprintf("of %d senders to one coordinate one was taken; %d incidents, %d refusals, head and digest unchanged, the first bytes stay, and are a lookup hit under another name", conflicting, c.Incidents, c.Rejections), nil
}

// variant is the first chunk of one of the senders.
func variant(i int) event {
	return event{fmt.Sprintf("chunk-1 of sender %d", i), 1, 1, chunked(chunkAtPlace(1, bytesOf(i), false))}
}

// chunkAtPlace is a chunk of the draft that says where it stands.
func chunkAtPlace(number int, text string, last bool) object {
	c := chunkOf(draft, text, number > 1, last)
	delete(c, "append")
	c["revision"], c["number"] = 1, number
	return c
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
		case a.Reason() != conflictingBytes:
			return 0, fmt.Errorf("sender %d, after sender %d: %s", i, won, a)
		}
	}
	if won < 0 {
		return 0, errors.New("no sender was taken")
	}
	return won, nil
}

// wrong sends what must be refused beside an event that was taken, and looks whether an
// operator is shown it.
func (d *drill) wrong(ctx context.Context, w *worker, won int) error {
	other := variant(won + 1)
	other.id = variant(won).id
	renamed := event{"chunk-1 without a place", 1, w.fence, chunked(chunkOf(draft, bytesOf(won+1), false, false))}
	mislabelled := event{"mislabelled", 2, w.fence, object{"kind": "chunk", "chunks": []object{
		{"artifactId": draft, "part": object{"text": "these"}, "checksum": digestOf([]byte("those")), "append": true},
	}}}
	unknown := event{"unknown", 2, w.fence, chunked(chunkOf("nowhere", "x", true, false))}
	for _, c := range []struct {
		e      event
		reason string
	}{
		{variant(conflicting), conflictingBytes}, {variant(conflicting), conflictingBytes}, {other, eventConflict}, {renamed, staleSequence},
		{event{"ahead", 2, w.fence, chunked(chunkAtPlace(3, "x", false))}, coordinateGap}, {mislabelled, invalidParams}, {unknown, invalidParams},
	} {
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
	if err := a.RefusedFor("a payload with another digest", invalidParams); err != nil {
		return err
	}
	text, err := d.tool(ctx, "show", "--server", "http://"+d.address, "--agent", outsideAgent, w.task)
	if shown := bytes.Count(text, []byte("conflicting-content (incident)")); err == nil && shown != conflicting+1 {
		err = fmt.Errorf("an operator is shown %d incidents of %d: %.2000s", shown, conflicting+1, text)
	}
	return err
}
