package statemachine_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// definition is what the rules look at; fields that no rule needs are left out, since the interpreter (local/asl) is the one that knows them all.
type definition struct {
	StartAt string
	States  map[string]state
}

type state struct {
	Type, Comment, Resource, Next, Default string
	Parameters                             json.RawMessage
	ResultPath                             json.RawMessage
	TimeoutSeconds                         int
	TimeoutSecondsPath                     string
	HeartbeatSeconds                       int
	HeartbeatSecondsPath                   string
	Retry, Catch                           []handler
	Choices                                []struct{ Variable, StringEquals, Next string }
}

// handler is an element of Retry or Catch.
type handler struct {
	ErrorEquals     []string
	Next            string
	ResultPath      string
	JitterStrategy  string
	MaxDelaySeconds int
	MaxAttempts     int
}

func (h handler) all() bool { return slices.Contains(h.ErrorEquals, "States.ALL") }

func (s state) callback() bool { return strings.HasSuffix(s.Resource, ".waitForTaskToken") }

func (s state) targets() []string {
	targets := []string{s.Next, s.Default}
	for _, c := range s.Catch {
		targets = append(targets, c.Next)
	}
	for _, c := range s.Choices {
		targets = append(targets, c.Next)
	}
	return slices.DeleteFunc(targets, func(target string) bool { return target == "" })
}

func decode(t *testing.T, text string) definition {
	t.Helper()
	var d definition
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// check gives every violation of every rule. Validators of the language find neither a callback state without its token nor States.ALL in the
// wrong place, and none of them knows what a failure must lead to here: hence rules of our own.
func check(t *testing.T, m machine) []string {
	t.Helper()
	d := decode(t, m.definition)
	violations := slices.Concat(checkTargets(d), checkSubstitutions(m))
	for _, name := range slices.Sorted(maps.Keys(d.States)) {
		s := d.States[name]
		var found []string
		if s.Type == "Task" {
			found = slices.Concat(checkTask(s), checkRetry(s.Retry), checkCatch(m, d, name, s.Catch))
		}
		if s.Type == "Choice" && s.Default == "" {
			found = append(found, "a Choice without Default")
		}
		for _, violation := range found {
			violations = append(violations, name+": "+violation)
		}
	}
	return violations
}

// checkTargets wants every target to be there and every state to be reached from the start.
func checkTargets(d definition) (violations []string) {
	reached := map[string]bool{}
	for queue := []string{d.StartAt}; len(queue) > 0; queue = queue[1:] {
		name := queue[0]
		if reached[name] {
			continue
		}
		reached[name] = true
		for _, target := range d.States[name].targets() {
			if _, ok := d.States[target]; !ok {
				violations = append(violations, fmt.Sprintf("%s: leads to %s, which is not there", name, target))
			}
			queue = append(queue, target)
		}
	}
	for name := range d.States {
		if !reached[name] {
			violations = append(violations, name+": nothing leads to it")
		}
	}
	return violations
}

// checkSubstitutions wants the names that the definition uses to be those that the template supplies.
func checkSubstitutions(m machine) (violations []string) {
	used := map[string]bool{}
	for _, found := range regexp.MustCompile(`\$\{([^}]*)\}`).FindAllStringSubmatch(m.definition, -1) {
		used[found[1]] = true
	}
	for name := range used {
		if !slices.Contains(m.substitutions, name) {
			violations = append(violations, fmt.Sprintf("the substitution ${%s} is not known", name))
		}
	}
	for _, name := range m.substitutions {
		if !used[name] {
			violations = append(violations, fmt.Sprintf("the substitution ${%s} is not used", name))
		}
	}
	return violations
}

// checkTask wants a time limit on every task (I8), and of a callback its token in the payload and no heartbeat.
func checkTask(s state) (violations []string) {
	if s.TimeoutSeconds == 0 && s.TimeoutSecondsPath == "" {
		violations = append(violations, "a Task without a time limit")
	}
	function := s.Resource
	if s.callback() {
		var parameters struct {
			FunctionName string
			Payload      map[string]any
		}
		if json.Unmarshal(s.Parameters, &parameters) != nil || !carriesToken(parameters.Payload) {
			violations = append(violations, "a callback state without $$.Task.Token in its payload")
		}
		if s.HeartbeatSeconds != 0 || s.HeartbeatSecondsPath != "" {
			violations = append(violations, "a callback state with a heartbeat: nobody beats while a person thinks")
		}
		function = parameters.FunctionName
	}
	if !strings.HasPrefix(function, "${") {
		violations = append(violations, "a function that is named without a substitution")
	}
	return violations
}

func carriesToken(payload map[string]any) bool {
	for name, value := range payload {
		if strings.HasSuffix(name, ".$") && value == "$$.Task.Token" {
			return true
		}
	}
	return false
}

// checkRetry wants faults by name, backoff with a cap and jitter.
func checkRetry(retry []handler) (violations []string) {
	if len(retry) == 0 {
		violations = append(violations, "a Task without Retry")
	}
	violations = append(violations, checkAll(retry)...)
	for _, r := range retry {
		if r.all() {
			violations = append(violations, "a Retry of States.ALL: name the faults")
		}
		if r.JitterStrategy != "FULL" || r.MaxDelaySeconds == 0 || r.MaxAttempts == 0 {
			violations = append(violations, "a Retry without jitter, cap or attempts")
		}
	}
	return violations
}

// checkCatch wants every failure to be settled where somebody settles, and all others to end red.
func checkCatch(m machine, d definition, name string, catch []handler) (violations []string) {
	if len(catch) == 0 || !catch[len(catch)-1].all() {
		violations = append(violations, "a Task whose Catch does not end with States.ALL")
	}
	violations = append(violations, checkAll(catch)...)
	for _, c := range catch {
		switch {
		case (m.settler == "" || name == m.settler) && d.States[c.Next].Type != "Fail":
			violations = append(violations, fmt.Sprintf("its Catch leads to %s, want a Fail state", c.Next))
		case m.settler != "" && name != m.settler && c.Next != m.settler:
			violations = append(violations, fmt.Sprintf("a Catch leads to %s, want %s", c.Next, m.settler))
		}
		if c.ResultPath == "" || c.ResultPath == "$" {
			violations = append(violations, "a Catch replaces the whole data")
		}
	}
	return violations
}

// checkAll wants States.ALL alone in its element, and that element last.
func checkAll(handlers []handler) (violations []string) {
	for i, h := range handlers {
		if h.all() && (len(h.ErrorEquals) > 1 || i < len(handlers)-1) {
			violations = append(violations, "States.ALL must stand alone and last")
		}
	}
	return violations
}
