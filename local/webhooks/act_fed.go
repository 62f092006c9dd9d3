package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// fed lets the product send to the receiver, and kills it meanwhile: it has in the end
// what callers see of every task, once and in order.
func (c *consumer) fed(ctx context.Context, p *product) ([]outcome, error) {
	if err := c.start(ctx); err != nil {
		return nil, err
	}
	var tasks []string
	for i := range liveTasks {
		id, err := p.submit(ctx, fmt.Sprintf("fed-%s-%d", c.name, i), "count 4", "http://"+c.address+"/hook")
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, id)
	}
	if err := c.saysMore(ctx, liveTasks); err != nil {
		return nil, err
	}
	if err := c.restart(ctx); err != nil {
		return nil, err
	}
	var said []string
	err := until(ctx, "all tasks' ends have come", c.running, func(context.Context) (bool, error) {
		var err error
		said, err = c.said()
		return counting(said, stateCompleted) >= len(tasks), err
	})
	if err != nil {
		return nil, err
	}
	got, err := c.stored(ctx)
	if err != nil {
		return nil, err
	}
	for _, id := range tasks {
		all, err := p.ledger(ctx, id)
		if err != nil {
			return nil, err
		}
		var want []string
		for _, seq := range all.visible() {
			want = append(want, fmt.Sprintf("%s:%d", id, seq))
		}
		own := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, id+":") })
		if !slices.Equal(own, want) {
			return nil, fmt.Errorf("it has stored %v, callers see %v", own, want)
		}
	}
	if len(got) == 0 {
		return nil, errors.New("nothing was stored")
	}
	again := counting(said, `"repeat"`)
	// An operator has one of the tasks told once more, from its beginning.
	if err := p.redeliver(ctx, tasks[0], "--since", "0"); err != nil {
		return nil, err
	}
	all, err := p.ledger(ctx, tasks[0])
	if err != nil {
		return nil, err
	}
	want := again + len(all.visible())
	err = until(ctx, "what is delivered again has come", c.running, func(context.Context) (bool, error) {
		said, err := c.said()
		return counting(said, `"repeat"`) == want, err
	})
	if err = errors.Join(err, c.wantStored(ctx, got...)); err != nil {
		return nil, err
	}
	return told("%d tasks, %d updates stored once and in order over a kill, %d came again; one task delivered again from its beginning, nothing stored twice", len(tasks), len(got), again), nil
}

// counting counts the lines that have a text.
func counting(lines []string, text string) (n int) {
	for _, line := range lines {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}
