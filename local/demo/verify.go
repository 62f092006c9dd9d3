package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// check is one promise. It returns a figure for the reader, or what is wrong.
type check struct {
	name string
	run  func(facts) (string, error)
}

var checks = []check{
	{"fetches", checkFetches},
	{"revocations", checkRevocations},
	{"effects", checkEffects},
	{"sequences", checkSequences},
	{"survival", checkSurvival},
	{"fences", checkFences},
	{"streams", checkStreams},
	{"watch", checkWatch},
	{"webhook", checkWebhook},
	{"version", checkVersion},
	{"submission", checkSubmission},
	{"answers", checkAnswers},
	{"report", checkReport},
}

// verify runs all checks and prints what each found. The error names those that
// failed.
func verify(f facts, out io.Writer) error {
	var failed []error
	for _, c := range checks {
		figure, err := c.run(f)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
			driver.Tell(out, "  FAIL  %-12s %s", c.name, driver.OneLine(err))
			continue
		}
		driver.Tell(out, "  ok    %-12s %s", c.name, figure)
	}
	return errors.Join(failed...)
}

// checkFetches: the system whose fetch was cut at most twice, all others once.
func checkFetches(f facts) (string, error) {
	var problems []error
	if len(f.systems) != systemCount {
		problems = append(problems, fmt.Errorf("%d systems instead of %d", len(f.systems), systemCount))
	}
	for _, name := range f.systems {
		most := 1
		if name == f.held {
			most = 2
		}
		if n := f.counters.Fetches[name]; n < 1 || n > most {
			problems = append(problems, fmt.Errorf("%s was fetched %d times", name, n))
		}
	}
	if len(f.counters.Fetches) != len(f.systems) {
		problems = append(problems, fmt.Errorf("%d systems were fetched", len(f.counters.Fetches)))
	}
	figure := fmt.Sprintf("%s, the %drd, %d times, the other %d once", f.held, heldPlace, f.counters.Fetches[f.held], len(f.systems)-1)
	return figure, errors.Join(problems...)
}

// checkRevocations: each of the approved ones was applied exactly once, although
// the network failed twice.
func checkRevocations(f facts) (string, error) {
	var problems []error
	if n := len(f.counters.Revocations); n != grantCount {
		problems = append(problems, fmt.Errorf("%d grants were revoked instead of %d", n, grantCount))
	}
	for grant, t := range f.counters.Revocations {
		if t.Applied != 1 {
			problems = append(problems, fmt.Errorf("%s was applied %d times", grant, t.Applied))
		}
	}
	totals := f.counters.Totals
	if totals.Applied != grantCount || totals.Conflicts != 0 {
		problems = append(problems, fmt.Errorf("%d applied and %d conflicts in all", totals.Applied, totals.Conflicts))
	}
	if totals.Faults != faultCount {
		problems = append(problems, fmt.Errorf("%d faults were played instead of %d", totals.Faults, faultCount))
	}
	if totals.Repeats < 1 {
		problems = append(problems, errors.New("the unanswered revocation was not tried again"))
	}
	figure := fmt.Sprintf("%d applied exactly once each, in %d calls; %d repeated under its key and recognised", grantCount, totals.Revokes, totals.Repeats)
	return figure, errors.Join(problems...)
}

// checkEffects: the record of outside calls agrees with the systems.
func checkEffects(f facts) (string, error) {
	var problems []error
	keys, calls := map[string]bool{}, 0
	for _, e := range f.effects {
		if e.State != "done" {
			problems = append(problems, fmt.Errorf("%s is %s", e.Name, e.State))
		}
		if keys[e.Key] {
			problems = append(problems, fmt.Errorf("two effects have the key %s", e.Key))
		}
		keys[e.Key] = true
		calls += e.Calls
	}
	if len(f.effects) != grantCount {
		problems = append(problems, fmt.Errorf("%d effects instead of %d", len(f.effects), grantCount))
	}
	if calls != f.counters.Totals.Revokes {
		problems = append(problems, fmt.Errorf("%d calls are recorded and %d arrived", calls, f.counters.Totals.Revokes))
	}
	return fmt.Sprintf("%d done under keys of their own, %d calls recorded", len(f.effects), calls), errors.Join(problems...)
}

// checkSequences: 1, 2, 3 … from submitted to the one end (I1, I2).
func checkSequences(f facts) (string, error) {
	var problems []error
	for i, e := range f.entries {
		if want := uint64(i + 1); e.Seq != want {
			problems = append(problems, fmt.Errorf("entry %d has the sequence %d", want, e.Seq))
			break
		}
		if (e.Type == "submitted") != (i == 0) || (e.Type == "ended") != (i == len(f.entries)-1) {
			problems = append(problems, fmt.Errorf("entry %d of %d is %q", e.Seq, len(f.entries), e.Type))
		}
	}
	if n := uint64(len(f.entries)); n == 0 || f.head.Seq != n || f.head.State != stateCompleted {
		problems = append(problems, fmt.Errorf("the head is %s at %d after %d entries", f.head.State, f.head.Seq, n))
	}
	return fmt.Sprintf("1 to %d without a gap, one end", len(f.entries)), errors.Join(problems...)
}

