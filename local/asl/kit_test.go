package asl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

// Real in these tests: the interpreter, and statemachine/task.asl.json where a test says so. Faked: the functions behind
// Invoke, randomness, tokens, and, inside testing/synctest, the clock, so instants are asserted exactly.

const (
	stepARN   = "arn:aws:lambda:eu-north-1:000000000000:function:step"
	settleARN = "arn:aws:lambda:eu-north-1:000000000000:function:settle:live"
	input     = `{"tenant":"local","taskId":"t","generation":1}`
)

var substitutions = map[string]string{"StepFunctionArn": stepARN, "SettleFunctionArn": settleARN}

// taskDefinition is the state machine that is deployed.
func taskDefinition(t testing.TB) string {
	t.Helper()
	definition, err := os.ReadFile("../../statemachine/task.asl.json")
	if err != nil {
		t.Fatal(err)
	}
	return string(definition)
}

// drop removes a field with edit.
var drop = new(int)

// edit changes one field of a definition: "States/Run/Retry/0/MaxAttempts".
func edit(t testing.TB, definition, path string, value any) string {
	t.Helper()
	var document any
	if err := json.Unmarshal([]byte(definition), &document); err != nil {
		t.Fatal(err)
	}
	names := strings.Split(path, "/")
	at := document
	for _, name := range names[:len(names)-1] {
		if array, ok := at.([]any); ok {
			i, err := strconv.Atoi(name)
			if err != nil {
				t.Fatal(err)
			}
			at = array[i]
			continue
		}
		at = at.(map[string]any)[name]
	}
	last := names[len(names)-1]
	if value == drop {
		delete(at.(map[string]any), last)
	} else {
		at.(map[string]any)[last] = value
	}
	edited, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(edited)
}

// rawList decodes a JSON array.
func rawList(t testing.TB, text string) []any {
	t.Helper()
	var list []any
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list
}

func parse(t testing.TB, definition string) *asl.Machine {
	t.Helper()
	used := maps.Clone(substitutions)
	maps.DeleteFunc(used, func(name, _ string) bool { return !strings.Contains(definition, "${"+name+"}") })
	m, err := asl.Parse([]byte(definition), used)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// invocation is one call of Invoke.
type invocation struct {
	function string
	payload  map[string]any
	ctx      context.Context
}

func (i invocation) op() string    { return fmt.Sprint(i.payload["op"]) }
func (i invocation) token() string { return fmt.Sprint(i.payload["token"]) }

// harness is a runtime whose story is recorded: the states with the instants at which they were entered or retried, counted from
// the harness's beginning.
type harness struct {
	*asl.Runtime
	t     testing.TB
	begun time.Time
	ended chan asl.Result

	mu    sync.Mutex
	story []string
}

// newHarness runs a definition; answer stands for the functions.
func newHarness(t testing.TB, definition string, answer func(invocation) (string, error), tune ...func(*asl.Options)) *harness {
	t.Helper()
	h := &harness{t: t, begun: time.Now(), ended: make(chan asl.Result, 100_000)}
	var tokens, mu = 0, sync.Mutex{}
	options := asl.Options{
		Invoke: func(ctx context.Context, function string, payload json.RawMessage) (json.RawMessage, error) {
			call := invocation{function: function, ctx: ctx}
			if err := json.Unmarshal(payload, &call.payload); err != nil {
				return nil, err
			}
			result, err := answer(call)
			return json.RawMessage(result), err
		},
		Now:  time.Now,
		Rand: rand.Float64,
		NewToken: func() string {
			mu.Lock()
			defer mu.Unlock()
			tokens++
			return fmt.Sprintf("token-%d", tokens)
		},
		OnTransition: func(_, state string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.story = append(h.story, fmt.Sprintf("%s %s", state, time.Since(h.begun)))
		},
		OnEnd: func(_ string, result asl.Result) { h.ended <- result },
	}
	for _, change := range tune {
		change(&options)
	}
	r, err := asl.NewRuntime(parse(t, definition), options)
	if err != nil {
		t.Fatal(err)
	}
	h.Runtime = r
	return h
}

// start begins the one execution of a test.
func (h *harness) start() {
	h.t.Helper()
	if err := h.Start("t-g1", []byte(input)); err != nil {
		h.t.Fatal(err)
	}
}

// wantStory compares "state instant" lines, oldest first.
func (h *harness) wantStory(want ...string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.story, want) {
		h.t.Errorf("story:\n  %s\nwant:\n  %s", strings.Join(h.story, "\n  "), strings.Join(want, "\n  "))
	}
}

// wantPath compares the states alone.
func (h *harness) wantPath(want string) {
	h.t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	states := make([]string, 0, len(h.story))
	for _, line := range h.story {
		states = append(states, strings.Fields(line)[0])
	}
	if got := strings.Join(states, " "); got != want {
		h.t.Errorf("path %s, want %s", got, want)
	}
}

// wantEnd waits for the end; name is the error's, or empty for success.
func (h *harness) wantEnd(name string) asl.Result {
	h.t.Helper()
	result := <-h.ended
	switch {
	case result.Err == nil && name != "", result.Err != nil && result.Err.Name != name:
		h.t.Errorf("ended with %v, want %q", result.Err, name)
	}
	return result
}
