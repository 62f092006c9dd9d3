package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// extensionURI names the metadata in which the product says more than A2A does.
const extensionURI = "urn:holdfast:a2a:durable-task:v1"

// A2A's names of the states that matter here.
const (
	stateInput     = "TASK_STATE_INPUT_REQUIRED"
	stateCompleted = "TASK_STATE_COMPLETED"
)

// The driver's nouns under their own names.
type (
	answer  = driver.Answer
	object  = driver.Object
	process = driver.Process
)

// caller makes requests, each on a connection of its own.
var caller = driver.NewClient(0)

// until looks until a condition holds. A process that ends meanwhile ends the wait.
func until(ctx context.Context, what string, needs *process, holds func(context.Context) (bool, error)) error {
	return driver.Until(ctx, driver.Wait{What: what, Limit: waitTime, Needs: []*process{needs}}, holds)
}

// product is the server under test, by its address.
type product string

// agent is the address of the agent that reviews.
func (p product) agent() string { return string(p) + "/" + agentName }

// task is what is read of an A2A task.
type task struct {
	ID        string `json:"id"`
	ContextID string `json:"contextId"`
	Status    struct {
		State   string   `json:"state"`
		Message *message `json:"message"`
	} `json:"status"`
	Artifacts []artifact `json:"artifacts"`
	Metadata  metadata   `json:"metadata"`
}

type message struct {
	Parts []part `json:"parts"`
}

type artifact struct {
	ID    string `json:"artifactId"`
	Name  string `json:"name"`
	Parts []part `json:"parts"`
}

type part struct {
	Text      *string         `json:"text"`
	Raw       []byte          `json:"raw"`
	Data      json.RawMessage `json:"data"`
	URL       string          `json:"url"`
	MediaType string          `json:"mediaType"`
}

// metadata is the product's own.
type metadata struct {
	Own struct {
		Sequence uint64 `json:"sequence"`
		Pause    int    `json:"pause"`
		Replay   bool   `json:"replay"`
	} `json:"urn:holdfast:a2a:durable-task:v1"` //nolint:tagliatelle // extensionURI
}

// ready says whether the product takes requests.
func (p product) ready(ctx context.Context) (bool, error) {
	a, err := caller.Ask(ctx, http.MethodGet, string(p)+"/healthz", nil)
	return err == nil && a.Status == http.StatusOK, err
}

// version is the agent's current version, as its card says.
func (p product) version(ctx context.Context) (string, error) {
	var card struct {
		Version string `json:"version"`
	}
	err := caller.AskFor(ctx, http.MethodGet, p.agent()+"/.well-known/agent-card.json", nil, &card)
	return card.Version, err
}

// send is SendMessage.
func (p product) send(ctx context.Context, body []byte) (answer, error) {
	return caller.Ask(ctx, http.MethodPost, p.agent()+"/message:send", body)
}

// reply is the body of the message that approves, naming the pause.
func reply(t task, messageID string) ([]byte, error) {
	return json.Marshal(object{
		"configuration": object{"returnImmediately": true},
		"message": object{
			"messageId": messageID, "role": "ROLE_USER", "taskId": t.ID, "contextId": t.ContextID,
			"parts":    []object{{"text": approval}},
			"metadata": object{extensionURI: object{"pause": t.Metadata.Own.Pause}},
		},
	})
}

func (p product) task(ctx context.Context, id string) (t task, err error) {
	return t, caller.AskFor(ctx, http.MethodGet, p.agent()+"/tasks/"+id, nil, &t)
}

// tasks counts the agent's tasks.
func (p product) tasks(ctx context.Context) (int, error) {
	var list struct {
		TotalSize int `json:"totalSize"`
	}
	err := caller.AskFor(ctx, http.MethodGet, p.agent()+"/tasks", nil, &list)
	return list.TotalSize, err
}

// page is a piece of a task's ledger with its head.
type page struct {
	Entries []entry `json:"entries"`
	Head    head    `json:"head"`
}

type head struct {
	State        string `json:"state"`
	Seq          uint64 `json:"seq"`
	AgentVersion int    `json:"agentVersion"`
	Fence        uint64 `json:"fence"`
	Generation   uint64 `json:"generation"`
}

// entry is one event of a task.
type entry struct {
	Seq     uint64 `json:"seq"`
	Type    string `json:"type"`
	Holder  string `json:"holder"`
	Fence   uint64 `json:"fence"`
	Chain   string `json:"chain"`
	Payload struct {
		State      string   `json:"state"`
		Message    *message `json:"message"`
		Submission *struct {
			AgentVersion int `json:"agentVersion"`
		} `json:"submission"`
		Checkpoint *struct {
			Step string `json:"step"`
		} `json:"checkpoint"`
	} `json:"payload"`
}

// after reads the entries behind a sequence, and the head.
func (p product) after(ctx context.Context, id string, seq uint64) (page, error) {
	var all page
	for {
		var more page
		if err := caller.AskFor(ctx, http.MethodGet, fmt.Sprintf("%s/tasks/%s/ledger?after=%d&limit=1000", p.agent(), id, seq), nil, &more); err != nil {
			return all, err
		}
		all.Entries, all.Head = append(all.Entries, more.Entries...), more.Head
		if len(more.Entries) == 0 {
			return all, nil
		}
		seq = more.Entries[len(more.Entries)-1].Seq
	}
}

// effect is the record of one outside call.
type effect struct {
	Name  string `json:"name"`
	Key   string `json:"key"`
	State string `json:"state"`
	Calls int    `json:"calls"`
}

func (p product) effects(ctx context.Context, id string) ([]effect, error) {
	var list struct {
		Effects []effect `json:"effects"`
	}
	err := caller.AskFor(ctx, http.MethodGet, p.agent()+"/tasks/"+id+"/effects", nil, &list)
	return list.Effects, err
}