// checkSurvival: what was committed before a kill is there after it, unchanged, and
// a restart alone adds nothing to a task that waits for an answer.
func checkSurvival(f facts) (string, error) {
	for _, before := range []page{f.killed, f.paused} {
		if len(before.Entries) == 0 || len(before.Entries) > len(f.entries) {
			return "", fmt.Errorf("%d entries before a kill, %d in the end", len(before.Entries), len(f.entries))
		}
		for i, e := range before.Entries {
			if now := f.entries[i]; now.Seq != e.Seq || now.Chain != e.Chain || e.Chain == "" {
				return "", fmt.Errorf("entry %d is not what it was before a kill", e.Seq)
			}
		}
	}
	if f.woken.Head.Seq != f.paused.Head.Seq || f.woken.Head.State != stateInput {
		return "", fmt.Errorf("the pause was at %d; after the restart the task is %s at %d", f.paused.Head.Seq, f.woken.Head.State, f.woken.Head.Seq)
	}
	return fmt.Sprintf("the kills at %d and %d entries lost none", len(f.killed.Entries), len(f.paused.Entries)), nil
}

// checkFences: the fence never falls, has one holder, and has risen over each kill
// (I3).
func checkFences(f facts) (string, error) {
	holders := map[uint64]string{}
	var order []string
	var last uint64
	for _, e := range f.entries {
		if e.Fence == 0 {
			continue // a caller's entry: no lease
		}
		if e.Fence < last {
			return "", fmt.Errorf("entry %d has fence %d after fence %d", e.Seq, e.Fence, last)
		}
		if holder, ok := holders[e.Fence]; ok && holder != e.Holder {
			return "", fmt.Errorf("fence %d has two holders, %s and %s", e.Fence, holder, e.Holder)
		}
		if e.Fence > last {
			order = append(order, strconv.FormatUint(e.Fence, 10))
		}
		holders[e.Fence], last = e.Holder, e.Fence
	}
	for what, before := range map[string]page{"first": f.killed, "second": f.paused} {
		next := fenceAfter(f.entries, before.Head.Seq)
		if next <= before.Head.Fence {
			return "", fmt.Errorf("the fence was %d at the %s kill and %d in the next commit", before.Head.Fence, what, next)
		}
	}
	return "rose " + strings.Join(order, " → "), nil
}

// fenceAfter is the fence of the first commit under a lease behind a sequence.
func fenceAfter(entries []entry, seq uint64) uint64 {
	for _, e := range entries {
		if e.Seq > seq && e.Fence > 0 {
			return e.Fence
		}
	}
	return 0
}

// checkVersion: the task ran on the version that it began with, the server moved on.
func checkVersion(f facts) (string, error) {
	if len(f.entries) == 0 || f.entries[0].Payload.Submission == nil {
		return "", errors.New("the first entry holds no submission")
	}
	began, ended := f.entries[0].Payload.Submission.AgentVersion, f.head.AgentVersion
	if began != agentVersion || ended != agentVersion {
		return "", fmt.Errorf("the task began on version %d and ended on %d", began, ended)
	}
	if f.versionBefore != strconv.Itoa(agentVersion) || f.versionAfter != strconv.Itoa(currentVersion) {
		return "", fmt.Errorf("the card said version %s before the redeploy and %s after it", f.versionBefore, f.versionAfter)
	}
	var steps []string
	for _, e := range f.entries {
		if c := e.Payload.Checkpoint; c != nil && !slices.Contains(steps, c.Step) {
			steps = append(steps, c.Step)
		}
	}
	if !slices.Contains(steps, stepThen) || slices.Contains(steps, stepNow) {
		return "", fmt.Errorf("the task went through %v; %s is called %s in another version", steps, stepThen, stepNow)
	}
	return fmt.Sprintf("the task ran on %d to its end (steps %s), the server is at %s", ended, strings.Join(steps, ", "), f.versionAfter), nil
}

// checkSubmission: every attempt to submit gave the same task (I5).
func checkSubmission(f facts) (string, error) {
	if len(f.submitted) < 2 || len(slices.Compact(slices.Clone(f.submitted))) != 1 || f.tasks != 1 {
		return "", fmt.Errorf("%d submissions gave %v; the agent has %d tasks", len(f.submitted), f.submitted, f.tasks)
	}
	return fmt.Sprintf("sent %d times, one task", len(f.submitted)), nil
}

// checkAnswers: one reply entered the history, however often it was sent.
func checkAnswers(f facts) (string, error) {
	replies := 0
	for _, e := range f.entries {
		if e.Type == "reply" {
			replies++
		}
	}
	if replies != 1 {
		return "", fmt.Errorf("the ledger holds %d replies", replies)
	}
	return "sent 3 times, one reply: " + strings.Join(f.answers, "; "), nil
}
