package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/local/systems"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/accessreview"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// scenario is a task from its submission to its end.
type scenario struct {
	title   string
	agent   string
	parts   string // of the first message, JSON
	answer  string // ends the pause; empty: there is none
	effects int    // outside calls that must have been recorded as done
	webhook bool   // the submission brings one
	fails   int64  // its first requests that it does not take
	aim     figures
	beyond  string // why the ceiling is beyond the aim; empty where it is not
	ceiling figures
}

// scenarios are what is counted. Ceilings are what was counted last: find out why before you raise one.
func scenarios() []scenario {
	return []scenario{
		{title: "six steps", agent: "six-steps", parts: `[{"text":"Review who has access to our 40 systems, and revoke what nobody needs."}]`,
			aim: figures{writes: 50, transitions: 3}, ceiling: ceilings["six steps"]},
		{title: "one pause", agent: "six-steps-asking", parts: `[{"text":"Review who has access to our 40 systems, and revoke what nobody needs."}]`, answer: "Yes, go on.",
			aim: figures{writes: 90, transitions: 6}, ceiling: ceilings["one pause"]},
		{title: "with a webhook", agent: "six-steps-asking", parts: `[{"text":"Review who has access to our 40 systems, and revoke what nobody needs."}]`, answer: "Yes, go on.", webhook: true,
			aim: figures{writes: 90, transitions: 6}, ceiling: ceilings["with a webhook"],
			beyond: "the aim was set for three updates; this webhook is told eleven, at two write units each (a lease, and how far it is)"},
		{title: "it fails twice", agent: "six-steps-asking", parts: `[{"text":"Review who has access to our 40 systems, and revoke what nobody needs."}]`, answer: "Yes, go on.", webhook: true, fails: 2,
			ceiling: ceilings["it fails twice"]},
		{title: "access review", agent: accessreview.Name, answer: "approve all", effects: 14, ceiling: ceilings["access review"],
			parts: fmt.Sprintf(`[{"text":"Review access for Q3 2026"},{"raw":%q,"mediaType":"text/csv","filename":"grants.csv"}]`, base64.StdEncoding.EncodeToString(events.AccessReviewCSV))},
	}
}

// progress is a state of ordinary size.
type progress struct {
	Systems int    `json:"systems"`
	Revoked int    `json:"revoked"`
	Cursor  string `json:"cursor"`
}

// sixSteps is an agent of six steps, each with a line of progress. After the third it may ask.
func sixSteps(name string, asks bool) *agent.Agent {
	names := []string{"gather-grants", "find-orphaned", "find-stale", "apply-revocations", "check-results", "report"}
	steps := make([]agent.Step[progress], len(names))
	for i, step := range names {
		steps[i] = agent.Step[progress]{Name: step, Run: func(_ context.Context, t *agent.Task[progress]) (agent.Next, error) {
			t.State = progress{Systems: 40, Revoked: 2 * i, Cursor: "payroll"}
			if i == len(names)-1 {
				return agent.Complete("Done: 14 grants revoked."), nil
			}
			t.Report(fmt.Sprintf("%d of 14 grants revoked.", 2*i))
			if asks && i == 2 {
				return agent.Pause("May I revoke the other ten?", names[i+1]), nil
			}
			return agent.Continue(names[i+1]), nil
		}}
	}
	return agent.New(name, 1, steps...).KeyedByMessageID()
}

