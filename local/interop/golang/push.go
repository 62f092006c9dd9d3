package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// hook is where nobody listens; the configurations are gone before anything could
// be sent there.
const hook = "https://hooks.example/a2a"

func endpoint(task a2a.TaskID, id string) *a2a.PushConfig {
	return &a2a.PushConfig{TaskID: task, ID: id, URL: hook, Token: "token-secret", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "bearer-secret"}}
}

func push(ctx context.Context, p *peer) (string, error) {
	task, err := p.send(ctx, message(text("ask")), nil)
	if err != nil {
		return "", err
	}
	if !p.card.Capabilities.PushNotifications {
		return "not offered: each operation was refused", noPush(ctx, p, task.ID)
	}
	return "offered", pushes{p, task.ID}.play(ctx)
}

func noPush(ctx context.Context, p *peer, task a2a.TaskID) error {
	_, created := p.CreateTaskPushConfig(ctx, endpoint(task, ""))
	_, got := p.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: task, ID: "first"})
	_, listed := p.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: task})
	deleted := p.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: task, ID: "first"})
	_, sent := p.send(ctx, message(text("ask")), &a2a.SendMessageConfig{PushConfig: endpoint("", "")})
	return first(
		refused(created, a2a.ErrPushNotificationNotSupported, "create"),
		refused(got, a2a.ErrPushNotificationNotSupported, "get"),
		refused(listed, a2a.ErrPushNotificationNotSupported, "list"),
		refused(deleted, a2a.ErrPushNotificationNotSupported, "delete"),
		refused(sent, a2a.ErrPushNotificationNotSupported, "send with a configuration"),
	)
}

// pushes are the configurations of one task.
type pushes struct {
	*peer

	task a2a.TaskID
}

func (p pushes) play(ctx context.Context) error {
	named, err := p.create(ctx, "first")
	if err != nil {
		return err
	}
	second, err := p.create(ctx, "")
	if err != nil {
		return err
	}
	if err := first(same(named, "first", "id"), check(second != "" && second != named, "the server gave the id %q", second)); err != nil {
		return err
	}
	for _, id := range []string{named, second} {
		config, err := p.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: p.task, ID: id})
		if err := first(err, p.fits(config, id)); err != nil {
			return fmt.Errorf("get %s: %w", id, err)
		}
	}
	if err := p.listed(ctx, named, second); err != nil {
		return err
	}
	for _, id := range []string{named, named, second} {
		if err := p.DeleteTaskPushConfig(ctx, &a2a.DeleteTaskPushConfigRequest{TaskID: p.task, ID: id}); err != nil {
			return fmt.Errorf("delete %s: %w", id, err)
		}
	}
	_, err = p.GetTaskPushConfig(ctx, &a2a.GetTaskPushConfigRequest{TaskID: p.task, ID: named})
	return first(p.listed(ctx), refused(err, a2a.ErrTaskNotFound, "a deleted configuration"))
}

func (p pushes) create(ctx context.Context, id string) (string, error) {
	config, err := p.CreateTaskPushConfig(ctx, endpoint(p.task, id))
	if err != nil {
		return "", fmt.Errorf("create: %w", err)
	}
	return config.ID, p.fits(config, config.ID)
}

func (p pushes) listed(ctx context.Context, want ...string) error {
	configs, err := p.ListTaskPushConfigs(ctx, &a2a.ListTaskPushConfigRequest{TaskID: p.task})
	if err != nil {
		return fmt.Errorf("list: %w", err)
	}
	got, expected := map[string]bool{}, map[string]bool{}
	for _, c := range configs {
		got[c.ID] = true
		err = first(err, p.fits(c, c.ID))
	}
	for _, id := range want {
		expected[id] = true
	}
	return first(err, same(len(configs), len(want), "number of configurations"), same(got, expected, "configurations"))
}

// fits says that a configuration is the one that was created, less its secrets.
func (p pushes) fits(c *a2a.PushConfig, id string) error {
	if c == nil {
		return nil // there was an error
	}
	secrets := c.Token
	if c.Auth != nil {
		secrets += c.Auth.Credentials
	}
	return first(
		same([]string{string(c.TaskID), c.ID, c.URL}, []string{string(p.task), id, hook}, "configuration"),
		check(!strings.Contains(secrets, "secret"), "a secret came back"),
	)
}
