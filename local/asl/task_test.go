package asl_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

// These tests drive statemachine/task.asl.json, the file that is deployed, along each of its paths (ARCHITECTURE.md).

const throttled = "Lambda.TooManyRequestsException"

// script answers the functions' operations, each from its own list. A line that begins with "!" is an error by that name.
type script map[string][]string

func (s script) answer(i invocation) (string, error) {
	lines := s[i.op()]
	if len(lines) == 0 {
		return "", errors.New("not in the script: " + i.op())
	}
	s[i.op()] = lines[1:]
	if lines[0][0] == '!' {
		return "", &asl.Error{Name: lines[0][1:], Cause: "because"}
	}
	return lines[0], nil
}

func TestTaskPaths(t *testing.T) {
	for _, row := range []struct {
		what        string
		script      script
		story       []string
		transitions int
		end         string
	}{
		{"a task without a pause", script{"run": {`{"word":"done"}`}},
			[]string{"Run 0s", "Route 0s", "Done 0s"}, 3, ""},
		{"a task that failed ends red", script{"run": {`{"word":"failed"}`}},
			[]string{"Run 0s", "Route 0s", "Failed 0s"}, 3, "Holdfast.TaskFailed"},
		{"a word that is not known ends red", script{"run": {`{"word":"doen"}`}},
			[]string{"Run 0s", "Route 0s", "Failed 0s"}, 3, "Holdfast.TaskFailed"},
		{"a word that is no string ends red", script{"run": {`{"word":5}`}},
			[]string{"Run 0s", "Route 0s", "Failed 0s"}, 3, "Holdfast.TaskFailed"},
		{"an outcome without a word", script{"run": {`{}`}},
			[]string{"Run 0s", "Route 0s"}, 2, "States.Runtime"},
		{"more steps than fit", script{"run": {`{"word":"continue"}`, `{"word":"continue"}`, `{"word":"done"}`}},
			[]string{"Run 0s", "Route 0s", "Run 0s", "Route 0s", "Run 0s", "Route 0s", "Done 0s"}, 7, ""},
		{"a sleep", script{"run": {`{"word":"wait","seconds":90}`, `{"word":"done"}`}},
			[]string{"Run 0s", "Route 0s", "Wait 0s", "Run 1m30s", "Route 1m30s", "Done 1m30s"}, 6, ""},
		{"a wait without seconds", script{"run": {`{"word":"wait"}`}},
			[]string{"Run 0s", "Route 0s", "Wait 0s"}, 3, "States.Runtime"},
		{"a wait of less than nothing", script{"run": {`{"word":"wait","seconds":-1}`}},
			[]string{"Run 0s", "Route 0s", "Wait 0s"}, 3, "States.Runtime"},
		{"a wait of half a second", script{"run": {`{"word":"wait","seconds":0.5}`}},
			[]string{"Run 0s", "Route 0s", "Wait 0s"}, 3, "States.Runtime"},
		{"an await of no time at all", script{"run": {`{"word":"await","seconds":0,"pause":1}`}},
			[]string{"Run 0s", "Route 0s", "Await 0s"}, 3, "States.Runtime"},
		{"a pause at its deadline", script{"run": {`{"word":"await","seconds":604800,"pause":1}`}, "await": {`null`}, "settle": {`{"word":"failed"}`}},
			[]string{"Run 0s", "Route 0s", "Await 0s", "Settle 168h0m0s", "Route 168h0m0s", "Failed 168h0m0s"}, 6, "Holdfast.TaskFailed"},
		{"a pause that was settled too early", script{
			"run": {`{"word":"await","seconds":10,"pause":1}`}, "await": {`null`, `null`},
			"settle": {`{"word":"await","seconds":5,"pause":1}`, `{"word":"done"}`}},
			[]string{"Run 0s", "Route 0s", "Await 0s", "Settle 10s", "Route 10s", "Await 10s", "Settle 15s", "Route 15s", "Done 15s"}, 9, ""},
		{"a throttled run", script{"run": {"!" + throttled, "!Lambda.ServiceException", `{"word":"done"}`}},
			[]string{"Run 0s", "Run 500ms", "Run 1.5s", "Route 1.5s", "Done 1.5s"}, 5, ""},
		{"retries count afresh each time", script{"run": {"!" + throttled, `{"word":"continue"}`, "!" + throttled, `{"word":"done"}`}},
			[]string{"Run 0s", "Run 500ms", "Route 500ms", "Run 500ms", "Run 1s", "Route 1s", "Done 1s"}, 7, ""},
		{"a throttled await", script{
			"run": {`{"word":"await","seconds":10,"pause":1}`}, "await": {"!" + throttled, `null`}, "settle": {`{"word":"done"}`}},
			[]string{"Run 0s", "Route 0s", "Await 0s", "Await 500ms", "Settle 10.5s", "Route 10.5s", "Done 10.5s"}, 7, ""},
		{"a run whose process died", script{"run": {"!Runtime.ExitError", `{"word":"done"}`}, "settle": {`{"word":"wait","seconds":3}`}},
			[]string{"Run 0s", "Settle 0s", "Route 0s", "Wait 0s", "Run 3s", "Route 3s", "Done 3s"}, 7, ""},
		{"an await whose process died", script{
			"run": {`{"word":"await","seconds":10,"pause":1}`, `{"word":"done"}`}, "await": {"!Runtime.ExitError"}, "settle": {`{"word":"continue"}`}},
			[]string{"Run 0s", "Route 0s", "Await 0s", "Settle 0s", "Route 0s", "Run 0s", "Route 0s", "Done 0s"}, 8, ""},
		{"a settle that fails ends red, at once", script{"run": {"!A"}, "settle": {"!B"}},
			[]string{"Run 0s", "Settle 0s", "Failed 0s"}, 3, "Holdfast.TaskFailed"},
		{"a throttled settle", script{"run": {"!A"}, "settle": {"!" + throttled, `{"word":"done"}`}},
			[]string{"Run 0s", "Settle 0s", "Settle 1s", "Route 1s", "Done 1s"}, 5, ""},
	} {
		t.Run(row.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHarness(t, taskDefinition(t), row.script.answer, func(o *asl.Options) {
					o.Rand = func() float64 { return 0.5 }
				})
				h.start()
				result := h.wantEnd(row.end)
				h.wantStory(row.story...)
				if result.Transitions != row.transitions {
					t.Errorf("%d transitions, want %d", result.Transitions, row.transitions)
				}
			})
		})
	}
}

func TestTaskThatIsAnsweredRunsOnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{"run": {`{"word":"await","seconds":604800,"pause":7}`, `{"word":"done"}`}, "await": {`null`}}
		var asked invocation
		h := newHarness(t, taskDefinition(t), func(i invocation) (string, error) {
			if i.op() == "await" {
				asked = i
			}
			return s.answer(i)
		})
		h.start()
		synctest.Wait()
		if err := h.SendTaskSuccess(asked.token(), []byte(`{"resumedBy":"reply"}`)); err != nil {
			t.Fatal(err)
		}
		if result := h.wantEnd(""); result.Transitions != 6 || result.Events != 24 {
			t.Errorf("%d transitions and %d events, want 6 and 24", result.Transitions, result.Events)
		}
		h.wantPath("Run Route Await Run Route Done")
	})
}

// The functions are told what they need, and no more; a callback's output changes nothing in the data.
func TestTaskPayloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := script{"run": {`{"word":"await","seconds":5,"pause":7}`, "!Runtime.ExitError"}, "await": {`null`}, "settle": {`{"word":"done"}`}}
		var calls []string
		h := newHarness(t, taskDefinition(t), func(i invocation) (string, error) {
			calls = append(calls, fmt.Sprint(i.function, " ", i.payload))
			return s.answer(i)
		})
		h.start()
		synctest.Wait()
		if err := h.SendTaskSuccess("token-1", []byte(`"not for the data"`)); err != nil {
			t.Fatal(err)
		}
		if got, want := string(h.wantEnd("").Output),
			`{"error":{"Cause":"because","Error":"Runtime.ExitError"},"generation":1,"outcome":{"word":"done"},"taskId":"t","tenant":"local"}`; got != want {
			t.Errorf("output %s, want %s", got, want)
		}
		for i, want := range []string{
			stepARN + " map[execution:t-g1 generation:1 op:run taskId:t tenant:local]",
			stepARN + " map[attempt:0 enteredAt:2000-01-01T00:00:00.000Z execution:t-g1 generation:1 op:await pause:7 taskId:t tenant:local token:token-1]",
			stepARN + " map[execution:t-g1 generation:1 op:run taskId:t tenant:local]",
			settleARN + " map[error:map[Cause:because Error:Runtime.ExitError] execution:t-g1 generation:1 op:settle taskId:t tenant:local]",
		} {
			if i >= len(calls) || calls[i] != want {
				t.Errorf("call %d of %v, want %s", i, calls, want)
			}
		}
	})
}
