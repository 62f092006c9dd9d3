package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// replayList says what became of a replay, endpoint by endpoint.
type replayList struct {
	Task       a2a.TaskID `json:"task"`
	Deliveries []replayed `json:"deliveries"`
}

// replayed is an endpoint to which is delivered again. Was is how its delivery stood.
type replayed struct {
	ID string `json:"id"`
	// Replayed is false where a delivery was under way.
	Replayed bool                 `json:"replayed"`
	Since    uint64               `json:"since"`
	Was      ledger.DeliveryState `json:"was,omitempty"`
}

// replayParams reads the body: {"since": n}, or nothing.
func replayParams(v value) (request, error) {
	var q request
	var r reader
	r.fields(v, func(name string, v value) {
		if name != "since" {
			r.wrong(name, "is not known here: the one field is since")
			return
		}
		if q.from = r.integer(v, name); q.from != nil && *q.from < 0 {
			r.wrong(name, "must be a sequence of the task, or 0 for everything")
		}
	})
	return q, r.err()
}

// serveReplay has webhooks delivered again, for operators: what comes after a sequence,
// or what an endpoint has not taken yet. POST /tasks/{id}/pushNotificationConfigs:replay
// is for all of a task, …/pushNotificationConfigs/{configId}/replay for one.
func (c *call) serveReplay(at address) {
	q, err := parameters(c, replayParams, false)
	var list replayList
	if err == nil {
		list, err = c.replay(at, q)
	}
	c.answer(list, err)
}

func (c *call) replay(at address, q request) (replayList, error) {
	list := replayList{Task: at.task, Deliveries: []replayed{}}
	h, err := c.known(at.task)
	if err != nil {
		return list, err
	}
	since := ledger.FromCursor
	if q.from != nil {
		if since = uint64(*q.from); since > h.Seq {
			r := reader{}
			r.wrong("since", "is behind the task's last sequence, %d", h.Seq)
			return list, r.err()
		}
	}
	endpoints, err := c.replayable(h, at.item)
	if err != nil {
		return list, err
	}
	ctx, cancel := c.commitment()
	defer cancel()
	busy := 0
	for _, e := range endpoints {
		d := replayed{ID: e.ID, Was: e.Delivery.State, Since: e.Delivery.Cursor, Replayed: true}
		if q.from != nil {
			d.Since = since
		}
		switch err := c.replayOne(ctx, h.Ref(), d, since); {
		case errors.Is(err, ledger.ErrDeliveryChanged):
			d.Replayed = false
			busy++
		case errors.Is(err, ledger.ErrNotFound): // removed meanwhile
			continue
		case err != nil:
			return list, err
		}
		list.Deliveries = append(list.Deliveries, d)
	}
	if busy == 0 || busy < len(list.Deliveries) {
		return list, nil
	}
	c.w.Header().Set("Retry-After", "1")
	return list, refuse(errDelivering, "A delivery is under way at each of these webhooks; try again in a moment.")
}

// replayOne has a webhook delivered again. Who asked for it is on record before, and that
// it was refused behind it.
func (c *call) replayOne(ctx context.Context, ref lifecycle.Ref, d replayed, since uint64) error {
	record := ledger.Acted{By: c.who.Name, Action: ledger.ActionReplay, Detail: fmt.Sprintf("webhook %s, after entry %d", d.ID, d.Since)}
	err, unkept := c.Authority.Act(ctx, ref, record, func(ctx context.Context) error { return c.Push.Replay(ctx, ref, d.ID, since) }, func(err error) string {
		switch {
		case errors.Is(err, ledger.ErrDeliveryChanged):
			return "a delivery was under way"
		case errors.Is(err, ledger.ErrNotFound):
			return "it was removed"
		}
		return "something failed on our side: whether it was done is not known"
	})
	if errors.Is(err, ledger.ErrActsFull) {
		err = refuse(err, "The task's record of operators' actions has no place left for another replay: webhook %s is told nothing again.", d.ID)
	}
	return errors.Join(err, unkept)
}

// replayable are the endpoints that are meant: one, or all of the task.
func (c *call) replayable(h lifecycle.Head, id string) ([]ledger.Endpoint, error) {
	if id == "" {
		return c.Authority.Ledger.EndpointList(c.r.Context(), h.Ref())
	}
	e, err := c.Authority.Ledger.Endpoint(c.r.Context(), h.Ref(), id)
	if errors.Is(err, ledger.ErrNotFound) {
		err = refuse(errNotFound, "The task has no such push notification configuration.")
	}
	return []ledger.Endpoint{e}, err
}
