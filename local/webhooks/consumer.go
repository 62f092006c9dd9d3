package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// consumer is one of the receivers that are there to be copied, as a process.
type consumer struct {
	name     string
	dir      string
	command  []string // with which it is started; its flags are the same in both languages
	server   []string // the flags that say whose webhooks it takes
	address  string
	state    string // the file that outlives it
	starts   int
	running  *driver.Process
	finished []string // what its earlier processes have printed
}

// receiver is the consumer in a language, for the webhooks of a server.
func (t *trial) receiver(ctx context.Context, language, purpose, server string) (*consumer, error) {
	address, err := freeAddress(ctx)
	c := &consumer{name: language, address: address, dir: t.dir, state: filepath.Join(t.dir, purpose+"-"+strings.ToLower(language)+".state")}
	if language == "Go" {
		c.command, c.server = []string{t.binary, "receive", "--json"}, []string{"--server", server}
	} else {
		c.command, c.server = []string{t.python, "-B", filepath.Join(t.root, "events", "receiver", "receiver.py")}, []string{server}
	}
	return c, err
}

// start starts its process, and waits until it listens.
func (c *consumer) start(ctx context.Context) (err error) {
	c.starts++
	command := slices.Concat(c.command, c.server, []string{"--addr", c.address, "--state", c.state})
	cmd := exec.Command(command[0], command[1:]...) //nolint:noctx // its end is its own business: it is killed
	cmd.Env = append(os.Environ(), "HOLDFAST_WEBHOOK_TOKEN="+token)
	if c.running, err = driver.StartCommand(c.dir, fmt.Sprintf("%s-%d", filepath.Base(c.state), c.starts), cmd); err != nil {
		return err
	}
	_, err = c.running.FirstLine(ctx, waitTime)
	return err
}

// restart kills it and starts it again.
func (c *consumer) restart(ctx context.Context) error {
	if err := c.running.Kill(); err != nil {
		return err
	}
	finished, err := c.said()
	if err != nil {
		return err
	}
	c.finished = finished
	return c.start(ctx)
}

// said are the lines that all its processes have printed.
func (c *consumer) said() ([]string, error) {
	text, err := os.ReadFile(c.running.Output)
	lines := slices.Clone(c.finished)
	for line := range strings.Lines(string(text)) {
		if strings.HasSuffix(line, "\n") {
			lines = append(lines, line)
		}
	}
	return lines, err
}

// saysMore waits until they have printed more lines than that.
func (c *consumer) saysMore(ctx context.Context, than int) error {
	return until(ctx, "the receiver in "+c.name+" says what it has taken", c.running, func(context.Context) (bool, error) {
		lines, err := c.said()
		return len(lines) > than, err
	})
}

// stored is what has been taken for good, as task:sequence, in order: what a process of
// its own lists.
func (c *consumer) stored(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	command := slices.Concat(c.command, c.server, []string{"--state", c.state, "--list"})
	text, err := exec.CommandContext(ctx, command[0], command[1:]...).Output()
	if err != nil {
		return nil, fmt.Errorf("listing what the receiver in %s has taken: %w", c.name, err)
	}
	var out []string
	for line := range strings.Lines(string(text)) {
		var u struct {
			Task     string `json:"task"`
			Sequence uint64 `json:"sequence"`
		}
		if err := json.Unmarshal([]byte(line), &u); err != nil {
			return nil, fmt.Errorf("the receiver in %s lists %q: %w", c.name, line, err)
		}
		out = append(out, fmt.Sprintf("%s:%d", u.Task, u.Sequence))
	}
	return out, nil
}

// wantStored is an error unless exactly that has been taken, in that order.
func (c *consumer) wantStored(ctx context.Context, want ...string) error {
	got, err := c.stored(ctx)
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("the receiver in %s has stored %v, want %v", c.name, got, want)
	}
	return err
}

// want is an error unless a message is answered so.
func (c *consumer) want(ctx context.Context, what string, m message, status string) error {
	got, err := m.send(ctx, c.address)
	if err == nil && got != status {
		err = errors.New("answered " + got + ", want " + status)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
