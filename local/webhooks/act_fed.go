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
	return told("%d tasks, %d updates stored once and in order over a kill, %d came again", len(tasks), len(got), counting(said, `"repeat"`)), nil
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