// play runs a scenario once, and counts.
func (sc scenario) play(ctx context.Context, store *storage) (t *tally, err error) {
	outside, err := systems.New(events.AccessReviewCSV)
	if err != nil {
		return nil, err
	}
	address, hangUp, err := serve(outside)
	if err != nil {
		return nil, err
	}
	defer hangUp()
	agents := append(accessreview.New(accessreview.HTTP{BaseURL: address}), sixSteps("six-steps", false), sixSteps("six-steps-asking", true))
	s, err := newStack(ctx, store, agents)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.stop(ctx)) }()
	configuration, hangUpHook, err := sc.configuration()
	if err != nil {
		return nil, err
	}
	defer hangUpHook()
	c := caller{s, "/" + sc.agent}
	task, err := c.send(ctx, "submit", fmt.Sprintf(`"messageId":%q,"parts":%s`, newID(), sc.parts), configuration)
	if err != nil {
		return nil, err
	}
	ended, err := s.wait(ctx)
	if err == nil && !ended {
		if err := errors.Join(c.get(ctx, task.ID, a2a.TaskStateInputRequired), s.deliveries.run(ctx)); err != nil {
			return nil, err
		}
		const firstPause = 1
		reply := fmt.Sprintf(`"messageId":%q,"taskId":%q,"parts":[{"text":%q}],"metadata":{%q:{"pause":%d}}`, newID(), task.ID, sc.answer, lifecycle.ExtensionURI, firstPause)
		if _, err := c.send(ctx, "reply", reply, ""); err != nil {
			return nil, err
		}
		ended, err = s.wait(ctx)
	}
	if err == nil && !ended {
		err = errors.New("it asks a second time")
	}
	if err == nil {
		err = c.get(ctx, task.ID, a2a.TaskStateCompleted)
	}
	if err == nil {
		err = sc.verify(ctx, s, lifecycle.Ref{Tenant: tenant, Task: task.ID})
	}
	return s.tally, err
}

// verify reads the ledger without the meter: it is one history, the outside calls are recorded, and the
// webhook has everything.
func (sc scenario) verify(ctx context.Context, s *stack, ref lifecycle.Ref) error {
	l := s.storage.ledger(nil)
	entries, err := l.Entries(ctx, ref, 0, 0)
	if err != nil {
		return err
	}
	if _, err := lifecycle.Fold(ref, entries); err != nil {
		return err
	}
	effects, err := l.EffectList(ctx, ref)
	if err != nil {
		return err
	}
	if len(effects) != sc.effects {
		return fmt.Errorf("it made %d outside calls, want %d", len(effects), sc.effects)
	}
	endpoints, err := l.EndpointList(ctx, ref)
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		if last := entries[len(entries)-1].Seq; e.Delivery.Cursor != last {
			return fmt.Errorf("the webhook has got to entry %d of %d", e.Delivery.Cursor, last)
		}
	}
	return nil
}

// configuration is what the submission brings beside its message.
func (sc scenario) configuration() (text string, hangUp func(), err error) {
	if !sc.webhook {
		return "", func() {}, nil
	}
	address, hangUp, err := serve(failing(sc.fails))
	return fmt.Sprintf(`,"taskPushNotificationConfig":{"url":"%s/hooks/a2a","token":"0123456789abcdef","authentication":{"scheme":"Bearer","credentials":"0123456789abcdef0123456789abcdef"}}`, address), hangUp, err
}

// caller calls the door of an agent.
type caller struct {
	*stack
	agent string
}

// send is SendMessage, which returns at once.
func (c caller) send(ctx context.Context, act, message, configuration string) (a2a.Task, error) {
	var sent struct {
		Task a2a.Task `json:"task"`
	}
	body := fmt.Sprintf(`{"message":{"role":"ROLE_USER",%s},"configuration":{"returnImmediately":true%s}}`, message, configuration)
	err := c.ask(ctx, act, http.MethodPost, "/message:send", body, &sent)
	return sent.Task, err
}

// get is GetTask.
func (c caller) get(ctx context.Context, id a2a.TaskID, want a2a.TaskState) error {
	var task a2a.Task
	if err := c.ask(ctx, getTask, http.MethodGet, "/tasks/"+string(id), "", &task); err != nil {
		return err
	}
	if task.Status.State != want {
		return fmt.Errorf("the task is %s, want %s", task.Status.State, want)
	}
	return nil
}

// ask makes a request: one invocation of the api function.
func (c caller) ask(ctx context.Context, act, method, path, body string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.url+c.agent+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/a2a+json")
	}
	end := c.take(fnAPI)
	defer end(act)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	text, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		return err
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s: %s %.400s", method, path, answer.Status, text)
	}
	return json.Unmarshal(text, into)
}
