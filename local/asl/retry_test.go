package asl_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

// callDefinition is one task with a retry and two catches, then an end for each way out.
const callDefinition = `{"StartAt":"Call","States":{
	"Call":{"Type":"Task","Resource":"${StepFunctionArn}","Parameters":{"op":"call"},"ResultPath":"$.result","TimeoutSeconds":10,
		"Retry":[
			{"ErrorEquals":["Busy","States.Timeout"],"IntervalSeconds":2,"BackoffRate":3,"MaxAttempts":4,"MaxDelaySeconds":20},
			{"ErrorEquals":["Never"],"MaxAttempts":0,"MaxDelaySeconds":60},
			{"ErrorEquals":["Defaults","Never"],"MaxDelaySeconds":60}],
		"Catch":[
			{"ErrorEquals":["Named","Never"],"ResultPath":"$.error","Next":"Named"},
			{"ErrorEquals":["States.ALL"],"ResultPath":"$.error","Next":"Any"}],
		"Next":"Done"},
	"Done":{"Type":"Succeed"},
	"Named":{"Type":"Succeed"},
	"Any":{"Type":"Succeed"}}}`

// noCatchDefinition is one task that nothing helps.
const noCatchDefinition = `{"StartAt":"Call","States":{
	"Call":{"Type":"Task","Resource":"${StepFunctionArn}","Parameters":{"op":"call"},"TimeoutSeconds":10,"Next":"Done"},
	"Done":{"Type":"Succeed"}}}`

func TestErrorNames(t *testing.T) {
	for _, row := range []struct {
		what   string
		answer func(invocation) (string, error)
		path   string
		end    string // name of the execution's error
		error  string // what the catch put into the data
	}{
		{"a plain error", fails(errors.New("plain")), "Call Any", "", `{"Cause":"plain","Error":"Lambda.Unknown"}`},
		{"an asl.Error", fails(&asl.Error{Name: "Named", Cause: "c"}), "Call Named", "", `{"Cause":"c","Error":"Named"}`},
		{"a wrapped asl.Error", fails(fmt.Errorf("x: %w", &asl.Error{Name: "Named", Cause: "c"})), "Call Named", "", `{"Cause":"c","Error":"Named"}`},
		{"names are compared exactly", fails(&asl.Error{Name: "named"}), "Call Any", "", `{"Cause":"","Error":"named"}`},
		{"a panic", func(invocation) (string, error) { panic("boom") }, "Call Any", "", `{"Cause":"panic: boom","Error":"Lambda.Unknown"}`},
		{"a result that is not JSON", returns("{"), "Call Any", "", `{"Cause":"the result of state Call is not JSON: unexpected end of JSON input","Error":"Lambda.Unknown"}`},
		{"the first retrier that names it decides", fails(&asl.Error{Name: "Never"}), "Call Named", "", `{"Cause":"","Error":"Never"}`},
		{"a result of more than 256 KiB", returns(`"` + strings.Repeat("x", 256*1024) + `"`), "Call", "States.DataLimitExceeded", ""},
		{"States.Runtime is never caught", fails(&asl.Error{Name: "States.Runtime"}), "Call", "States.Runtime", ""},
	} {
		t.Run(row.what, func(t *testing.T) {
			h := newHarness(t, callDefinition, row.answer)
			h.start()
			result := h.wantEnd(row.end)
			h.wantPath(row.path)
			if row.error != "" && !strings.Contains(string(result.Output), `"error":`+row.error) {
				t.Errorf("output %s, want error %s", result.Output, row.error)
			}
		})
	}
}

func fails(err error) func(invocation) (string, error) {
	return func(invocation) (string, error) { return "", err }
}

func returns(result string) func(invocation) (string, error) {
	return func(invocation) (string, error) { return result, nil }
}

func TestErrorsAreCutToWhatTheServiceTakes(t *testing.T) {
	h := newHarness(t, noCatchDefinition, fails(&asl.Error{Name: strings.Repeat("é", 300), Cause: strings.Repeat("é", 40_000)}))
	h.start()
	result := h.wantEnd(strings.Repeat("é", 256))
	if got := len([]rune(result.Err.Cause)); got != 32_768 {
		t.Errorf("cause of %d characters", got)
	}
}

