package asl_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

func TestParseKnowsTheDeployedDefinition(t *testing.T) {
	if _, err := asl.Parse([]byte(taskDefinition(t)), substitutions); err != nil {
		t.Fatal(err)
	}
}

// Each row plants one thing into the deployed definition. Accepted rows are what a sibling definition may use as well.
func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	definition := taskDefinition(t)
	retry := func(fields string) any { return rawList(t, `[{"ErrorEquals":["A"],"MaxDelaySeconds":9`+fields+`}]`) }
	for _, row := range []struct {
		path  string
		value any
		want  string // in the error; empty: accepted
	}{
		{"QueryLanguage", "JSONata", `definition: field "QueryLanguage": not known`},
		{"TimeoutSeconds", 5, `definition: field "TimeoutSeconds": not known`},
		{"Version", "1.0", `definition: field "Version": not known`},
		{"StartAt", "Nowhere", `there is no state "Nowhere"`},
		{"StartAt", drop, `definition: field "StartAt": is missing`},
		{"StartAt", "Route", ""},
		{"StartAt", "Settle", ""},
		{"States/Run/Type", "Pass", `state "Run": field "Type": "Pass" is not known`},
		{"States/Run/Type", "Parallel", `state "Run": field "Type": "Parallel" is not known`},
		{"States/Run/Type", "Map", `state "Run": field "Type": "Map" is not known`},
		{"States/Run/Type", drop, `state "Run": field "Type": is missing`},
		{"States/Run/HeartbeatSeconds", 5, `state "Run": field "HeartbeatSeconds": not known`},
		{"States/Run/HeartbeatSecondsPath", "$.a", `state "Run": field "HeartbeatSecondsPath": not known`},
		{"States/Run/InputPath", "$.a", `state "Run": field "InputPath": not known`},
		{"States/Run/OutputPath", "$.a", `state "Run": field "OutputPath": not known`},
		{"States/Run/ResultSelector", map[string]any{}, `state "Run": field "ResultSelector": not known`},
		{"States/Run/Credentials", map[string]any{}, `state "Run": field "Credentials": not known`},
		{"States/Run/Assign", map[string]any{}, `state "Run": field "Assign": not known`},
		{"States/Run/Arguments", map[string]any{}, `state "Run": field "Arguments": not known`},
		{"States/Run/End", true, `state "Run": field "End": not known`},
		{"States/Run/next", "Route", `state "Run": field "next": not known`},
		{"States/Run/Next", "Nowhere", `state "Run": leads to "Nowhere"`},
		{"States/Run/Next", drop, `state "Run": field "Next": is missing`},
		{"States/Run/Resource", "arn:aws:states:::lambda:invoke", `state "Run": field "Resource"`},
		{"States/Run/Resource", "arn:aws:states:::sqs:sendMessage.waitForTaskToken", `state "Run": field "Resource"`},
		{"States/Run/Resource", "arn:aws:states:eu-north-1:000000000000:activity:a", `state "Run": field "Resource"`},
		{"States/Run/Resource", "step", `state "Run": field "Resource"`},
		{"States/Run/Resource", stepARN + ":live", ""},
		{"States/Run/Parameters", drop, `state "Run": field "Parameters": is missing`},
		{"States/Run/Parameters/x.$", "States.UUID()", `state "Run": Parameters: field "x.$": "States.UUID()" is no path; intrinsic functions`},
		{"States/Run/Parameters/x.$", "$.a[*]", `can find more than one value`},
		{"States/Run/Parameters/x.$", "$..a", `can find more than one value`},
		{"States/Run/Parameters/x.$", "$.a[?@.b]", `can find more than one value`},
		{"States/Run/Parameters/x.$", "$.a[-1]", `counts from the end`},
		{"States/Run/Parameters/x.$", "$.", `state "Run": Parameters: field "x.$"`},
		{"States/Run/Parameters/x.$", 5, `state "Run": Parameters: field "x.$"`},
		{"States/Run/Parameters/x.$", "$.a[0].b", ""},
		{"States/Run/Parameters/x.$", "$['a b']", ""},
		{"States/Run/Parameters/x.$", "$", ""},
		{"States/Run/Parameters/x.$", "$$.Execution.Id", `"$$.Execution.Id" is no field of the context object`},
		{"States/Run/Parameters/x.$", "$$.Map.Item.Value", `is no field of the context object`},
		{"States/Run/Parameters/x.$", "$$.Execution.Name.a", `is no field of the context object`},
		{"States/Run/Parameters/x.$", "$$.Execution.Input", ""},
		{"States/Run/Parameters/x.$", "$$.Execution.Input.a.b", ""},
		{"States/Run/Parameters/x.$", "$$.State.EnteredTime", ""},
		{"States/Run/Parameters/x.$", "$$.Task.Token", `state "Run": field "Parameters": $$.Task.Token belongs`},
		{"States/Run/Parameters/x", []any{1}, `state "Run": Parameters: field "x": arrays`},
		{"States/Run/Parameters/x", map[string]any{"y.$": "$.a", "z": nil}, ""},
		{"States/Run/Parameters/x", map[string]any{"y.$": "$$.Foo"}, `state "Run": Parameters: x: field "y.$"`},
		{"States/Run/ResultPath", "$.a[0]", `state "Run": field "ResultPath": "$.a[0]" leads into an array`},
		{"States/Run/ResultPath", "$$.a", `state "Run": field "ResultPath"`},
		{"States/Run/ResultPath", "", `state "Run": field "ResultPath": is empty`},
		{"States/Run/ResultPath", "$", ""},
		{"States/Run/ResultPath", drop, ""},
		{"States/Run/TimeoutSeconds", drop, `state "Run": field "TimeoutSeconds": is missing`},
		{"States/Run/TimeoutSeconds", 0, `state "Run": field "TimeoutSeconds": want a whole number`},
		{"States/Run/TimeoutSeconds", 1.5, `state "Run": field "TimeoutSeconds"`},
		{"States/Run/TimeoutSeconds", nil, `state "Run": field "TimeoutSeconds": is null`},
		{"States/Run/TimeoutSecondsPath", "$.a", `state "Run": field "TimeoutSeconds": and TimeoutSecondsPath exclude`},
		{"States/Await/TimeoutSecondsPath", "$$.Execution.Input.a", `"$$.Execution.Input.a" is not in the state's input`},
		{"States/Await/Parameters/Qualifier", "1", `state "Await": Parameters: field "Qualifier": not known`},
		{"States/Await/Parameters/InvocationType", "Event", `state "Await": Parameters: field "InvocationType": not known`},
		{"States/Await/Parameters/FunctionName", "step", `state "Await": Parameters: field "FunctionName"`},
		{"States/Await/Parameters/Payload/token.$", drop, `state "Await": field "Parameters": $$.Task.Token belongs`},
		{"States/Await/Parameters/Payload", "$", `state "Await": Payload: want an object`},
		{"States/Run/Retry", []any{}, `state "Run": field "Retry": is empty`},
		{"States/Run/Retry", retry(`,"IntervalSeconds":0`), `state "Run": Retry[0]: field "IntervalSeconds"`},
		{"States/Run/Retry", retry(`,"IntervalSeconds":9`), `state "Run": Retry[0]: field "MaxDelaySeconds"`},
		{"States/Run/Retry", retry(`,"BackoffRate":0.5`), `state "Run": Retry[0]: field "BackoffRate"`},
		{"States/Run/Retry", retry(`,"MaxAttempts":-1`), `state "Run": Retry[0]: field "MaxAttempts"`},
		{"States/Run/Retry", retry(`,"JitterStrategy":"SOME"`), `state "Run": Retry[0]: field "JitterStrategy"`},
		{"States/Run/Retry", retry(`,"Comment":"no"`), `state "Run": Retry[0]: field "Comment": not known`},
		{"States/Run/Retry", retry(`,"JitterStrategy":"NONE","MaxAttempts":0,"BackoffRate":1`), ""},
		{"States/Run/Retry/0/MaxDelaySeconds", drop, `state "Run": Retry[0]: field "MaxDelaySeconds": is missing`},
		{"States/Run/Retry/0/ErrorEquals", []string{}, `state "Run": Retry[0]: field "ErrorEquals": is empty`},
		{"States/Run/Retry/0/ErrorEquals", []string{"A", "States.ALL"}, `States.ALL must stand alone and last`},
		{"States/Run/Retry/0/ErrorEquals", []string{"States.TaskFailed"}, `the error name "States.TaskFailed" is not known`},
		{"States/Run/Retry/0/ErrorEquals", []string{"States.Runtime"}, `the error name "States.Runtime" is not known`},
		{"States/Run/Retry/0/ErrorEquals", []string{"States.Timeout"}, ""},
		{"States/Run/Catch", rawList(t, `[{"ErrorEquals":["States.ALL"],"Next":"Done"},{"ErrorEquals":["A"],"Next":"Settle"}]`), `States.ALL must stand alone and last`},
		{"States/Run/Catch/0/Assign", 1, `state "Run": Catch[0]: field "Assign": not known`},
		{"States/Run/Catch/0/Next", "Nowhere", `state "Run": leads to "Nowhere"`},
		{"States/Route/Default", drop, `state "Route": field "Default": is missing`},
		{"States/Route/Next", "Run", `state "Route": field "Next": not known`},
		{"States/Route/Choices", []any{}, `state "Route": field "Choices": is empty`},
		{"States/Route/Choices/0/StringEquals", 5, `state "Route": Choices[0]: field "StringEquals"`},
		{"States/Route/Choices/0/StringMatches", "a*", `state "Route": Choices[0]: field "StringMatches": not known`},
		{"States/Route/Choices/0/And", []any{}, `state "Route": Choices[0]: field "And": not known`},
		{"States/Route/Choices/0/Variable", "outcome", `state "Route": Choices[0]: field "Variable"`},
		{"States/Wait/Seconds", 5, `state "Wait": field "Seconds": and SecondsPath exclude`},
		{"States/Wait/Timestamp", "2030-01-01T00:00:00Z", `state "Wait": field "Timestamp": not known`},
		{"States/Wait/SecondsPath", drop, `state "Wait": field "Seconds": is missing`},
		{"States/Done/Next", "Run", `state "Done": field "Next": not known`},
		{"States/Failed/ErrorPath", "$.a", `state "Failed": field "ErrorPath": not known`},
		{"States/Failed/Cause", drop, `state "Failed": field "Cause": is missing`},
		{"States/Lost", map[string]any{"Type": "Succeed"}, `state "Lost": nothing leads to it`},
		{"States/" + strings.Repeat("n", 81), map[string]any{"Type": "Succeed"}, "want a name of 1 to 80"},
		{"Comment", "${Foo}", "the substitution ${Foo} has no value"},
	} {
		planted := edit(t, definition, row.path, row.value)
		_, err := asl.Parse([]byte(planted), substitutions)
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s = %v: %v, want it accepted", row.path, row.value, err)
		case row.want != "" && err == nil:
			t.Errorf("%s = %v: accepted, want %s", row.path, row.value, row.want)
		case row.want != "" && !strings.Contains(err.Error(), row.want):
			t.Errorf("%s = %v: %v, want %s", row.path, row.value, err, row.want)
		}
	}
}

