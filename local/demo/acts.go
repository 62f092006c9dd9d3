package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// faultCount is how many requests meet a rule: one fetch and one revocation are
// held, one revocation fails and one is not answered.
const faultCount = 4

// submit sends the shipped review, and follows it with a stream of the driver's own
// and with holdfast watch.
func (d *demo) submit(ctx context.Context) error {
	err := d.systems.plan(ctx, rule{Op: "fetch", System: d.found.held, Nth: 1, Do: "hold"})
	if err != nil {
		return err
	}
	if err := d.resubmit(ctx); err != nil {
		return err
	}
	if _, err := d.subscribe(ctx); err != nil {
		return err
	}
	d.running.watch, err = driver.Start(d.dir, "watch", d.built.current, "watch",
		"--server", string(d.product), "--agent", agentName, "--json", "--patience", "1m", d.task.ID)
	d.say("task %s, %s", d.task.ID, d.task.Status.State)
	return err
}

// resubmit sends the review, under the same key each time.
func (d *demo) resubmit(ctx context.Context) error {
	a, err := d.product.send(ctx, d.submission)
	if err != nil {
		return err
	}
	d.task, err = driver.Sent[task](a)
	d.found.submitted = append(d.found.submitted, d.task.ID)
	return err
}

// killFetching kills the product while a system's answer is held back.
func (d *demo) killFetching(ctx context.Context) error {
	err := until(ctx, "the fetch of "+d.found.held+" is held", d.running.product, func(ctx context.Context) (bool, error) {
		return d.systems.holds(ctx, "fetch "+d.found.held)
	})
	if err != nil {
		return err
	}
	if d.found.killed, err = d.product.after(ctx, d.task.ID, 0); err != nil {
		return err
	}
	open := d.streams[len(d.streams)-1]
	if err := d.running.product.Kill(); err != nil {
		return err
	}
	d.say("killed at entry %d, fence %d, fetching %s", d.found.killed.Head.Seq, d.found.killed.Head.Fence, d.found.held)
	select {
	case <-open.Done:
	case <-ctx.Done():
		return errors.New("the stream outlived the product")
	}
	n, err := d.systems.release(ctx)
	if err == nil && n != 1 {
		err = fmt.Errorf("%d requests were held instead of 1", n)
	}
	return err
}

// restartFetching starts the next build, measures until it gets on with the task,
// reattaches with the cursor and waits until the stream ends with the question.
func (d *demo) restartFetching(ctx context.Context) error {
	if err := d.launchProduct(d.built.next); err != nil {
		return err
	}
	err := until(ctx, "the task gets on", d.running.product, func(ctx context.Context) (bool, error) {
		news, err := d.product.after(ctx, d.task.ID, d.found.killed.Head.Seq)
		return len(news.Entries) > 0, err
	})
	if err != nil {
		return err
	}
	d.found.toProgress = time.Since(d.running.product.StartedAt)
	d.say("the first new entry is there %d ms after the start", d.found.toProgress.Milliseconds())
	if d.found.versionAfter, err = d.product.version(ctx); err != nil {
		return err
	}
	s, err := d.subscribe(ctx)
	if err != nil {
		return err
	}
	if err := s.wait(ctx, "the stream ends with a question", d.running.product); err != nil {
		return err
	}
	if d.task, err = d.product.task(ctx, d.task.ID); err != nil {
		return err
	}
	if s.Err != nil {
		return fmt.Errorf("the stream broke: %w", s.Err)
	}
	if d.task.Status.State != stateInput || d.task.Metadata.Own.Pause == 0 {
		return fmt.Errorf("the stream ended and the task is %s in pause %d", d.task.Status.State, d.task.Metadata.Own.Pause)
	}
	d.say("the stream, resumed behind %d, ended at %d; pause %d asks: %s", s.after, s.last(), d.task.Metadata.Own.Pause, firstText(d.task.Status.Message))
	return nil
}

// firstText is a message's first line, in short.
func firstText(m *message) string {
	if m == nil {
		return ""
	}
	for _, p := range m.Parts {
		if p.Text != nil {
			line, _, _ := strings.Cut(*p.Text, "\n")
			return fmt.Sprintf("%.100s", line)
		}
	}
	return ""
}

// killPaused kills the product while nothing runs, and starts it again.
func (d *demo) killPaused(ctx context.Context) error {
	var err error
	if d.found.paused, err = d.product.after(ctx, d.task.ID, 0); err != nil {
		return err
	}
	if err := d.running.product.Kill(); err != nil {
		return err
	}
	if err := d.startProduct(ctx, d.built.next); err != nil {
		return err
	}
	d.found.toReady = time.Since(d.running.product.StartedAt)
	d.say("killed at entry %d, ready again %d ms after the start", d.found.paused.Head.Seq, d.found.toReady.Milliseconds())
	d.found.woken, err = d.product.after(ctx, d.task.ID, 0)
	return err
}

