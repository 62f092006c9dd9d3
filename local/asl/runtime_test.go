package asl_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

func TestNewRuntimeNamesTheMissingOption(t *testing.T) {
	for want, change := range map[string]func(*asl.Options){
		"Invoke":   func(o *asl.Options) { o.Invoke = nil },
		"Now":      func(o *asl.Options) { o.Now = nil },
		"Rand":     func(o *asl.Options) { o.Rand = nil },
		"NewToken": func(o *asl.Options) { o.NewToken = nil },
	} {
		var options asl.Options
		newHarness(t, noCatchDefinition, returns(`1`), func(o *asl.Options) { options = *o })
		change(&options)
		if _, err := asl.NewRuntime(parse(t, noCatchDefinition), options); err == nil || !strings.Contains(err.Error(), "Options."+want) {
			t.Errorf("without %s: %v", want, err)
		}
	}
	if _, err := asl.NewRuntime(nil, asl.Options{}); err == nil {
		t.Error("a runtime without a machine")
	}
}

// StartExecution of a STANDARD machine: idempotent while the first one runs and the input is byte-identical.
func TestStartIsIdempotentOnlyWhileTheFirstRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, askDefinition, returns(`null`))
		h.start()
		for range 3 {
			h.start()
		}
		for _, other := range []string{`{}`, input + " "} {
			if err := h.Start("t-g1", []byte(other)); !errors.Is(err, asl.ErrExecutionExists) {
				t.Errorf("another input while it runs: %v", err)
			}
		}
		synctest.Wait()
		if stats := h.Stats(); stats.Started != 1 || stats.Transitions != 1 {
			t.Errorf("%+v", stats)
		}
		if err := h.SendTaskSuccess("token-1", []byte(`1`)); err != nil {
			t.Fatal(err)
		}
		h.wantEnd("")
		if err := h.Start("t-g1", []byte(input)); !errors.Is(err, asl.ErrExecutionExists) {
			t.Errorf("the same again after it closed: %v", err)
		}
		if err := h.Start("t-g2", []byte(input)); err != nil {
			t.Errorf("the next generation: %v", err)
		}
	})
}

func TestStartKeepsTheInputAsItWasGiven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, askDefinition, returns(`null`))
		mine := []byte(input)
		if err := h.Start("t-g1", mine); err != nil {
			t.Fatal(err)
		}
		clear(mine) // the caller's buffer is the caller's
		h.start()
		synctest.Wait()
	})
}

func TestStartRefusesNamesAndInputsThatTheServiceRefuses(t *testing.T) {
	h := newHarness(t, noCatchDefinition, returns(`1`))
	for _, name := range []string{"", "a b", "a/b", "a.b", "ä", strings.Repeat("x", 81)} {
		if err := h.Start(name, []byte(`{}`)); !errors.Is(err, asl.ErrInvalidName) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	for _, bad := range []string{``, `{`, `{} {}`, `"` + strings.Repeat("x", 256*1024) + `"`} {
		if err := h.Start("a", []byte(bad)); !errors.Is(err, asl.ErrInvalidInput) {
			t.Errorf("input %.10s: %v", bad, err)
		}
	}
	if stats := h.Stats(); stats.Started != 0 {
		t.Errorf("%+v", stats)
	}
}

func TestMemoryOfClosedNamesAndTokensIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, askDefinition, returns(`null`), func(o *asl.Options) { o.MaxClosed = 3 })
		for i := 1; i <= 5; i++ {
			if err := h.Start(fmt.Sprintf("t-g%d", i), []byte(input)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := h.SendTaskSuccess(fmt.Sprintf("token-%d", i), []byte(`1`)); err != nil {
				t.Fatal(err)
			}
			h.wantEnd("")
		}
		for i, want := range []error{asl.ErrTaskNotExist, asl.ErrTaskNotExist, asl.ErrTaskTimedOut, asl.ErrTaskTimedOut, asl.ErrTaskTimedOut} {
			if err := h.SendTaskSuccess(fmt.Sprintf("token-%d", i+1), []byte(`1`)); !errors.Is(err, want) {
				t.Errorf("token-%d: %v, want %v", i+1, err, want)
			}
		}
		for i, want := range []error{nil, nil, asl.ErrExecutionExists, asl.ErrExecutionExists, asl.ErrExecutionExists} {
			if err := h.Start(fmt.Sprintf("t-g%d", i+1), []byte(input)); !errors.Is(err, want) {
				t.Errorf("t-g%d: %v, want %v", i+1, err, want)
			}
		}
		synctest.Wait()
	})
}

