package statemachine_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/statemachine"
)

// machine is a definition with what its own rules need to know.
type machine struct {
	name          string
	definition    string
	substitutions []string // every one that the template supplies
	settler       string   // the state that looks what a failure means; empty: the sweep does
}

func machines() []machine {
	return []machine{
		{"task.asl.json", statemachine.Task, []string{"SettleFunctionArn", "StepFunctionArn"}, "Settle"},
		{"delivery.asl.json", statemachine.Delivery, []string{"DeliverFunctionArn"}, ""},
	}
}

// Case 29: one of the rules is that every state that waits for a callback has a time limit, so that a dropped one does not hang for ever.
func TestDefinitionsKeepTheRules(t *testing.T) {
	for _, m := range machines() {
		for _, violation := range check(t, m) {
			t.Errorf("%s: %s", m.name, violation)
		}
	}
}

// The shape that ARCHITECTURE.md draws, and what it costs: three transitions for a task without a pause, and none between a reply and the next run.
func TestTaskHasTheShapeOfTheDesign(t *testing.T) {
	d := decode(t, statemachine.Task)
	for state, want := range map[string]string{
		"Run": "Route Settle", "Await": "Run Settle", "Settle": "Failed Route", "Wait": "Run",
		"Route": "Await Done Failed Run Wait", "Done": "", "Failed": "",
	} {
		targets := slices.Compact(slices.Sorted(slices.Values(d.States[state].targets())))
		if got := strings.Join(targets, " "); got != want {
			t.Errorf("%s leads to %q, want %q", state, got, want)
		}
	}
	for _, rule := range d.States["Route"].Choices {
		want := strings.ToUpper(rule.StringEquals[:1]) + rule.StringEquals[1:]
		if want == "Continue" {
			want = "Run"
		}
		if rule.Variable != "$.outcome.word" || rule.Next != want {
			t.Errorf("the word %q leads to %s by %s", rule.StringEquals, rule.Next, rule.Variable)
		}
	}
	if d.StartAt != "Run" || d.States["Route"].Default != "Failed" || len(d.States) != 7 {
		t.Errorf("starts at %s, a word that is not known leads to %s, %d states", d.StartAt, d.States["Route"].Default, len(d.States))
	}
	if string(d.States["Await"].ResultPath) != "null" {
		t.Errorf("a callback's output would replace the data: ResultPath %s", d.States["Await"].ResultPath)
	}
}

// An endpoint costs three transitions for each attempt that its execution makes, and one at its end. It begins by waiting.
func TestDeliveryHasTheShapeOfTheDesign(t *testing.T) {
	d := decode(t, statemachine.Delivery)
	for state, want := range map[string]string{"Wait": "Deliver", "Deliver": "Failed Route", "Route": "Done Failed Wait", "Done": "", "Failed": ""} {
		targets := slices.Compact(slices.Sorted(slices.Values(d.States[state].targets())))
		if got := strings.Join(targets, " "); got != want {
			t.Errorf("%s leads to %q, want %q", state, got, want)
		}
	}
	for _, rule := range d.States["Route"].Choices {
		if want := strings.ToUpper(rule.StringEquals[:1]) + rule.StringEquals[1:]; rule.Variable != "$.outcome.word" || rule.Next != want {
			t.Errorf("the word %q leads to %s by %s", rule.StringEquals, rule.Next, rule.Variable)
		}
	}
	if d.StartAt != "Wait" || d.States["Route"].Default != "Failed" || d.States["Failed"].Type != "Fail" || len(d.States) != 5 {
		t.Errorf("starts at %s, a word that is not known leads to %s, %d states", d.StartAt, d.States["Route"].Default, len(d.States))
	}
}

