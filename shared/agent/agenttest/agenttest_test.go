package agenttest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

func TestJourney(t *testing.T) {
	h := &hotel{}
	r := agenttest.Start(t, travel(h), "Plan a trip").
		WantPause("Which city?").
		CrashBeforeCommit("book").
		Reply("Oslo").
		WantCompleted("Booked …").
		WantCalls("reserve", 1)
	agenttest.WantState(r, func(s trip) string {
		if s != (trip{}) {
			return "the end keeps no state"
		}
		return ""
	})
	want := strings.Join([]string{
		`submission  "Plan a trip"`,
		`where       paused: "Which city?"`,
		`caller      replies "Oslo"`,
		`book        calls reserve`,
		`book        records reserve: "R1"`,
		`process     dies before the commit of book`,
		`book        finds reserve recorded: "R1"`,
		`book        completed: "Booked R1"`,
		``,
	}, "\n")
	if got := r.Transcript(); got != want {
		t.Errorf("transcript:\n%swant:\n%s", got, want)
	}
}

func TestEveryCrashOfTheJourney(t *testing.T) {
	n := agenttest.EveryCrash(t, func(t *agenttest.CrashPoint) {
		h := &hotel{}
		agenttest.Start(t, travel(h), "Plan a trip").CrashAt(t).Reply("Oslo").WantCompleted("Booked R1")
		if len(h.byKey) != 1 {
			t.Errorf("%d rooms, want 1", len(h.byKey))
		}
	})
	// Two commits with two points each, and the effect's three.
	if n != 7 {
		t.Errorf("%d crash points, want 7", n)
	}
}

// case 22: the other side did it and its answer was lost; the retry carries the same
// key, so that the ledger shows one effect and two calls.
func TestLostAnswerIsAskedForAgainWithTheSameKey(t *testing.T) {
	h := &hotel{}
	agenttest.Start(t, travel(h), "Plan a trip").
		LoseAnswer("reserve").
		Reply("Oslo").
		WantCompleted("Booked R1").
		WantCalls("reserve", 2)
	if len(h.byKey) != 1 || h.byKey["task:2:reserve"] == "" {
		t.Errorf("rooms %v, want one under the key of task, visit and name", h.byKey)
	}
}

func TestCallThatFailedIsMadeLater(t *testing.T) {
	h := &hotel{}
	agenttest.Start(t, travel(h), "Plan a trip").
		FailCall("reserve", errRefused).FailCall("reserve", errRefused).
		Reply("Oslo").
		WantCompleted("Booked R1").
		WantCalls("reserve", 1)
}

func TestRetriesAreCountedPerVisit(t *testing.T) {
	var attempts []int
	flaky := func(next agent.Next) func(context.Context, *agent.Task[int]) (agent.Next, error) {
		return func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
			attempts = append(attempts, t.Attempt)
			if t.Attempt < 3 {
				t.State = 99 // lost with the attempt
				return agent.Next{}, errors.New("not yet")
			}
			t.State++
			return next, nil
		}
	}
	a := agent.New("flaky", 1,
		agent.Step[int]{Name: "first", Run: flaky(agent.Continue("second"))},
		agent.Step[int]{Name: "second", Run: flaky(agent.Sleep(time.Hour, "third"))},
		agent.Step[int]{Name: "third", Run: func(context.Context, *agent.Task[int]) (agent.Next, error) {
			return agent.Next{}, errors.New("never")
		}, Retry: agent.Retry{Attempts: 2}},
	)
	r := agenttest.Start(t, a, "go").WantSleep(time.Hour).WantFailed("gave up after 2 attempts: never")
	if got := agenttest.State[int](r); got != 2 {
		t.Errorf("state %d, want 2", got)
	}
	if len(attempts) != 6 || attempts[2] != 3 || attempts[3] != 1 {
		t.Errorf("attempts %v, want 1 2 3 twice", attempts)
	}
}

func TestPauseRunsOut(t *testing.T) {
	ask := func(opts ...agent.PauseOption) *agent.Agent {
		return step(func(context.Context, *agent.Task[int]) (agent.Next, error) {
			return agent.Pause("Well?", "one", opts...), nil
		})
	}
	agenttest.Start(t, ask(), "go").Expire().WantFailed("Nobody answered before the deadline.")
	agenttest.Start(t, ask(agent.For(time.Hour), agent.OrCancel()), "go").
		Advance(time.Hour - time.Millisecond).WantPause("Well?").
		Advance(time.Millisecond).WantCanceled()
	agenttest.Start(t, ask(), "go").
		Advance(agent.DefaultPause - 1).WantPause("Well?").Advance(1).WantFailed("pause-expired")
	agenttest.Start(t, ask(agent.For(agent.MaxPause+1)), "go").WantFailed("limit-reached: a pause lasts at most …")
}