func TestCatchThatCannotPlaceItsErrorFailsTheExecution(t *testing.T) {
	h := newHarness(t, callDefinition, fails(errors.New("plain")))
	if err := h.Start("t-g1", []byte(`[]`)); err != nil {
		t.Fatal(err)
	}
	h.wantEnd("States.ResultPathMatchFailure")
	h.wantPath("Call")
}

// An execution that would never end is ended by its history, as on AWS.
func TestHistoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":1,"Next":"A"}}}`, nil)
		h.start()
		result := h.wantEnd("States.Runtime")
		if result.Err.Cause != "The execution reached the maximum number of history events (25000)." || result.Events != 25_000 || result.Transitions != 12_500 {
			t.Errorf("%v, %d events, %d transitions", result.Err, result.Events, result.Transitions)
		}
	})
}

func TestHistoryOfExactlyTheLimitSucceeds(t *testing.T) {
	for limit, end := range map[int]string{8: "States.Runtime", 9: ""} {
		h := newHarness(t, noCatchDefinition, returns(`1`), func(o *asl.Options) { o.MaxEvents = limit })
		h.start()
		if result := h.wantEnd(end); result.Events != limit {
			t.Errorf("limit %d: %d events", limit, result.Events)
		}
	}
}

func TestResultPathPutsTheResultInItsPlace(t *testing.T) {
	for _, row := range []struct {
		place any
		input string
		want  string // the output; empty: States.ResultPathMatchFailure
	}{
		{drop, `{"a":1}`, `"R"`},
		{"$", `{"a":1}`, `"R"`},
		{nil, `{"a":1}`, `{"a":1}`},
		{"$.a", `{"a":1}`, `{"a":"R"}`},
		{"$.b.c", `{"a":1}`, `{"a":1,"b":{"c":"R"}}`},
		{"$.a.b", `{"a":{"b":1,"c":2}}`, `{"a":{"b":"R","c":2}}`},
		{"$.a.b", `{"a":1}`, ``},
		{"$.a", `[1]`, ``},
		{"$.a", `{"ü<&>":"\"\\\n"}`, `{"a":"R","ü\u003c\u0026\u003e":"\"\\\n"}`},
	} {
		h := newHarness(t, edit(t, noCatchDefinition, "States/Call/ResultPath", row.place), returns(`"R"`))
		if err := h.Start("t-g1", []byte(row.input)); err != nil {
			t.Fatal(err)
		}
		end := ""
		if row.want == "" {
			end = "States.ResultPathMatchFailure"
		}
		if got := string(h.wantEnd(end).Output); got != row.want {
			t.Errorf("%v into %s: %s, want %s", row.place, row.input, got, row.want)
		}
	}
}