// Each row plants one violation into a deployed definition and wants it found.
func TestEachRuleCatchesItsViolation(t *testing.T) {
	all := []any{map[string]any{"ErrorEquals": []string{"States.ALL"}, "Next": "Settle", "ResultPath": "$.error"}}
	named := map[string]any{"ErrorEquals": []string{"A"}, "Next": "Settle", "ResultPath": "$.error"}
	for _, row := range []struct {
		path  string // "States/Run/Next"
		value any
		want  string
	}{
		{"States/Await/Parameters/Payload/token.$", "$.outcome.pause", "Await: a callback state without $$.Task.Token in its payload"},
		{"States/Await/Parameters/Payload/token.$", drop, "Await: a callback state without $$.Task.Token in its payload"},
		{"States/Await/TimeoutSecondsPath", drop, "Await: a Task without a time limit"},
		{"States/Run/TimeoutSeconds", drop, "Run: a Task without a time limit"},
		{"States/Settle/TimeoutSeconds", drop, "Settle: a Task without a time limit"},
		{"States/Await/HeartbeatSeconds", 60, "Await: a callback state with a heartbeat: nobody beats while a person thinks"},
		{"States/Await/HeartbeatSecondsPath", "$.a", "Await: a callback state with a heartbeat: nobody beats while a person thinks"},
		{"States/Run/Catch/0/Next", "Failed", "Run: a Catch leads to Failed, want Settle"},
		{"States/Await/Catch/0/Next", "Done", "Await: a Catch leads to Done, want Settle"},
		{"States/Settle/Catch/0/Next", "Settle", "Settle: its Catch leads to Settle, want a Fail state"},
		{"States/Settle/Catch/0/Next", "Done", "Settle: its Catch leads to Done, want a Fail state"},
		{"States/Run/Catch/0/ResultPath", drop, "Run: a Catch replaces the whole data"},
		{"States/Run/Catch", drop, "Run: a Task whose Catch does not end with States.ALL"},
		{"States/Run/Catch/0/ErrorEquals", []string{"A"}, "Run: a Task whose Catch does not end with States.ALL"},
		{"States/Run/Catch", append(slices.Clone(all), named), "Run: States.ALL must stand alone and last"},
		{"States/Run/Catch/0/ErrorEquals", []string{"A", "States.ALL"}, "Run: States.ALL must stand alone and last"},
		{"States/Run/Retry/0/ErrorEquals", []string{"A", "States.ALL"}, "Run: States.ALL must stand alone and last"},
		{"States/Run/Retry/0/ErrorEquals", []string{"States.ALL"}, "Run: a Retry of States.ALL: name the faults"},
		{"States/Run/Retry", drop, "Run: a Task without Retry"},
		{"States/Run/Retry/0/JitterStrategy", "NONE", "Run: a Retry without jitter, cap or attempts"},
		{"States/Run/Retry/0/MaxDelaySeconds", drop, "Run: a Retry without jitter, cap or attempts"},
		{"States/Run/Retry/0/MaxAttempts", drop, "Run: a Retry without jitter, cap or attempts"},
		{"States/Lost", map[string]any{"Type": "Succeed"}, "Lost: nothing leads to it"},
		{"States/Run/Next", "Nowhere", "Run: leads to Nowhere, which is not there"},
		{"States/Route/Default", drop, "Route: a Choice without Default"},
		{"States/Run/Resource", "${StepFunctionARN}", "the substitution ${StepFunctionARN} is not known"},
		{"States/Settle/Resource", "${StepFunctionArn}", "the substitution ${SettleFunctionArn} is not used"},
		{"States/Run/Resource", "arn:aws:lambda:eu-north-1:000000000000:function:step", "Run: a function that is named without a substitution"},
		{"States/Deliver/TimeoutSeconds", drop, "Deliver: a Task without a time limit"},
		{"States/Deliver/Retry", drop, "Deliver: a Task without Retry"},
		{"States/Deliver/Retry/0/MaxDelaySeconds", drop, "Deliver: a Retry without jitter, cap or attempts"},
		{"States/Deliver/Catch", drop, "Deliver: a Task whose Catch does not end with States.ALL"},
		{"States/Deliver/Catch/0/Next", "Done", "Deliver: its Catch leads to Done, want a Fail state"},
		{"States/Deliver/Catch/0/ResultPath", "$", "Deliver: a Catch replaces the whole data"},
		{"States/Deliver/Resource", "${StepFunctionArn}", "the substitution ${StepFunctionArn} is not known"},
		{"States/Wait/Next", "Nowhere", "Wait: leads to Nowhere, which is not there"},
	} {
		m := machines()[0]
		if strings.HasPrefix(row.path, "States/Deliver/") || strings.HasPrefix(row.path, "States/Wait/") {
			m = machines()[1]
		}
		m.definition = plant(t, m.definition, row.path, row.value)
		got := check(t, m)
		if !slices.Contains(got, row.want) {
			t.Errorf("%s = %v: found %q, want %q", row.path, row.value, got, row.want)
		}
	}
}

// drop removes a field with plant.
var drop = new(int)

// plant changes one field of a definition.
func plant(t *testing.T, definition, path string, value any) string {
	t.Helper()
	var document map[string]any
	if err := json.Unmarshal([]byte(definition), &document); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(path, "/")
	last := names[len(names)-1]
	var at any = document
	for _, name := range names[:len(names)-1] {
		if array, ok := at.([]any); ok {
			i, err := strconv.Atoi(name)
			if err != nil {
				t.Fatal(err)
			}
			at = array[i]
		} else {
			at = at.(map[string]any)[name]
		}
	}
	if value == drop {
		delete(at.(map[string]any), last)
	} else {
		at.(map[string]any)[last] = value
	}
	planted, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(planted)
}

func TestCommentsAreNotForgotten(t *testing.T) {
	for _, m := range machines() {
		for _, name := range slices.Sorted(maps.Keys(decode(t, m.definition).States)) {
			if decode(t, m.definition).States[name].Comment == "" {
				t.Errorf("%s: %s has no Comment", m.name, name)
			}
		}
	}
}