// case 25: both interrupted states accept messages and a cancellation; only a
// receipt leads on from auth-required.
func TestAuthorization(t *testing.T) {
	a := agent.New("pay", 1,
		agent.Step[int]{Name: "ask", Run: func(context.Context, *agent.Task[int]) (agent.Next, error) {
			return agent.Authorize("pay 100 EUR", "May I pay?", "pay", agent.By("treasury")), nil
		}},
		agent.Step[int]{Name: "pay", Run: func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
			return agent.Complete("Paid, as asked by: " + agent.Text(t.Message)), nil
		}},
	)
	agenttest.Start(t, a, "Pay the bill").
		WantAuthorization("pay 100 EUR").
		Reply("go on, I say so").
		WantAuthorization("pay …").
		Authorize().
		WantCompleted("Paid, as asked by: Pay the bill")
	agenttest.Start(t, a, "Pay the bill").WantAuthorization("…").Cancel().WantCanceled()
	agenttest.Start(t, a, "Pay the bill").WantAuthorization("…").Expire().WantFailed("…")
	agenttest.Start(t, travel(&hotel{}), "Plan a trip").WantPause("…").Cancel().WantCanceled()

	nameless := step(func(context.Context, *agent.Task[int]) (agent.Next, error) {
		return agent.Authorize("", "May I?", "one"), nil
	})
	agenttest.Start(t, nameless, "go").WantFailed("…names the action…")
}

func TestCancelWhileAStepRuns(t *testing.T) {
	h := &hotel{}
	agenttest.Start(t, travel(h), "Plan a trip").CancelDuring("where").WantCanceled()
	// An effect is not begun any more.
	agenttest.Start(t, travel(h), "Plan a trip").CancelDuring("book").Reply("Oslo").WantCanceled().WantCalls("reserve", 0)
	// A step that has got there has ended the task.
	end := step(func(context.Context, *agent.Task[int]) (agent.Next, error) { return agent.Complete("Done"), nil })
	agenttest.Start(t, end, "go").CancelDuring("one").WantCompleted("Done")
	// A failed attempt meets the request as well.
	bad := step(func(context.Context, *agent.Task[int]) (agent.Next, error) { return agent.Next{}, errors.New("no") })
	agenttest.Start(t, bad, "go").CancelDuring("one").WantCanceled()
	sub := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		_ = t.Commit(ctx) // swallowed: it ends the attempt all the same
		return agent.Complete("Done"), nil
	})
	agenttest.Start(t, sub, "go").CancelDuring("one").WantCanceled()
}

func TestStepThatKillsItsProcessDoesNotLoop(t *testing.T) {
	a := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) { return agent.Complete("Done"), nil })
	r := agenttest.Start(t, a, "go")
	for range agent.MaxGrants + 1 {
		r.CrashBeforeCommit("one")
	}
	r.WantFailed("no progress")

	r = agenttest.Start(t, a, "go")
	for range agent.MaxGrants {
		r.CrashBeforeCommit("one")
	}
	r.WantCompleted("Done")
}

func TestEndlessLoopMeetsTheLimitOfEntries(t *testing.T) {
	a := step(func(context.Context, *agent.Task[int]) (agent.Next, error) { return agent.Continue("one"), nil })
	agenttest.Start(t, a, "go").WantFailed("entry limit")
}

func TestTimeoutOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := agent.New("slow", 1, agent.Step[int]{Name: "slow", Timeout: time.Minute, Run: func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
			if t.Attempt == 1 {
				<-ctx.Done()
				return agent.Next{}, ctx.Err()
			}
			return agent.Complete("Done"), nil
		}})
		r := agenttest.Start(t, a, "go").WantCompleted("Done")
		if !strings.Contains(r.Transcript(), `step "slow" took longer than 1m0s`) {
			t.Errorf("the transcript does not say why:\n%s", r.Transcript())
		}
	})
}

func TestMessageAndStateAreCopies(t *testing.T) {
	a := step(func(_ context.Context, t *agent.Task[[]string]) (agent.Next, error) {
		if t.Message.Parts[0].Text() != "go" {
			return agent.Next{}, agent.Permanent(errors.New("an earlier attempt changed the message"))
		}
		t.Message.Parts[0].Content = a2a.Text("stop")
		if t.Attempt == 1 {
			return agent.Next{}, errors.New("again")
		}
		return agent.Complete("Done"), nil
	})
	agenttest.Start(t, a, "go").WantCompleted("Done")
}

// case 9c: what an agent leaves blank in a message is filled in, and what it gets
// wrong is put right.
func TestMessagesCarryTheTasksIdentifiers(t *testing.T) {
	a := step(func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
		t.Report("blank")
		m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("wrong"))
		m.ContextID, m.TaskID = "another", "another"
		t.ReportWith(m)
		return agent.Complete("Done"), nil
	})
	r := agenttest.Start(t, a, "go").WantCompleted("Done")
	ids := map[string]bool{}
	for _, m := range r.Messages() {
		ids[m.ID] = true
		if m.ContextID != agenttest.ContextID || m.TaskID != agenttest.TaskID || m.Role != a2a.MessageRoleAgent {
			t.Errorf("message %+v, want it as the agent's, under the task's identifiers", m)
		}
	}
	if len(ids) != 2 {
		t.Errorf("message IDs %v, want two", ids)
	}
}

func TestGoroutineThatOutlivesItsStepReachesNothing(t *testing.T) {
	leaked := make(chan error)
	goOn := make(chan struct{})
	a := step(func(ctx context.Context, t *agent.Task[int]) (agent.Next, error) {
		go func() {
			<-goOn
			_, err := agent.Effect(context.WithoutCancel(ctx), t, "late", func(context.Context, string) (int, error) { return 1, nil })
			leaked <- err
		}()
		return agent.Complete("Done"), nil
	})
	r := agenttest.Start(t, a, "go").WantCompleted("Done")
	close(goOn)
	if err := <-leaked; err == nil {
		t.Error("an effect was begun after its step had returned")
	}
	r.WantCalls("late", 0)
}
