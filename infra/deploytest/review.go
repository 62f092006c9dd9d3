package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

const (
	reviewAgent = "/access-review"
	reviewFile  = "events/accessreview/send.json"
	// What the shipped file holds (events/accessreview/README.md).
	reviewSystems  = 40
	reviewFindings = 14
)

// systems is the server of the systems under review, by its address.
type systems string

// counters is what the systems say that they did.
type counters struct {
	Revocations map[string]struct {
		Applied int `json:"applied"`
		Repeats int `json:"repeats"`
	} `json:"revocations"`
}

func (s systems) counters(ctx context.Context) (c counters, err error) {
	a, err := ask(ctx, http.MethodGet, string(s)+"/counters", "", nil, nil)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(a.body, &c)
}

func (t *test) startSystems(ctx context.Context) error {
	binary := filepath.Join(t.dir, "holdfast")
	if _, err := t.command(ctx, nil, "go", "build", "-o", binary, "./local"); err != nil {
		return err
	}
	addresses, err := driver.FreeAddresses(ctx, 1)
	if err != nil {
		return err
	}
	address := addresses[0]
	if err := t.start("systems", nil, binary, "systems", "--addr", address); err != nil {
		return err
	}
	t.systems = systems("http://" + address)
	return t.until(ctx, "the systems answer", readyTime, func(ctx context.Context) (bool, error) {
		_, err := t.systems.counters(ctx)
		return err == nil, err
	})
}

// review runs the worked example: forty systems, a question, an answer, fourteen revocations, a report.
func (t *test) review(ctx context.Context) error {
	body, err := os.ReadFile(reviewFile)
	if err != nil {
		return err
	}
	sent, err := t.api.send(ctx, reviewAgent, body)
	if err != nil {
		return err
	}
	asking, err := t.api.reaches(ctx, reviewAgent, sent.ID, stateInput)
	if err != nil {
		return err
	}
	t.seen.review = sent.ID
	question, _, _ := strings.Cut(text(asking.Status.Message.Parts), "\n")
	t.say("%.120s", question)
	approval, err := say("approval", "approve all", object{
		"taskId": asking.ID, "contextId": asking.ContextID, "metadata": object{extensionURI: object{"pause": asking.Metadata.Own.Pause}},
	})
	if err != nil {
		return err
	}
	if _, err := t.api.send(ctx, reviewAgent, approval); err != nil {
		return err
	}
	done, err := t.api.reaches(ctx, reviewAgent, sent.ID, stateCompleted)
	if err != nil {
		return err
	}
	return t.checkReport(ctx, done)
}

// checkReport compares what the report says with what the systems did.
func (t *test) checkReport(ctx context.Context, done task) error {
	var report struct {
		Systems int `json:"systems"`
		Revoked int `json:"revoked"`
	}
	if len(done.Artifacts) != 1 {
		return fmt.Errorf("%d artifacts", len(done.Artifacts))
	}
	if err := json.Unmarshal([]byte(text(done.Artifacts[0].Parts)), &report); err != nil {
		return fmt.Errorf("the report: %w", err)
	}
	c, err := t.systems.counters(ctx)
	if err != nil {
		return err
	}
	if report.Systems != reviewSystems || report.Revoked != reviewFindings || len(c.Revocations) != reviewFindings {
		return fmt.Errorf("the report has %d systems and %d revocations, the systems know of %d", report.Systems, report.Revoked, len(c.Revocations))
	}
	for name, r := range c.Revocations {
		if r.Applied != 1 {
			return fmt.Errorf("the revocation of %s was applied %d times", name, r.Applied)
		}
	}
	t.seen.revoked = report.Revoked
	return nil
}

// execution is the ARN of a task's first execution.
func (t *test) execution(task string) string {
	return strings.Replace(t.cloud.resources["TaskMachine"], ":stateMachine:", ":execution:", 1) + ":" + task + "-g1"
}

// states are the states that an execution entered until it ended, in order.
func (t *test) states(ctx context.Context, task string) (entered []string, status string, err error) {
	err = t.until(ctx, "execution "+t.execution(task)+" has ended", waitTime, func(ctx context.Context) (bool, error) {
		var out struct {
			Status string `json:"status"`
		}
		err := t.aws(ctx, &out, "stepfunctions", "describe-execution", "--execution-arn", t.execution(task))
		status = out.Status
		return err == nil && status != "RUNNING", err
	})
	if err != nil {
		return nil, status, err
	}
	entered, err = t.entered(ctx, task)
	return entered, status, err
}

// entered are the states that an execution has entered so far.
func (t *test) entered(ctx context.Context, task string) (names []string, err error) {
	var history struct {
		Events []struct {
			Entered struct {
				Name string `json:"name"`
			} `json:"stateEnteredEventDetails"`
		} `json:"events"`
	}
	if err := t.aws(ctx, &history, "stepfunctions", "get-execution-history", "--execution-arn", t.execution(task), "--max-items", "1000"); err != nil {
		return nil, err
	}
	for _, e := range history.Events {
		if e.Entered.Name != "" {
			names = append(names, e.Entered.Name)
		}
	}
	return names, nil
}

// reviewExecution wants the way of the design: one execution, parked once, and no turn in between.
func (t *test) reviewExecution(ctx context.Context) error {
	entered, status, err := t.states(ctx, t.seen.review)
	if err != nil {
		return err
	}
	t.say("%s, %s", strings.Join(entered, " "), status)
	turns := slices.DeleteFunc(slices.Clone(entered), func(s string) bool { return s == "Route" })
	if status != "SUCCEEDED" || !slices.Equal(slices.Compact(turns), []string{"Run", "Await", "Run", "Done"}) {
		return fmt.Errorf("the execution went through %q and %s", entered, status)
	}
	return nil
}
