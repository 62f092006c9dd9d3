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
	"slices"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// A2A's names of the states that matter here.
const (
	stateWorking   = "TASK_STATE_WORKING"
	stateCompleted = "TASK_STATE_COMPLETED"
)

// product is one server of what is tried, on an address and a folder of its own.
type product struct {
	*driver.Client

	dir, name, binary string
	address           string
	starts            int
	running           *driver.Process
	keys              []ed25519.PublicKey // with which it signs
}

// openProduct starts a product with a new folder.
func (t *trial) openProduct(ctx context.Context, name string) (*product, error) {
	p := &product{Client: t.Client, dir: t.dir, name: name, binary: t.binary}
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
	if err := p.Get(ctx, p.url()+"/.well-known/webhook-keys.json", &published); err != nil {
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
	args := append([]string{"serve", "--addr", p.address, "--data", filepath.Join(p.dir, p.name+"-data")}, timing...)
	if p.running, err = driver.Start(p.dir, fmt.Sprintf("%s-%d", p.name, p.starts), p.binary, args...); err != nil {
		return err
	}
	return until(ctx, "the product takes requests", p.running, func(ctx context.Context) (bool, error) {
		var health struct{}
		err := p.Get(ctx, p.url()+"/healthz", &health)
		return err == nil, err
	})
}

// kill ends the product with SIGKILL.
func (p *product) kill() error {
	defer p.Forget()
	return p.running.Kill()
}

// submit sends a first message with a webhook, and gives the task's ID.
func (p *product) submit(ctx context.Context, messageID, text, hook string) (string, error) {
	a, err := p.Ask(ctx, http.MethodPost, p.url()+"/message:send", driver.Object{
		"message":       driver.Object{"messageId": messageID, "role": "ROLE_USER", "parts": []driver.Object{{"text": text}}},
		"configuration": driver.Object{"returnImmediately": true, "taskPushNotificationConfig": driver.Object{"id": "hook", "url": hook, "token": token}},
	})
	if err != nil {
		return "", err
	}
	task, err := driver.Sent[struct {
		ID string `json:"id"`
	}](a)
	return task.ID, err
}

// register adds another webhook to a task.
func (p *product) register(ctx context.Context, task, id, hook string) error {
	var made struct{}
	return p.AskFor(ctx, http.MethodPost, p.url()+"/tasks/"+task+"/pushNotificationConfigs", driver.Object{"id": id, "url": hook}, &made)
}

// entry is what is read of an entry of a task's ledger.
type entry struct {
	Seq        uint64    `json:"seq"`
	Type       string    `json:"type"`
	AcceptedAt time.Time `json:"acceptedAt"`
	Payload    struct {
		State   string         `json:"state"`
		Message *driver.Object `json:"message"`
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
	err := p.Get(ctx, p.url()+"/tasks/"+task+"/ledger?limit=1000", &all)
	return all, err
}

// visible lists the entries that callers see.
func (l page) visible() []uint64 {
	var v driver.Visible
	for _, e := range l.Entries {
		v.Add(e.Seq, e.Type, e.Payload.State, e.Payload.Message != nil)
	}
	return v.Seqs
}

// redeliver has a task's webhooks delivered again, as operators do.
func (p *product) redeliver(ctx context.Context, task string, flags ...string) error {
	_, err := driver.Output(ctx, p.dir, p.binary, slices.Concat([]string{"redeliver", "--server", p.url()}, flags, []string{task})...)
	return err
}

// refused counts, in what it has logged, the attempts that nobody listened to.
func (p *product) refused() (int, error) {
	log, err := os.ReadFile(p.running.Log)
	return bytes.Count(log, []byte("cause=refused")), err
}

// freeAddress is an address that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	list, err := driver.FreeAddresses(ctx, 1)
	if err != nil {
		return "", err
	}
	return list[0], nil
}

// end kills the product if it runs.
func (p *product) end() {
	if p != nil {
		_ = driver.End(p.running)
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