func TestPayloadIsBuiltFromTheTemplate(t *testing.T) {
	definition := edit(t, noCatchDefinition, "States/Call/Parameters", map[string]any{
		"text": "a \"b\" <ü>", "number": 1.5, "null": nil, "all.$": "$", "deep": map[string]any{"second.$": "$.list[1].x", "empty": map[string]any{}},
		"input.$": "$$.Execution.Input.list", "name.$": "$$.Execution.Name", "retries.$": "$$.State.RetryCount",
	})
	h := newHarness(t, definition, func(i invocation) (string, error) {
		got := fmt.Sprint(i.payload)
		want := fmt.Sprint(map[string]any{
			"text": "a \"b\" <ü>", "number": 1.5, "null": nil, "deep": map[string]any{"second": "two", "empty": map[string]any{}},
			"all":   map[string]any{"list": []any{1, map[string]any{"x": "two"}}},
			"input": []any{1, map[string]any{"x": "two"}}, "name": "t-g1", "retries": 0,
		})
		if got != want || i.function != stepARN {
			t.Errorf("payload to %s:\n%s\nwant:\n%s", i.function, got, want)
		}
		return `1`, nil
	})
	if err := h.Start("t-g1", []byte(`{"list":[1,{"x":"two"}]}`)); err != nil {
		t.Fatal(err)
	}
	h.wantEnd("")
}

func TestInputOfTheExecutionStaysAsItWas(t *testing.T) {
	definition := edit(t, noCatchDefinition, "States/Call/ResultPath", "$.deep.result")
	definition = edit(t, definition, "States/Call/Next", "Look")
	definition = edit(t, definition, "States/Look", map[string]any{
		"Type": "Task", "Resource": stepARN, "TimeoutSeconds": 1, "Next": "Done", "Parameters": map[string]any{"input.$": "$$.Execution.Input"},
	})
	h := newHarness(t, definition, func(i invocation) (string, error) {
		if got := fmt.Sprint(i.payload["input"]); i.op() != "call" && got != "map[deep:map[a:1]]" {
			t.Errorf("input %s", got)
		}
		return `"R"`, nil
	})
	if err := h.Start("t-g1", []byte(`{"deep":{"a":1}}`)); err != nil {
		t.Fatal(err)
	}
	h.wantEnd("")
	h.wantPath("Call Look Done")
}

// Of an execution that was answered nothing stays behind, not even in the timer that would have ended its wait.
func TestClosedExecutionsAreForgotten(t *testing.T) {
	const executions, size = 400, 100 * 1024
	large := []byte(`"` + strings.Repeat("x", size) + `"`)
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, edit(t, edit(t, askDefinition, "States/Ask/Parameters/Payload/taskId.$", drop), "States/Ask/ResultPath", nil), returns(`null`),
			func(o *asl.Options) { o.OnEnd = nil })
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for i := 1; i <= executions; i++ {
			if err := h.Start(fmt.Sprintf("t-g%d", i), large); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := h.SendTaskSuccess(fmt.Sprintf("token-%d", i), []byte(`1`)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		runtime.GC()
		runtime.ReadMemStats(&after)
		if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > executions*size/4 {
			t.Errorf("%d closed executions hold %d bytes", executions, grown)
		}
	})
}

func TestPayloadThatCannotBeBuiltFailsTheExecution(t *testing.T) {
	definition := edit(t, noCatchDefinition, "States/Call/Parameters", map[string]any{"a.$": "$.list[1].x", "b.$": "$.list[0]"})
	for document, want := range map[string]string{
		`{}`:                     "States.Runtime",
		`{"list":[{"x":1}]}`:     "States.Runtime",
		`{"list":{"x":1}}`:       "States.Runtime",
		`{"list":["a",["x"]]}`:   "States.Runtime",
		`{"list":["a",{"x":1}]}`: "",
		`{"list":["` + strings.Repeat("x", 250*1024) + `",{"x":"` + strings.Repeat("y", 5*1024) + `"}]}`: "",
	} {
		h := newHarness(t, definition, returns(`1`))
		if err := h.Start("t-g1", []byte(document)); err != nil {
			t.Fatal(err)
		}
		h.wantEnd(want)
	}
	twice := edit(t, noCatchDefinition, "States/Call/Parameters", map[string]any{"a.$": "$.a", "b.$": "$.a"})
	h := newHarness(t, twice, returns(`1`))
	if err := h.Start("t-g1", []byte(`{"a":"`+strings.Repeat("x", 130*1024)+`"}`)); err != nil {
		t.Fatal(err)
	}
	h.wantEnd("States.DataLimitExceeded")
}