func TestRetryWaitsLongerEachTimeUpToTheCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, callDefinition, fails(&asl.Error{Name: "Busy"}))
		h.start()
		result := h.wantEnd("")
		h.wantStory("Call 0s", "Call 2s", "Call 8s", "Call 26s", "Call 46s", "Any 46s") // 2, 6, 18, and 54 capped to 20
		if result.Transitions != 6 {
			t.Errorf("%d transitions, want 6: each retry is one", result.Transitions)
		}
	})
}

func TestRetryDefaultsAreThoseOfTheLanguage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, callDefinition, fails(&asl.Error{Name: "Defaults"}))
		h.start()
		h.wantEnd("")
		h.wantStory("Call 0s", "Call 1s", "Call 3s", "Call 7s", "Any 7s")
	})
}

func TestRetryCountsForEachRetrierApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"Defaults", "Busy", "Defaults", "Busy", "Defaults", "Defaults"}
		h := newHarness(t, callDefinition, func(invocation) (string, error) {
			name := names[0]
			names = names[1:]
			return "", &asl.Error{Name: name}
		})
		h.start()
		h.wantEnd("")
		h.wantStory("Call 0s", "Call 1s", "Call 3s", "Call 5s", "Call 11s", "Call 15s", "Any 15s")
	})
}

func TestRetryJitterTakesAShareOfTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		definition := edit(t, callDefinition, "States/Call/Retry/0/JitterStrategy", "FULL")
		shares := []float64{0, 0.5, 0.25, 0.999}
		h := newHarness(t, definition, fails(&asl.Error{Name: "Busy"}), func(o *asl.Options) {
			o.Rand = func() float64 { share := shares[0]; shares = shares[1:]; return share }
		})
		h.start()
		h.wantEnd("")
		h.wantStory("Call 0s", "Call 0s", "Call 3s", "Call 7.5s", "Call 27.48s", "Any 27.48s")
	})
}

// The function returns at the very instant of the timeout, so which of the two is first is open: the error is the same.
func TestInvocationTimesOut(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			var calls atomic.Int32
			h := newHarness(t, callDefinition, func(i invocation) (string, error) {
				if calls.Add(1) == 2 {
					return `"second"`, nil
				}
				<-i.ctx.Done()
				return "", i.ctx.Err()
			})
			h.start()
			if got, want := string(h.wantEnd("").Output), `"result":"second"`; !strings.Contains(got, want) {
				t.Errorf("output %s, want %s", got, want)
			}
			h.wantStory("Call 0s", "Call 12s", "Done 12s")
		})
	}
}

func TestResultOfATimedOutAttemptIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var calls atomic.Int32
		h := newHarness(t, callDefinition, func(invocation) (string, error) {
			if calls.Add(1) == 2 {
				return `"second"`, nil
			}
			<-release // a function that does not look at its context
			return `"first"`, nil
		})
		h.start()
		result := h.wantEnd("")
		if got, want := string(result.Output), `"result":"second"`; !strings.Contains(got, want) {
			t.Errorf("output %s, want %s", got, want)
		}
		close(release)
		synctest.Wait()
		h.wantStory("Call 0s", "Call 12s", "Done 12s")
		if stats := h.Stats(); stats.Succeeded != 1 || stats.Running != 0 || stats.Parked != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestDeadlineOfTheContextIsTheTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, callDefinition, func(i invocation) (string, error) {
			deadline, _ := i.ctx.Deadline()
			return fmt.Sprintf("%q", time.Until(deadline)), nil
		})
		h.start()
		if got, want := string(h.wantEnd("").Output), `"result":"10s"`; !strings.Contains(got, want) {
			t.Errorf("output %s, want %s", got, want)
		}
	})
}

func TestWaitForSecondsOfTheDefinition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t, `{"StartAt":"A","States":{"A":{"Type":"Wait","Seconds":86400,"Next":"B"},
			"B":{"Type":"Wait","Seconds":0,"Next":"C"},"C":{"Type":"Succeed"}}}`, nil)
		h.start()
		h.wantEnd("")
		h.wantStory("A 0s", "B 24h0m0s", "C 24h0m0s")
	})
}
