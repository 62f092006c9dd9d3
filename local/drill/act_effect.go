package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// playEffect lets the access review revoke, and kills the product when the systems
// have revoked and their answer has not arrived: after the effect, before its record.
func (d *drill) playEffect(ctx context.Context) (string, error) {
	body, err := os.ReadFile(filepath.Join(d.root, "events", "accessreview", "send.json"))
	if err != nil {
		return "", err
	}
	at := d.door(accessReviewName)
	a, err := at.Ask(ctx, http.MethodPost, at.url+"/message:send", body)
	if err != nil {
		return "", err
	}
	t, err := driver.Sent[task](a)
	if err != nil {
		return "", err
	}
	if t, err = d.waitFor(ctx, at, t.ID, stateInput); err != nil {
		return "", err
	}
	d.relay.keepBack(effectKills)
	if a, err = at.reply(ctx, t.ID, "approval", "approve all", t.Metadata.Own.Pause); err != nil {
		return "", err
	}
	if a.Status != http.StatusOK {
		return "", fmt.Errorf("the approval: %s", a)
	}
	var killed []string
	for i := range effectKills {
		key, err := d.killAfterEffect(ctx, t.ID, i)
		if err != nil {
			return "", fmt.Errorf("kill %d: %w", i+1, err)
		}
		killed = append(killed, key)
	}
	if t, err = d.waitFor(ctx, at, t.ID, stateCompleted); err != nil {
		return "", err
	}
	if err := d.checkEffects(ctx, at, t.ID, killed); err != nil {
		return "", err
	}
	_, whole, err := pictureOf(ctx, at, t.ID)
	if err != nil {
		return "", err
	}
	d.rest(at, t.ID, whole.Head)
	d.note("%d effects applied once over %d kills before their record", grantCount, len(killed))
	return fmt.Sprintf("%d revocations applied once each; %d were applied, not recorded when the product was killed, and recognised when they came again", grantCount, len(killed)), nil
}

// killAfterEffect waits until the systems have revoked and kills the product before it
// knows. The folder that it leaves says that the call was begun, and no more.
func (d *drill) killAfterEffect(ctx context.Context, id string, before int) (string, error) {
	key, err := d.relay.keeping(ctx)
	if err != nil {
		return "", err
	}
	if err := d.kill(); err != nil {
		return "", err
	}
	c, err := d.systems.counters(ctx)
	if err != nil {
		return "", err
	}
	lines, err := d.exported(ctx, id)
	if err != nil {
		return "", err
	}
	recorded := 0
	state := "not there"
	for _, l := range lines {
		if l.Kind != "effect" {
			continue
		}
		if l.Effect.State == "done" {
			recorded++
		}
		if l.Effect.Key == key {
			state = l.Effect.State
		}
	}
	if state != "intended" || c.Totals.Applied != recorded+1 || c.Totals.Repeats != before {
		return "", fmt.Errorf("%d effects are recorded, %s is %s; the systems count %+v", recorded, key, state, c.Totals)
	}
	return key, d.start(ctx)
}

// line is a line of an export, as far as the drill reads it.
type line struct {
	Kind   string `json:"kind"`
	Entry  entry  `json:"entry"`
	Effect effect `json:"effect"`
}

// exported lets a process of its own export a task from the folder, which no server
// uses.
func (d *drill) exported(ctx context.Context, id string) ([]line, error) {
	text, err := d.tool(ctx, "export", "--data", d.data(), id)
	if err != nil {
		return nil, err
	}
	return linesOf(text)
}

func (d *drill) checkEffects(ctx context.Context, at door, id string, killed []string) error {
	c, err := d.systems.counters(ctx)
	if err != nil {
		return err
	}
	applied := 0
	for grant, n := range c.Revocations {
		if n.Applied != 1 {
			return fmt.Errorf("%s was applied %d times", grant, n.Applied)
		}
		applied++
	}
	if applied != grantCount || c.Totals.Repeats != len(killed) || c.Totals.Conflicts != 0 {
		return fmt.Errorf("%d of %d grants were revoked: %+v", applied, grantCount, c.Totals)
	}
	effects, err := at.effects(ctx, id)
	if err != nil {
		return err
	}
	for _, e := range effects {
		want := 1
		if slices.Contains(killed, e.Key) {
			want = 2
		}
		if e.State != "done" || e.Calls != want {
			return fmt.Errorf("effect %s is %s after %d calls, want done after %d", e.Name, e.State, e.Calls, want)
		}
	}
	if len(effects) != grantCount {
		return fmt.Errorf("%d effects are recorded, want %d", len(effects), grantCount)
	}
	return nil
}

// waitFor waits until a task is in a state.
func (d *drill) waitFor(ctx context.Context, at door, id, state string) (t task, err error) {
	err = until(ctx, "the task is "+state, d.running.product, func(ctx context.Context) (bool, error) {
		var err error
		if t, err = at.task(ctx, id); err != nil {
			return false, err
		}
		return t.Status.State == state, fmt.Errorf("it is %s", t.Status.State)
	})
	return t, err
}

func linesOf(text []byte) ([]line, error) {
	var out []line
	for one := range slices.Values(splitLines(text)) {
		var l line
		if err := json.Unmarshal(one, &l); err != nil {
			return nil, fmt.Errorf("a line of an export: %w", err)
		}
		out = append(out, l)
	}
	return out, nil
}
