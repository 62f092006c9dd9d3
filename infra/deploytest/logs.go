package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// messages are the lines of a function's log, by the folder of the function.
func (t *test) messages(ctx context.Context, function string) (lines []string, err error) {
	var out struct {
		Events []struct {
			Message string `json:"message"`
		} `json:"events"`
	}
	if err := t.aws(ctx, &out, "logs", "filter-log-events", "--log-group-name", "/holdfast/"+stackName+"/"+function); err != nil {
		return nil, err
	}
	for _, e := range out.Events {
		lines = append(lines, e.Message)
	}
	return lines, nil
}

// counted finds what the stream function says of a batch, in either format of a log: the emulator does not ask for JSON.
var counted = regexp.MustCompile(`\bentries"?[=:](\d+)`)

// stream wants every entry of every task to have come to the stream function, through the mapping and its filters.
func (t *test) stream(ctx context.Context) error {
	total := 0
	for _, agent := range []string{"", reviewAgent} {
		var list struct {
			Tasks []task `json:"tasks"`
		}
		if err := t.api.get(ctx, http.MethodGet, agent+"/tasks?pageSize=100", nil, &list); err != nil {
			return err
		}
		for _, one := range list.Tasks {
			entries, err := t.entries(ctx, agent, one.ID)
			if err != nil {
				return err
			}
			total += len(entries)
		}
	}
	return t.until(ctx, fmt.Sprintf("the stream function has counted %d entries", total), waitTime, func(ctx context.Context) (bool, error) {
		lines, err := t.messages(ctx, "stream")
		if err != nil {
			return false, err
		}
		t.seen.streamed = 0
		for _, found := range counted.FindAllStringSubmatch(strings.Join(lines, "\n"), -1) {
			n, _ := strconv.Atoi(found[1]) // digits
			t.seen.streamed += n
		}
		return t.seen.streamed >= total, fmt.Errorf("it has counted %d", t.seen.streamed)
	})
}

// sweep wants the schedule to have called its function.
func (t *test) sweep(ctx context.Context) error {
	return t.until(ctx, "the schedule has called the sweep", waitTime, func(ctx context.Context) (bool, error) {
		lines, err := t.messages(ctx, "sweep")
		return strings.Contains(strings.Join(lines, "\n"), "looked"), err
	})
}

// seedBytes is how long a key of the ring is that is not wrapped.
const seedBytes = 32

// secrets looks for callback tokens and the caller's key where they must not be (I9): in logs and in the streamed table.
func (t *test) secrets(ctx context.Context) error {
	var private struct {
		Items []map[string]struct {
			Text   string `json:"S"`
			Binary string `json:"B"`
		}
	}
	if err := t.aws(ctx, &private, "dynamodb", "scan", "--table-name", t.cloud.outputs["PrivateTable"]); err != nil {
		return err
	}
	secrets := []string{t.key, hookCredentials}
	for _, item := range private.Items {
		if kept, err := base64.StdEncoding.DecodeString(item["secret"].Binary); err != nil || len(kept) == seedBytes {
			return fmt.Errorf("a key of the ring lies in the private table as it is, %w", err)
		}
		if token := item["value"].Text; token != "" {
			secrets = append(secrets, token)
		}
	}
	if len(secrets) < 4 {
		return fmt.Errorf("the private table has %d callback tokens, want those of two pauses", len(secrets)-2)
	}
	places := map[string]string{}
	for _, function := range []string{"api", "step", "settle", "stream", "deliver", "sweep"} {
		lines, err := t.messages(ctx, function)
		if err != nil {
			return err
		}
		places["the log of "+function] = strings.Join(lines, "\n")
	}
	tasks, err := t.command(ctx, t.account(), t.bin+"/aws", "dynamodb", "scan", "--table-name", t.cloud.outputs["TasksTable"], "--output", "json")
	if err != nil {
		return err
	}
	places["the table of tasks"] = string(tasks)
	for place, text := range places {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				return fmt.Errorf("%s holds a credential", place)
			}
		}
	}
	return nil
}
