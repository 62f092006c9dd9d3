package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// hookCredentials are what the webhook wants to see.
const hookCredentials = "webhooks-own-0123456789abcdefghijklmnopqrstuvwxyz"

// hookFails is how many requests it refuses first: the stream function's. The next one is an execution's.
const hookFails = 1

// receiver is a webhook on this machine.
type receiver struct {
	mu      sync.Mutex
	refused int
	ids     map[string]bool // of what was refused
	taken   []uint64
	last    string // state that the last update tells
	odd     []string
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, maxAnswerBytes))
	var update struct {
		StatusUpdate struct {
			Status struct{ State string }
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	seq, badSeq := strconv.ParseUint(req.Header.Get("Holdfast-Sequence"), 10, 64)
	if err != nil || badSeq != nil || json.Unmarshal(body, &update) != nil || req.Header.Get("Authorization") != "Bearer "+hookCredentials || req.Header.Get("webhook-signature") == "" {
		r.odd = append(r.odd, fmt.Sprintf("update %q with %d bytes", req.Header.Get("Holdfast-Sequence"), len(body)))
	}
	id := req.Header.Get("webhook-id")
	if r.refused < hookFails {
		r.refused++
		r.ids[id] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	if len(r.taken) == 0 && !r.ids[id] {
		r.odd = append(r.odd, "the first update came under another id")
	}
	r.taken, r.last = append(r.taken, seq), update.StatusUpdate.Status.State
}

// state is what it has got so far.
func (r *receiver) state() (taken []uint64, last string, odd []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken), r.last, r.odd
}

// hook has a task's updates delivered to a webhook that fails at first: the stream function tries once, and an execution of
// the delivery machine brings the rest.
func (t *test) hook(ctx context.Context) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	r := &receiver{ids: map[string]bool{}}
	server := &http.Server{Handler: r, ReadHeaderTimeout: requestTime}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // until it is closed
	}()
	defer func() { _ = server.Close(); <-done }()
	body, err := json.Marshal(object{
		"message": object{"messageId": "hooked-1", "role": "ROLE_USER", "parts": []object{{"text": "count 2"}}},
		"configuration": object{"returnImmediately": true, "taskPushNotificationConfig": object{
			"url": "http://" + listener.Addr().String() + "/hook", "authentication": object{"scheme": "Bearer", "credentials": hookCredentials},
		}},
	})
	if err != nil {
		return err
	}
	sent, err := t.api.send(ctx, "", body)
	if err != nil {
		return err
	}
	var taken []uint64
	if err := t.until(ctx, "the end was delivered", waitTime, func(context.Context) (bool, error) {
		var last string
		taken, last, _ = r.state()
		return last == stateCompleted, fmt.Errorf("%d updates, the last %s", len(taken), last)
	}); err != nil {
		return err
	}
	if _, _, odd := r.state(); len(odd) > 0 || !slices.IsSorted(taken) || len(slices.Compact(slices.Clone(taken))) != len(taken) {
		return fmt.Errorf("it was sent the updates %v: %q", taken, odd)
	}
	t.seen.delivered = len(taken)
	return t.deliveryExecution(ctx, sent.ID)
}

// deliveryExecution wants an execution of the delivery machine for a task, which has ended well.
func (t *test) deliveryExecution(ctx context.Context, task string) error {
	return t.until(ctx, "the execution of its deliveries has ended", waitTime, func(ctx context.Context) (bool, error) {
		var out struct {
			Executions []struct {
				Name   string `json:"name"`
				Status string `json:"status"`
			} `json:"executions"`
		}
		if err := t.aws(ctx, &out, "stepfunctions", "list-executions", "--state-machine-arn", t.cloud.resources["DeliveryMachine"]); err != nil {
			return false, err
		}
		for _, e := range out.Executions {
			if strings.HasPrefix(e.Name, task) && e.Status == "SUCCEEDED" {
				return true, nil
			}
		}
		return false, fmt.Errorf("executions: %+v", out.Executions)
	})
}
