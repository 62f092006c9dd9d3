package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
)

// caller makes requests, each on a connection of its own.
var caller = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// ask makes one request.
func ask(ctx context.Context, method, url, host string, header http.Header, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	if host != "" {
		req.Host = host
	}
	maps.Copy(req.Header, header)
	resp, err := caller.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return answer{resp.StatusCode, resp.Header, text}, err
}

// newKey makes an API key, and what the template's parameter ApiKeys takes of it.
func newKey() (key, entry string, err error) {
	var random [24]byte
	_, _ = rand.Read(random[:]) // never fails (crypto/rand)
	key = base64.RawURLEncoding.EncodeToString(random[:])
	sum := sha256.Sum256([]byte(key))
	text, err := json.Marshal([]map[string]string{{"tenant": "acme", "name": "deploy-test", "sha256": hex.EncodeToString(sum[:])}})
	return key, string(text), err
}

// api is the deployed REST API. It is reached by the host name that API Gateway gives it.
type api struct {
	t  *test
	id string
}

func (a api) host() string { return a.id + ".execute-api.localhost" }

// call makes a request as the caller whose key was deployed.
func (a api) call(ctx context.Context, method, path string, body []byte) (answer, error) {
	header := http.Header{"A2a-Version": {"1.0"}, "Authorization": {"Bearer " + a.t.key}}
	if body != nil {
		header.Set("Content-Type", "application/a2a+json")
	}
	return ask(ctx, method, a.t.cloud.endpoint+"/v1"+path, a.host(), header, body)
}

// get makes a request that must succeed, and decodes its answer.
func (a api) get(ctx context.Context, method, path string, body []byte, into any) error {
	got, err := a.call(ctx, method, path, body)
	if err != nil {
		return err
	}
	if got.status != http.StatusOK {
		return fmt.Errorf("%s %s: %d %.500s", method, path, got.status, got.body)
	}
	if err := json.Unmarshal(got.body, into); err != nil {
		return fmt.Errorf("%s %s: %w: %.500s", method, path, err, got.body)
	}
	return nil
}

// extensionURI names the metadata in which the product says more than A2A does.
const extensionURI = "urn:holdfast:a2a:durable-task:v1"

// A2A's names of states.
const (
	stateInput     = "TASK_STATE_INPUT_REQUIRED"
	stateCompleted = "TASK_STATE_COMPLETED"
	stateCanceled  = "TASK_STATE_CANCELED"
	stateFailed    = "TASK_STATE_FAILED"
	stateRejected  = "TASK_STATE_REJECTED"
)

// task is what is read of an A2A task.
type task struct {
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	Status    struct {
		State   string `json:"state"`
		Message struct {
			Parts []part `json:"parts"`
		} `json:"message"`
	} `json:"status"`
	Artifacts []struct {
		Parts []part `json:"parts"`
	} `json:"artifacts"`
	Metadata struct {
		Own struct {
			Pause int `json:"pause"`
		} `json:"urn:holdfast:a2a:durable-task:v1"` //nolint:tagliatelle // extensionURI
	} `json:"metadata"`
}

type part struct {
	Text *string `json:"text"`
}

// text is the first text of a list of parts.
func text(parts []part) string {
	for _, p := range parts {
		if p.Text != nil {
			return *p.Text
		}
	}
	return ""
}

// object is a JSON object in the making.
type object map[string]any

// say makes the body of a message, with more of it when there is more.
func say(id, words string, more object) ([]byte, error) {
	message := object{"messageId": id, "role": "ROLE_USER", "parts": []object{{"text": words}}}
	maps.Copy(message, more)
	return json.Marshal(object{"message": message, "configuration": object{"returnImmediately": true}})
}

// send is SendMessage to an agent, by the beginning of its path.
func (a api) send(ctx context.Context, agent string, body []byte) (task, error) {
	var sent struct {
		Task task `json:"task"`
	}
	err := a.get(ctx, http.MethodPost, agent+"/message:send", body, &sent)
	if err == nil && sent.Task.ID == "" {
		err = errors.New("the answer to a message is no task")
	}
	return sent.Task, err
}

func (a api) task(ctx context.Context, agent, id string) (found task, err error) {
	return found, a.get(ctx, http.MethodGet, agent+"/tasks/"+id, nil, &found)
}

// reaches waits until a task is in a state, or cannot get there any more.
func (a api) reaches(ctx context.Context, agent, id, state string) (found task, err error) {
	err = a.t.until(ctx, "task "+id+" is "+state, waitTime, func(ctx context.Context) (bool, error) {
		if found, err = a.task(ctx, agent, id); err != nil {
			return false, err
		}
		return found.Status.State == state, fmt.Errorf("it is %s: %.200s", found.Status.State, text(found.Status.Message.Parts))
	})
	return found, err
}
