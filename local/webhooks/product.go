package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// A2A's names of the states that matter here.
const (
	stateWorking   = "TASK_STATE_WORKING"
	stateCompleted = "TASK_STATE_COMPLETED"
)

// product is one server of what is tried, on an address and a folder of its own.
type product struct {
	*client

	dir, name, binary string
	address           string
	starts            int
	running           *process
	keys              []ed25519.PublicKey // with which it signs
}

// openProduct starts a product with a new folder.
func (t *trial) openProduct(ctx context.Context, name string) (*product, error) {
	p := &product{client: t.client, dir: t.dir, name: name, binary: t.binary}
	var err error
	if p.address, err = freeAddress(ctx); err != nil {
		return nil, err
	}
	if err := p.start(ctx); err != nil {
		return p, err
	}
	var published struct {
		Keys []string `json:"keys"`
	}
	if err := p.ask(ctx, http.MethodGet, p.url()+"/.well-known/webhook-keys.json", nil, &published); err != nil {
		return p, err
	}
	for _, text := range published.Keys {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whpk_"))
		if err != nil || len(key) != ed25519.PublicKeySize {
			return p, fmt.Errorf("the published key %q is none", text)
		}
		p.keys = append(p.keys, key)
	}
	return p, nil
}

func (p *product) url() string { return "http://" + p.address }

// start starts the product on the one address and data folder, and waits until it takes
// requests.
func (p *product) start(ctx context.Context) (err error) {
	p.starts++
	args := append([]string{p.binary, "serve", "--addr", p.address, "--data", filepath.Join(p.dir, p.name+"-data")}, timing...)
	if p.running, err = startProcess(p.dir, fmt.Sprintf("%s-%d", p.name, p.starts), nil, args...); err != nil {
		return err
	}
	return until(ctx, "the product takes requests", p.running, func(ctx context.Context) (bool, error) {
		err := p.ask(ctx, http.MethodGet, p.url()+"/healthz", nil, nil)
		return err == nil, err
	})
}

// kill ends the product with SIGKILL.
func (p *product) kill() error {
	defer p.http.CloseIdleConnections() // the process at their other end is gone
	return p.running.kill()
}

// submit sends a first message with a webhook, and gives the task's ID.
func (p *product) submit(ctx context.Context, messageID, text, hook string) (string, error) {
	var sent struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	err := p.ask(ctx, http.MethodPost, p.url()+"/message:send", object{
		"message":       object{"messageId": messageID, "role": "ROLE_USER", "parts": []object{{"text": text}}},
		"configuration": object{"returnImmediately": true, "taskPushNotificationConfig": object{"id": "hook", "url": hook, "token": token}},
	}, &sent)
	if err == nil && sent.Task.ID == "" {
		err = fmt.Errorf("the answer to %s is no task", messageID)
	}
	return sent.Task.ID, err
}

// register adds another webhook to a task.
func (p *product) register(ctx context.Context, task, id, hook string) error {
	return p.ask(ctx, http.MethodPost, p.url()+"/tasks/"+task+"/pushNotificationConfigs", object{"id": id, "url": hook}, nil)
}

// entry is what is read of an entry of a task's ledger.
type entry struct {
	Seq        uint64    `json:"seq"`
	Type       string    `json:"type"`
	AcceptedAt time.Time `json:"acceptedAt"`
	Payload    struct {
		State   string  `json:"state"`
		Message *object `json:"message"`
	} `json:"payload"`
}

// page is a task's ledger with its head.
type page struct {
	Entries []entry `json:"entries"`
	Head    struct {
		State string `json:"state"`
		Seq   uint64 `json:"seq"`
	} `json:"head"`
}

func (p *product) ledger(ctx context.Context, task string) (page, error) {
	var all page
	err := p.ask(ctx, http.MethodGet, p.url()+"/tasks/"+task+"/ledger?limit=1000", nil, &all)
	return all, err
}

// visible lists the entries that callers see: messages, pieces of artifacts and changes
// of the state.
func (l page) visible() []uint64 {
	var seqs []uint64
	state := ""
	for _, e := range l.Entries {
		before := state
		if e.Payload.State != "" {
			state = e.Payload.State
		}
		switch {
		case e.Type == "message":
		case e.Type == "submitted", e.Type == "reply", e.Type == "chunk", e.Payload.Message != nil, state != before:
			seqs = append(seqs, e.Seq)
		}
	}
	return seqs
}

// refused counts, in what it has logged, the attempts that nobody listened to.
func (p *product) refused() (int, error) {
	log, err := os.ReadFile(p.running.log)
	return bytes.Count(log, []byte("cause=refused")), err
}

// end kills the product if it runs.
func (p *product) end() {
	if p != nil {
		p.running.end()
	}
}

// showAll is what an operator is shown of a task's webhooks. args say where the task is.
func showAll(ctx context.Context, binary string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	text, err := exec.CommandContext(ctx, binary, append([]string{"show"}, args...)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("holdfast show: %w: %s", err, text)
	}
	_, hooks, is := strings.Cut(string(text), "\nwebhooks\n")
	if !is {
		return "", fmt.Errorf("holdfast show says nothing of the webhook: %s", text)
	}
	hooks, _, _ = strings.Cut(hooks, "\n\n")
	return hooks, nil
}

// show is what it says first of a task's only webhook: its state, and how far it is.
func show(ctx context.Context, binary string, args ...string) (string, error) {
	hooks, err := showAll(ctx, binary, args...)
	line, _, _ := strings.Cut(hooks, "\n")
	_, state, _ := strings.Cut(line, ", ") // behind its name and origin
	return state, err
}
