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
	err := until(ctx, "it has taken updates", c.running, func(context.Context) (bool, error) { return len(c.said()) > liveTasks, nil })
	if err != nil {
		return nil, err
	}
	if err := c.restart(ctx); err != nil {
		return nil, err
	}
	err = until(ctx, "all tasks' ends have come", c.running, func(context.Context) (bool, error) {
		n := 0
		for _, line := range c.said() {
			if strings.Contains(line, stateCompleted) {
				n++
			}
		}
		return n >= len(tasks), nil
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
	again := 0
	for _, line := range c.said() {
		if strings.Contains(line, `"repeat"`) {
			again++
		}
	}
	if len(got) == 0 {
		return nil, errors.New("nothing was stored")
	}
	return told("%d tasks, %d updates stored once and in order over a kill, %d came again", len(tasks), len(got), again), nil
}
