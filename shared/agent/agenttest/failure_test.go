package agenttest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

func sleeper() *agent.Agent {
	return agent.New("sleeper", 1,
		agent.Step[int]{Name: "doze", Run: func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
			t.Report("I am going to sleep")
			return agent.Sleep(time.Hour, "wake"), nil
		}},
		agent.Step[int]{Name: "wake", Run: func(context.Context, *agent.Task[int]) (agent.Next, error) {
			return agent.Reject("Too early"), nil
		}},
	).Validate(func(m *a2a.Message) error {
		if agent.Text(m) == "" {
			return errors.New("say something")
		}
		return nil
	})
}

// Each wrong expectation fails, and says what was wanted and what there is.
func TestWrongExpectationsFail(t *testing.T) {
	start := func(t agenttest.TB) *agenttest.Run { return agenttest.Start(t, travel(&hotel{}), "Plan a trip") }
	for _, c := range []struct {
		name string
		body func(t agenttest.TB)
		want []string
	}{
		{"another question", func(t agenttest.TB) { start(t).WantPause("Which hotel?") }, []string{`want paused: "Which hotel?"`, `got  paused: "Which city?"`, `submission  "Plan a trip"`}},
		{"no authorization", func(t agenttest.TB) { start(t).WantAuthorization("pay") }, []string{`want waits for authorization of "pay"`, `got  paused`}},
		{"no end", func(t agenttest.TB) { start(t).WantCompleted("…") }, []string{`want completed: "…"`, `got  paused`}},
		{"another end", func(t agenttest.TB) { start(t).Reply("Oslo").WantFailed("…") }, []string{`want failed: "…"`, `got  completed: "Booked R1"`}},
		{"another text", func(t agenttest.TB) { start(t).Reply("Oslo").WantCompleted("Booked") }, []string{`want completed: "Booked"`}},
		{"not rejected", func(t agenttest.TB) { start(t).WantRejected("…") }, []string{`want rejected`}},
		{"not canceled", func(t agenttest.TB) { start(t).WantCanceled() }, []string{`want canceled`}},
		{"another count", func(t agenttest.TB) { start(t).Reply("Oslo").WantCalls("reserve", 2) }, []string{`want 2 calls of reserve`, `got  1`}},
		{"no report", func(t agenttest.TB) { start(t).WantReport("hello") }, []string{`want a report "hello"`, `got  no reports`}},
		{"another report", func(t agenttest.TB) { agenttest.Start(t, sleeper(), "go").WantReport("hello") }, []string{`got  reports "I am going to sleep"`}},
		{"no artifact", func(t agenttest.TB) { start(t).WantArtifact("poem", "…") }, []string{`got  no such artifact`}},
		{"another artifact", func(t agenttest.TB) { agenttest.Start(t, poet("a", "b"), "go").WantArtifact("poem", "b") }, []string{`artifact poem with "b"`, `got  "ab"`}},
		{"no sleep", func(t agenttest.TB) { start(t).WantSleep(time.Hour) }, []string{`want sleeps for 1h0m0s`}},
		{"another sleep", func(t agenttest.TB) { agenttest.Start(t, sleeper(), "go").WantSleep(time.Minute) }, []string{`got  sleeps for 1h0m0s`}},
		{"a second sleep", func(t agenttest.TB) { agenttest.Start(t, sleeper(), "go").WantSleep(time.Hour).WantSleep(time.Hour) }, []string{`got  rejected: "Too early"`}},
		{"another state", func(t agenttest.TB) {
			agenttest.WantState(start(t), func(s trip) string { return "a city" })
		}, []string{`want another state: a city`, `got  {"City":""`}},
		{"a state of another type", func(t agenttest.TB) { agenttest.State[int](start(t)) }, []string{`want a state int`}},
		{"not held", func(t agenttest.TB) { start(t).WantHeld("reserve") }, []string{`want effect reserve held for an operator`}},
		{"nothing to settle", func(t agenttest.TB) { start(t).SettleDone("reserve", 1) }, []string{`want effect reserve held`}},
		{"nothing to reply to", func(t agenttest.TB) { start(t).Reply("Oslo").Reply("Rome") }, []string{`want an open question to reply to`, `got  completed`}},
		{"nothing to authorize", func(t agenttest.TB) { start(t).Authorize() }, []string{`want an action to authorize`}},
		{"nothing to cancel", func(t agenttest.TB) { start(t).Reply("Oslo").Cancel() }, []string{`want a task to cancel`}},
		{"nothing to expire", func(t agenttest.TB) { start(t).Reply("Oslo").Expire() }, []string{`want an open pause`}},
		{"a fault that never comes", func(t agenttest.TB) { start(t).CrashBeforeCommit("pack").WantPause("…") }, []string{`CrashBeforeCommit("pack") never happened`}},
		{"two faults, one comes", func(t agenttest.TB) {
			start(t).FailCall("reserve", errRefused).LoseAnswer("resrve").Reply("Oslo").WantCompleted("…")
		}, []string{`LoseAnswer("resrve") never happened`}},
		{"not refused", func(t agenttest.TB) { agenttest.Start(t, sleeper(), "go").WantRefused("…") }, []string{`want the first message refused`, `got  sleeps`}},
		{"refused", func(t agenttest.TB) { agenttest.Start(t, sleeper(), "").WantRejected("…") }, []string{`got  the first message was refused: say something`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failuresOf(t, c.body)
			if got == "" {
				t.Fatal("passed")
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("said:\n%s\nwant %q in it", got, want)
				}
			}
		})
	}
}

func TestRightExpectationsPass(t *testing.T) {
	if got := failuresOf(t, func(t agenttest.TB) {
		agenttest.Start(t, sleeper(), "go").WantReport("…sleep").WantSleep(time.Hour).WantRejected("Too early")
		agenttest.Start(t, sleeper(), "go").Advance(time.Minute).Advance(59 * time.Minute).WantRejected("…")
		agenttest.Start(t, sleeper(), "go").WantRejected("Too …")
		agenttest.Start(t, sleeper(), "").WantRefused("say …")
	}); got != "" {
		t.Error(got)
	}
}

func TestFailureReadsLikeThis(t *testing.T) {
	got := failuresOf(t, func(t agenttest.TB) {
		agenttest.Start(t, travel(&hotel{err: errRefused}, agent.Hold()), "Plan a trip").Reply("Oslo").WantCompleted("Booked …")
	})
	want := `agenttest: want completed: "Booked …"
      got  effect reserve is in doubt and held for an operator
so far:
  submission  "Plan a trip"
  where       paused: "Which city?"
  caller      replies "Oslo"
  book        calls reserve
  book        cannot tell what became of reserve
  book        attempt 1 failed: connection refused (again after 1s)
  book        waits: effect "reserve" is in doubt and held for an operator`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
