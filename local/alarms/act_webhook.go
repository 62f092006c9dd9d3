package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// receiver takes webhooks when it is well.
type receiver struct {
	url    string
	well   atomic.Bool
	calls  atomic.Int64
	server *http.Server
}

func newReceiver(ctx context.Context) (*receiver, error) {
	listener, err := driver.Listen(ctx)
	if err != nil {
		return nil, err
	}
	r := &receiver{url: "http://" + listener.Addr().String() + "/hook"}
	r.server = &http.Server{ReadHeaderTimeout: requestTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.calls.Add(1)
		if !r.well.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	go func() { _ = r.server.Serve(listener) }() // until it is closed
	return r, nil
}

// deafReceiver has a webhook that takes nothing, until it is not called any more. Three
// days pass by the server's clock.
func (s *story) deafReceiver(ctx context.Context, on *server) (err error) {
	r, err := newReceiver(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.server.Close()) }()
	mark := on.written()
	task, err := on.send(ctx, "two-steps", "webhook-1", "go")
	if err != nil {
		return err
	}
	hooks := "/two-steps/tasks/" + task + "/pushNotificationConfigs"
	hook := object{"id": "hook", "url": r.url}
	if err := on.must(ctx, http.MethodPost, hooks, hook, nil); err != nil {
		return err
	}
	err = until(ctx, "the webhook has failed", func(ctx context.Context) (bool, error) {
		l, err := on.light(ctx, "undelivered")
		return err == nil && l.names(task), err
	})
	if err != nil {
		return err
	}
	passed := 20 * time.Minute
	if err := on.restart(ctx, stop, ahead(passed, often)...); err != nil {
		return err
	}
	if err := s.shows(ctx, on, trouble{id: "undelivered", how: "a webhook that answers 503, for 20 minutes of the server's clock", color: "red", agent: "two-steps", task: task, mark: mark, least: 900}); err != nil {
		return err
	}
	for range rungs {
		passed += rung
		before := r.calls.Load()
		if err := on.restart(ctx, stop, ahead(passed, often)...); err != nil {
			return err
		}
		givenUp := false
		err := until(ctx, "it is tried again, or was given up", func(ctx context.Context) (bool, error) {
			l, err := on.light(ctx, "delivery-given-up")
			givenUp = l.Light == "red"
			return givenUp || r.calls.Load() > before, err
		})
		if err != nil {
			return err
		}
		if givenUp {
			break
		}
	}
	if err := s.shows(ctx, on, trouble{id: "delivery-given-up", how: fmt.Sprintf("the same webhook, for %s", passed), color: "red", agent: "two-steps", task: task, mark: mark}); err != nil {
		return err
	}
	r.well.Store(true)
	if _, err := driver.Output(ctx, s.dir, filepath.Join(s.dir, "holdfast"), "redeliver", "--server", on.url(), "--agent", "two-steps", task); err != nil {
		return err
	}
	return s.over(ctx, on, "the receiver is back, and an operator has it delivered to again", "undelivered", "delivery-given-up")
}
