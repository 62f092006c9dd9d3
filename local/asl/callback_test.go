package asl_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

// askDefinition is one callback task with a retry.
const askDefinition = `{"StartAt":"Ask","States":{
	"Ask":{"Type":"Task","Resource":"arn:aws:states:::lambda:invoke.waitForTaskToken",
		"Parameters":{"FunctionName":"${StepFunctionArn}","Payload":{"token.$":"$$.Task.Token","attempt.$":"$$.State.RetryCount",
			"enteredAt.$":"$$.State.EnteredTime","taskId.$":"$$.Execution.Input.taskId"}},
		"ResultPath":"$.reply","TimeoutSeconds":60,
		"Retry":[{"ErrorEquals":["Busy"],"IntervalSeconds":1,"BackoffRate":1,"MaxAttempts":2,"MaxDelaySeconds":5}],
		"Catch":[{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"Caught"}],
		"Next":"Done"},
	"Done":{"Type":"Succeed"},
	"Caught":{"Type":"Succeed"}}}`

func TestCallbackEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen invocation
		h := newHarness(t, askDefinition, func(i invocation) (string, error) { seen = i; return `"ignored"`, nil })
		h.start()
		synctest.Wait()
		if stats := h.Stats(); stats.Parked != 1 || stats.Running != 0 {
			t.Errorf("while it waits: %+v", stats)
		}
		want := map[string]any{"token": "token-1", "attempt": 0.0, "enteredAt": "2000-01-01T00:00:00.000Z", "taskId": "t"}
		if fmt.Sprint(seen.payload) != fmt.Sprint(want) {
			t.Errorf("payload %v, want %v", seen.payload, want)
		}
		for _, bad := range []string{``, `{`, `1 2`, `"` + strings.Repeat("x", 256*1024) + `"`} {
			if err := h.SendTaskSuccess("token-1", []byte(bad)); !errors.Is(err, asl.ErrInvalidOutput) {
				t.Errorf("output %.10s: %v", bad, err)
			}
		}
		if err := h.SendTaskSuccess("token-1", []byte(`{"n":12345678901234567890}`)); err != nil {
			t.Fatal(err)
		}
		if got, want := string(h.wantEnd("").Output), `"reply":{"n":12345678901234567890}`; !strings.Contains(got, want) {
			t.Errorf("output %s, want %s", got, want)
		}
		for range 2 {
			if err := h.SendTaskSuccess("token-1", []byte(`1`)); !errors.Is(err, asl.ErrTaskTimedOut) {
				t.Errorf("duplicate callback: %v", err)
			}
		}
		if err := h.SendTaskSuccess("token-2", []byte(`1`)); !errors.Is(err, asl.ErrTaskNotExist) {
			t.Errorf("unknown token: %v", err)
		}
	})
}

func TestCallbackTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, askDefinition, returns(`null`))
		h.start()
		if got, want := string(h.wantEnd("").Output), `{"Cause":"no callback within 1m0s","Error":"States.Timeout"}`; !strings.Contains(got, want) {
			t.Errorf("output %s, want %s", got, want)
		}
		h.wantStory("Ask 0s", "Caught 1m0s")
		if err := h.SendTaskSuccess("token-1", []byte(`1`)); !errors.Is(err, asl.ErrTaskTimedOut) {
			t.Errorf("late callback: %v", err)
		}
	})
}

func TestEachAttemptHasItsOwnToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan invocation, 3)
		h := newHarness(t, askDefinition, func(i invocation) (string, error) {
			calls <- i
			if i.token() == "token-1" {
				return "", &asl.Error{Name: "Busy"}
			}
			return `null`, nil
		})
		h.start()
		<-calls
		if second := <-calls; second.token() != "token-2" || second.payload["attempt"] != 1.0 {
			t.Errorf("second attempt: %v", second.payload)
		}
		synctest.Wait()
		if err := h.SendTaskSuccess("token-1", []byte(`1`)); !errors.Is(err, asl.ErrTaskTimedOut) {
			t.Errorf("the first attempt's token: %v", err)
		}
		if err := h.SendTaskFailure("token-2", "Busy", "try again"); err != nil {
			t.Fatal(err)
		}
		if third := <-calls; third.token() != "token-3" || third.payload["attempt"] != 2.0 || third.payload["enteredAt"] != "2000-01-01T00:00:00.000Z" {
			t.Errorf("third attempt: %v", third.payload)
		}
		if err := h.SendTaskFailure("token-3", "Rejected", "no"); err != nil {
			t.Fatal(err)
		}
		if got, want := string(h.wantEnd("").Output), `{"Cause":"no","Error":"Rejected"}`; !strings.Contains(got, want) {
			t.Errorf("output %s, want %s", got, want)
		}
		h.wantStory("Ask 0s", "Ask 1s", "Ask 2s", "Caught 2s")
	})
}

