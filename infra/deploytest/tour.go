package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// hello is the first half of the README's tour: the card, a message, the same message again, the task and the list.
func (t *test) hello(ctx context.Context) error {
	var card struct {
		Name         string `json:"name"`
		Capabilities struct {
			Streaming bool `json:"streaming"`
		} `json:"capabilities"`
		SupportedInterfaces []struct {
			URL string `json:"url"`
		} `json:"supportedInterfaces"`
	}
	if err := t.api.get(ctx, http.MethodGet, "/.well-known/agent-card.json", nil, &card); err != nil {
		return err
	}
	if card.Name == "" || len(card.SupportedInterfaces) == 0 || !strings.Contains(card.SupportedInterfaces[0].URL, t.api.host()+"/v1") {
		return fmt.Errorf("the card: %+v", card)
	}
	body, err := say("hello-1", "Ada", nil)
	if err != nil {
		return err
	}
	first, err := t.api.send(ctx, "", body)
	if err != nil {
		return err
	}
	done, err := t.api.reaches(ctx, "", first.ID, stateCompleted)
	if err != nil {
		return err
	}
	if got := text(done.Status.Message.Parts); got != "Hello, Ada!" {
		return fmt.Errorf("it says %q", got)
	}
	again, err := t.api.send(ctx, "", body)
	if err != nil {
		return err
	}
	if again.ID != first.ID {
		return fmt.Errorf("the same message again made task %s, the first was %s", again.ID, first.ID)
	}
	var list struct {
		Tasks     []task `json:"tasks"`
		TotalSize int    `json:"totalSize"`
	}
	if err := t.api.get(ctx, http.MethodGet, "/tasks?pageSize=5", nil, &list); err != nil {
		return err
	}
	if list.TotalSize != 1 || len(list.Tasks) != 1 || list.Tasks[0].ID != first.ID {
		return fmt.Errorf("the list: %+v", list)
	}
	return nil
}

// cancel is the second half: a task that takes a while is streamed, as far as a buffered API can, and canceled.
func (t *test) cancel(ctx context.Context) error {
	body, err := say("count-1", "count 3", nil)
	if err != nil {
		return err
	}
	streamed, err := t.api.call(ctx, http.MethodPost, "/message:stream", body)
	if err != nil {
		return err
	}
	if n := bytes.Count(streamed.body, []byte("\nid: ")); streamed.status != http.StatusOK || n < 3 || !strings.HasPrefix(streamed.header.Get("Content-Type"), "text/event-stream") {
		return fmt.Errorf("the stream: %d %s with %d updates: %.500s", streamed.status, streamed.header.Get("Content-Type"), n, streamed.body)
	}
	if body, err = say("count-2", "count 100", nil); err != nil {
		return err
	}
	counting, err := t.api.send(ctx, "", body)
	if err != nil {
		return err
	}
	// The first numbers prove that somebody works: a lease is held, and the cancellation must reach its holder.
	if _, err := t.api.reaches(ctx, "", counting.ID, "TASK_STATE_WORKING"); err != nil {
		return err
	}
	if err := t.api.get(ctx, http.MethodPost, "/tasks/"+counting.ID+":cancel", nil, &task{}); err != nil {
		return err
	}
	if _, err := t.api.reaches(ctx, "", counting.ID, stateCanceled); err != nil {
		return err
	}
	return t.ledger(ctx, counting.ID)
}

// ledger reads a task's entries: numbered without gap.
func (t *test) ledger(ctx context.Context, id string) error {
	entries, err := t.entries(ctx, "", id)
	if err != nil {
		return err
	}
	for i, e := range entries {
		if e.Seq != uint64(i+1) {
			return fmt.Errorf("entry %d of the ledger has sequence %d", i+1, e.Seq)
		}
	}
	if t.seen.entries = len(entries); t.seen.entries < 3 {
		return fmt.Errorf("the ledger has %d entries", t.seen.entries)
	}
	return nil
}

// entry is what is read of an entry of a ledger.
type entry struct {
	Seq uint64 `json:"seq"`
}

func (t *test) entries(ctx context.Context, agent, id string) (all []entry, err error) {
	for {
		var page struct {
			Entries []entry `json:"entries"`
		}
		if err := t.api.get(ctx, http.MethodGet, fmt.Sprintf("%s/tasks/%s/ledger?after=%d", agent, id, len(all)), nil, &page); err != nil {
			return nil, err
		}
		if all = append(all, page.Entries...); len(page.Entries) == 0 {
			return all, nil
		}
	}
}

// strangers: without a key, or with a wrong one, nobody learns anything.
func (t *test) strangers(ctx context.Context) error {
	for _, header := range []http.Header{{}, {"Authorization": {"Bearer " + strings.Repeat("x", len(t.key))}}} {
		header.Set("A2A-Version", "1.0")
		got, err := ask(ctx, http.MethodGet, t.cloud.endpoint+"/v1/tasks", t.api.host(), header, nil)
		if err != nil {
			return err
		}
		if got.status != http.StatusUnauthorized || bytes.Contains(got.body, []byte("hello")) {
			return fmt.Errorf("a stranger got %d %.200s", got.status, got.body)
		}
	}
	got, err := ask(ctx, http.MethodGet, t.cloud.endpoint+"/v1/.well-known/agent-card.json", t.api.host(), nil, nil)
	if err == nil && got.status != http.StatusOK {
		err = errors.New("the card is not for everybody")
	}
	return err
}