// answer approves all, by the pause's number, then once more under a new messageId
// and once more under the old one. The first revocation is held meanwhile, so that
// both repeats meet a task that is at work.
func (d *demo) answer(ctx context.Context) error {
	err := d.systems.plan(ctx,
		rule{Op: "revoke", System: "*", Nth: 1, Do: "hold"},
		rule{Op: "revoke", System: "*", Nth: revokedBefore + 1, Do: "error"},
		rule{Op: "revoke", System: "*", Nth: revokedBefore + 2, Do: "act-and-drop"})
	if err != nil {
		return err
	}
	if _, err := d.reply(ctx, "approval", "the answer"); err != nil {
		return err
	}
	err = until(ctx, "the first revocation is held", d.running.product, func(ctx context.Context) (bool, error) {
		c, err := d.systems.counters(ctx)
		return len(c.Held) > 0, err
	})
	if err != nil {
		return err
	}
	if _, err := d.subscribe(ctx); err != nil {
		return err
	}
	if _, err := d.reply(ctx, "approval-again", "again, new messageId"); err != nil {
		return err
	}
	a, err := d.reply(ctx, "approval", "again, same messageId")
	if err != nil {
		return err
	}
	same, err := driver.Sent[task](a)
	if err == nil && same.ID != d.task.ID {
		err = fmt.Errorf("the same answer again gave task %s", same.ID)
	}
	return err
}

// reply sends the answer and notes what came back.
func (d *demo) reply(ctx context.Context, messageID, what string) (answer, error) {
	body, err := reply(d.task, messageID)
	if err != nil {
		return answer{}, err
	}
	a, err := d.product.send(ctx, body)
	if err != nil {
		return a, err
	}
	if messageID == "approval" && a.Status != 200 {
		return a, fmt.Errorf("%s: %s", what, a)
	}
	d.found.answers = append(d.found.answers, what+" "+a.String())
	d.say("%s: %s", what, a)
	return a, nil
}

// finish lets the revocations go on, into a network that fails twice, and submits
// the review again while they do and afterwards.
func (d *demo) finish(ctx context.Context) error {
	if err := d.resubmit(ctx); err != nil {
		return err
	}
	if _, err := d.systems.release(ctx); err != nil {
		return err
	}
	s := d.streams[len(d.streams)-1]
	if err := s.wait(ctx, "the stream ends with the task", d.running.product); err != nil {
		return err
	}
	if s.Err != nil {
		return fmt.Errorf("the last stream broke: %w", s.Err)
	}
	d.say("the stream, resumed behind %d, ended at %d", s.after, s.last())
	if err := d.resubmit(ctx); err != nil {
		return err
	}
	d.say("submitted again: task %s, %s", d.task.ID, d.task.Status.State)
	if err := d.running.watch.Wait(ctx, waitTime); err != nil {
		return err
	}
	d.found.watchErr = d.running.watch.Result
	return until(ctx, "the webhook of the task's end arrives", d.running.product, func(context.Context) (bool, error) {
		return d.hook.has(s.last()), nil
	})
}

// gather reads everything that the checks look at.
func (d *demo) gather(ctx context.Context) error {
	whole, err := d.product.after(ctx, d.task.ID, 0)
	if err != nil {
		return err
	}
	d.found.entries, d.found.head = whole.Entries, whole.Head
	for _, s := range d.streams {
		d.found.streams = append(d.found.streams, s.Kept())
		d.found.cursors = append(d.found.cursors, cursor{s.fresh, s.after})
	}
	var failed []error
	keep := func(err error) { failed = append(failed, err) }
	d.found.effects, err = d.product.effects(ctx, d.task.ID)
	keep(err)
	d.found.final, err = d.product.task(ctx, d.task.ID)
	keep(err)
	d.found.tasks, err = d.product.tasks(ctx)
	keep(err)
	d.found.counters, err = d.systems.counters(ctx)
	keep(err)
	d.found.watched, err = watched(d.running.watch.Output)
	keep(err)
	keys, err := d.product.hookKeys(ctx)
	keep(err)
	d.found.told, err = d.hook.readAll(keys, time.Now())
	keep(err)
	return errors.Join(failed...)
}

// watched reads the sequences of the updates that holdfast watch printed.
func watched(file string) ([]uint64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var seqs []uint64
	for line := range strings.Lines(string(text)) {
		var update map[string]struct {
			Metadata metadata `json:"metadata"`
		}
		if err := json.Unmarshal([]byte(line), &update); err != nil || len(update) != 1 {
			return nil, fmt.Errorf("holdfast watch printed no update: %.200q", line)
		}
		for _, one := range update {
			seqs = append(seqs, one.Metadata.Own.Sequence)
		}
	}
	return seqs, nil
}