// The function itself may send the callback, and the execution then does not wait for its return.
func TestCallbackBeforeTheInvocationReturned(t *testing.T) {
	for _, after := range []error{nil, errors.New("failed after its callback")} {
		synctest.Test(t, func(t *testing.T) {
			release := make(chan struct{})
			var h *harness
			h = newHarness(t, askDefinition, func(i invocation) (string, error) {
				if err := h.SendTaskSuccess(i.token(), []byte(`"early"`)); err != nil {
					t.Errorf("early callback: %v", err)
				}
				<-release
				if i.ctx.Err() != nil {
					t.Errorf("the invocation was canceled: %v", i.ctx.Err())
				}
				return `null`, after
			})
			h.start()
			if got, want := string(h.wantEnd("").Output), `"reply":"early"`; !strings.Contains(got, want) {
				t.Errorf("output %s, want %s", got, want)
			}
			close(release)
			if err := h.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			h.wantPath("Ask Done")
		})
	}
}

// Two callbacks and the invocation's return meet: exactly one callback counts, whichever it is.
func TestCallbackRaces(t *testing.T) {
	const rounds = 2000
	var senders sync.WaitGroup
	var mu sync.Mutex
	accepted, won := map[string]int{}, map[string]int{}
	var h *harness
	var asked atomic.Int32
	h = newHarness(t, askDefinition, func(i invocation) (string, error) {
		first := asked.Add(1) // the scheduler prefers the goroutine that was started last: take turns
		for sender := range int32(2) {
			senders.Go(func() {
				var err error
				outcome := "success"
				if (first+sender)%2 == 0 {
					err = h.SendTaskSuccess(i.token(), []byte(`1`))
				} else {
					outcome = "failure"
					err = h.SendTaskFailure(i.token(), "Rejected", "no")
				}
				if err == nil {
					mu.Lock()
					accepted[i.token()]++
					won[outcome]++
					mu.Unlock()
				} else if !errors.Is(err, asl.ErrTaskTimedOut) {
					t.Errorf("the slower callback: %v", err)
				}
			})
		}
		return `null`, nil
	})
	for i := range rounds {
		if err := h.Start(fmt.Sprintf("t%d-g1", i), []byte(input)); err != nil {
			t.Fatal(err)
		}
	}
	for range rounds {
		h.wantEnd("")
	}
	senders.Wait()
	wantEach(t, won, rounds, "success", "failure")
	if len(accepted) != rounds {
		t.Errorf("%d tokens were answered, want %d", len(accepted), rounds)
	}
	for token, n := range accepted {
		if n != 1 {
			t.Errorf("%s: %d callbacks counted", token, n)
		}
	}
	if stats := h.Stats(); stats.Succeeded != rounds || stats.Parked != 0 || stats.Transitions != 2*rounds {
		t.Errorf("%+v", stats)
	}
}

func TestCallbackAtTheInstantOfTheTimeout(t *testing.T) {
	won := map[string]int{}
	const rounds = 400
	for range rounds {
		synctest.Test(t, func(t *testing.T) {
			var h *harness
			answered := make(chan error, 1)
			h = newHarness(t, askDefinition, func(i invocation) (string, error) {
				time.AfterFunc(time.Minute, func() { answered <- h.SendTaskSuccess(i.token(), []byte(`1`)) })
				return `null`, nil
			})
			h.start()
			h.wantEnd("")
			if err := <-answered; err == nil {
				won["callback"]++
				h.wantStory("Ask 0s", "Done 1m0s")
			} else if errors.Is(err, asl.ErrTaskTimedOut) {
				won["timeout"]++
				h.wantStory("Ask 0s", "Caught 1m0s")
			} else {
				t.Error(err)
			}
		})
	}
	wantEach(t, won, rounds, "callback", "timeout")
}

// wantEach says that a race counts only when each outcome was seen in a tenth of the rounds.
func wantEach(t *testing.T, won map[string]int, rounds int, outcomes ...string) {
	t.Helper()
	t.Logf("%d rounds: %v", rounds, won)
	for _, outcome := range outcomes {
		if won[outcome] < rounds/10 {
			t.Errorf("%s won %d of %d rounds: this was no race", outcome, won[outcome], rounds)
		}
	}
}

func TestParkedExecutionsCostNoGoroutine(t *testing.T) {
	const parked = 10_000
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, askDefinition, returns(`null`))
		before := runtime.NumGoroutine()
		for i := range parked {
			if err := h.Start(fmt.Sprintf("t%d-g1", i), []byte(input)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if stats := h.Stats(); stats.Parked != parked || stats.Running != 0 {
			t.Errorf("%+v", stats)
		}
		if got := runtime.NumGoroutine(); got > before {
			t.Errorf("%d goroutines, %d before", got, before)
		}
		if err := h.SendTaskSuccess("token-1", []byte(`1`)); err != nil {
			t.Fatal(err)
		}
		h.wantEnd("")
		if err := h.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if stats := h.Stats(); stats.Parked != 0 || stats.Running != 0 || stats.Succeeded != 1 {
			t.Errorf("%+v", stats)
		}
		if err := h.SendTaskSuccess("token-2", []byte(`1`)); !errors.Is(err, asl.ErrStopped) {
			t.Errorf("a callback after Stop: %v", err)
		}
	})
}
