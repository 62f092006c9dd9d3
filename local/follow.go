package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/watch"
)

// askTime bounds a question on the side.
const askTime = 5 * time.Second

// endedBadly is the end of a followed task that was not completed. An exit code of its
// own tells it from a failure to follow.
type endedBadly struct{ state a2a.TaskState }

func (e endedBadly) Error() string { return "the task is " + watch.StateName(e.state) }

// pursuit are the flags of watch, read once.
type pursuit struct {
	task   a2a.TaskID
	after  uint64
	raw    bool
	client watch.Client
}

func parseFollow(args []string, logs io.Writer) (pursuit, error) {
	var p pursuit
	f := flagSet("watch", "[flags] TASK\n\nexit code: 0 completed, 3 failed, canceled or rejected, 1 not known", logs)
	f.StringVar(&p.client.BaseURL, "server", defaultServer(), "address of the server")
	f.StringVar(&p.client.Agent, "agent", "", "the task's agent; without it the server's default agent")
	f.Uint64Var(&p.after, "after", 0, "show only what comes after this sequence")
	f.BoolVar(&p.raw, "json", false, "print each update as it came, one line of JSON each")
	f.DurationVar(&p.client.Patience, "patience", 5*time.Minute, "how long to try again while the server does not answer")
	tasks, err := parseAll(f, args)
	if err != nil {
		return p, err
	}
	var problems []error
	if len(tasks) == 1 {
		p.task = a2a.TaskID(tasks[0])
	} else {
		problems = append(problems, fmt.Errorf("one task is followed at a time, not %d: local watch TASK", len(tasks)))
	}
	problems = append(problems, checkServer(p.client.BaseURL))
	if p.client.Patience <= 0 {
		problems = append(problems, errors.New("--patience must be positive"))
	}
	return p, errors.Join(problems...)
}

// follow shows a task's updates until it has ended.
func follow(ctx context.Context, args []string, out, logs io.Writer) error {
	p, err := parseFollow(args, logs)
	if err != nil {
		return err
	}
	p.client.Retrying = func(why error, delay time.Duration) {
		_, _ = fmt.Fprintf(logs, "%v; trying again in %s\n", why, delay.Round(10*time.Millisecond))
	}
	var last a2a.TaskState
	err = p.client.Follow(ctx, p.task, p.after, func(u watch.Update) error {
		last, p.after = cmp.Or(u.State(), last), u.Seq
		if p.raw {
			_, err := fmt.Fprintf(out, "%s\n", u.Raw)
			return err
		}
		if _, err := fmt.Fprintln(out, watch.Line(u)); err != nil {
			return err
		}
		if u.State() == a2a.TaskStateInputRequired {
			p.showPause(ctx, out)
		}
		return nil
	})
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("stopped; to go on where it was: local watch --after %d %s", p.after, p.task)
	}
	if refusal, ok := errors.AsType[*watch.Refusal](err); ok && refusal.Reason == "TASK_NOT_FOUND" && p.client.Agent == "" {
		err = fmt.Errorf("%w (the server's default agent was asked: name another one with --agent)", err)
	}
	if err != nil {
		return fmt.Errorf("following task %s: %w", p.task, err)
	}
	if last != a2a.TaskStateCompleted {
		return endedBadly{last}
	}
	return nil
}

// showPause shows the whole question that the task waits with, if it still does.
// That is a courtesy: a server that cannot be asked just now is not asked again.
func (p pursuit) showPause(ctx context.Context, out io.Writer) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	t, err := p.client.Task(ctx, p.task)
	if err != nil || t.Status.State != a2a.TaskStateInputRequired {
		return
	}
	for line := range strings.Lines(watch.Text(t.Status.Message)) {
		_, _ = fmt.Fprintf(out, "        %s\n", strings.TrimRight(line, " \n"))
	}
	_, _ = fmt.Fprintf(out, "        (waiting for a reply to pause %d; to give it, put it in the place of YOUR ANSWER)\n", watch.Pause(t))
	if line, err := p.client.Answer(t, "YOUR ANSWER"); err == nil {
		_, _ = fmt.Fprintf(out, "        %s\n", line)
	}
}