func TestParseRefusesWhatIsNotEvenADefinition(t *testing.T) {
	for text, want := range map[string]string{
		``:                            "not JSON",
		`{`:                           "not JSON",
		`[]`:                          "want an object",
		`{}{`:                         "not JSON",
		`{"StartAt":"A","States":[]}`: `States: want an object`,
		`{"StartAt":"A"}`:             `field "States": is missing`,
		`{"StartAt":"A","StartAt":"A","States":{}}`:                                         `field "StartAt": is there twice`,
		`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"A":{"Type":"Succeed"}}}`:          `field "A": is there twice`,
		`{"StartAt":"A","States":{"A":{"Type":"Succeed","Comment":"a","Comment":"b"}}}`:     `state "A": field "Comment": is there twice`,
		`{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":100000000,"Next":"A"}}}`:     `state "A": field "Seconds": want a whole number`,
		`{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":"1","Next":"A"}}}`:           `state "A": field "Seconds"`,
		`{"StartAt":"A","States":{"A":{"Type":"Fail","Error":"","Cause":"c"}}}`:             `state "A": field "Error": is empty`,
		`{"StartAt":"A","States":{"A":"B"}}`:                                                `state "A": want an object`,
		`{"StartAt":"A","States":{"A":{"Type":"Succeed"},"":{"Type":"Succeed"}}}`:           `want a name of 1 to 80`,
		`{"StartAt":"A","States":{"A":{"Type":"Choice","Default":"A","Choices":["Done"]}}}`: `state "A": Choices[0]: want an object`,
	} {
		if _, err := asl.Parse([]byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestParseSubstitutesTextInsideStrings(t *testing.T) {
	definition := `{"StartAt":"A","States":{"A":{"Type":"Fail","Error":"${Name}","Cause":"${Name} ${Other}"}}}`
	values := map[string]string{"Name": `a "quoted" \ name`, "Other": "ü"}
	if _, err := asl.Parse([]byte(definition), values); err != nil {
		t.Fatal(err)
	}
	h := newHarness(t, strings.NewReplacer("${Name}", "N", "${Other}", "O").Replace(definition), nil)
	h.start()
	if result := h.wantEnd("N"); result.Err.Cause != "N O" {
		t.Errorf("cause %q", result.Err.Cause)
	}
	unused := maps.Clone(values)
	unused["Spare"] = "x"
	if _, err := asl.Parse([]byte(definition), unused); err == nil || !strings.Contains(err.Error(), "the value Spare has no substitution") {
		t.Errorf("a value without a substitution: %v", err)
	}
}
