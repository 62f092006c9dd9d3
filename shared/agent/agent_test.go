package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

func nothing(context.Context, *agent.Task[int]) (agent.Next, error) {
	return agent.Complete("Done"), nil
}

func one(run func(context.Context, *agent.Task[int]) (agent.Next, error)) *agent.Agent {
	return agent.New("one", 3, agent.Step[int]{Name: "only", Run: run})
}

func TestDefaultRetryIsCappedSchedule(t *testing.T) {
	want := []time.Duration{
		1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second,
		32 * time.Second, 64 * time.Second, 128 * time.Second, 256 * time.Second, // after the ninth of ten
		5 * time.Minute, 5 * time.Minute,
	}
	r := agent.DefaultRetry()
	for i, d := range want {
		if got := r.Delay(i + 1); got != d {
			t.Errorf("delay after attempt %d: %s, want %s", i+1, got, d)
		}
	}
	if got := r.Delay(1 << 40); got != 5*time.Minute {
		t.Errorf("delay after very many attempts: %s, want 5m", got)
	}
	if got := (agent.Retry{First: time.Hour, Factor: 2, Max: time.Minute}).Delay(1); got != time.Minute {
		t.Errorf("a first delay above the cap: %s, want the cap", got)
	}
	if got := (agent.Retry{First: time.Second, Factor: 1, Max: time.Minute}).Delay(9); got != time.Second {
		t.Errorf("a constant delay: %s, want 1s", got)
	}
}

func TestRetryTakesDefaultsFieldByField(t *testing.T) {
	a := agent.New("one", 1, agent.Step[int]{Name: "only", Run: nothing, Retry: agent.Retry{Attempts: 2}})
	want := agent.DefaultRetry()
	want.Attempts = 2
	if got := a.RetryOf("only"); got != want {
		t.Errorf("retry %+v, want %+v", got, want)
	}
	if got := a.RetryOf("unknown"); got != agent.DefaultRetry() {
		t.Errorf("retry of an unknown step %+v, want the default", got)
	}
	if a.Timeout("only") != agent.DefaultStepTimeout || a.Timeout("unknown") != agent.DefaultStepTimeout {
		t.Errorf("timeouts %s and %s, want the default", a.Timeout("only"), a.Timeout("unknown"))
	}
}

func TestTableThatCouldNeverRunPanics(t *testing.T) {
	step := agent.Step[int]{Name: "only", Run: nothing}
	with := func(change func(*agent.Step[int])) agent.Step[int] {
		s := step
		change(&s)
		return s
	}
	for _, c := range []struct {
		title   string
		name    string
		version int
		steps   []agent.Step[int]
		says    string
	}{
		{"no name", "", 1, []agent.Step[int]{step}, `a name of`},
		{"capitals", "Travel", 1, []agent.Step[int]{step}, `a name of`},
		{"a slash", "a/b", 1, []agent.Step[int]{step}, `a name of`},
		{"begins with a dot", ".a", 1, []agent.Step[int]{step}, `a name of`},
		{"65 bytes", strings.Repeat("a", 65), 1, []agent.Step[int]{step}, `a name of`},
		{"version 0", "travel", 0, []agent.Step[int]{step}, `a version from 1`},
		{"no steps", "travel", 1, nil, `at least one step`},
		{"a step without a name", "travel", 1, []agent.Step[int]{with(func(s *agent.Step[int]) { s.Name = "" })}, `"" is no name for a step`},
		{"a step with a bad name", "travel", 1, []agent.Step[int]{with(func(s *agent.Step[int]) { s.Name = "Book it" })}, `"Book it" is no name for a step`},
		{"a step without a function", "travel", 1, []agent.Step[int]{with(func(s *agent.Step[int]) { s.Run = nil })}, `step only has no function`},
		{"a step twice", "travel", 1, []agent.Step[int]{step, step}, `two steps are named only`},
		{"a negative timeout", "travel", 1, []agent.Step[int]{with(func(s *agent.Step[int]) { s.Timeout = -1 })}, `below zero`},
		{"negative attempts", "travel", 1, []agent.Step[int]{with(func(s *agent.Step[int]) { s.Retry.Attempts = -1 })}, `below zero`},
	} {
		t.Run(c.title, func(t *testing.T) {
			defer func() {
				p := fmt.Sprint(recover())
				if !strings.Contains(p, fmt.Sprintf("agent %q", c.name)) || !strings.Contains(p, c.says) {
					t.Errorf("panic %q, want one that names the agent and says %q", p, c.says)
				}
			}()
			agent.New(c.name, c.version, c.steps...)
		})
	}
	agent.New(strings.Repeat("a", 64), 1, with(func(s *agent.Step[int]) { s.Name = "0.a_b-c" }))
}

func TestAgentIsAValue(t *testing.T) {
	plain := agent.New("travel", 2, agent.Step[int]{Name: "b", Run: nothing}, agent.Step[int]{Name: "a", Run: nothing})
	dressed := plain.
		Describe(agent.Card{Description: "Plans trips"}).
		Validate(func(*a2a.Message) error { return io.EOF }).
		KeyedByMessageID()
	if plain.Card().Description != "" || plain.Check(agent.Say("a")) != nil || plain.Keyed() {
		t.Error("describing an agent changed the agent that was described")
	}
	if dressed.Card().Description != "Plans trips" || !errors.Is(dressed.Check(agent.Say("a")), io.EOF) || !dressed.Keyed() {
		t.Error("the described agent lacks what it was described with")
	}
	if dressed.Name() != "travel" || dressed.Version() != 2 || dressed.First() != "b" {
		t.Errorf("agent %s version %d begins with %s", dressed.Name(), dressed.Version(), dressed.First())
	}
	steps := dressed.Steps()
	steps[0] = "changed"
	if got := strings.Join(plain.Steps(), " "); got != "b a" {
		t.Errorf("steps %q, want them in the order of the table", got)
	}
}

func TestMessageWithoutPartsIsNoSubmission(t *testing.T) {
	a := one(nothing)
	for _, m := range []*a2a.Message{nil, {}, {Parts: a2a.ContentParts{nil}}, {Parts: a2a.ContentParts{{}}}} {
		if a.Check(m) == nil {
			t.Errorf("message %v passed", m)
		}
		if got := agent.Text(m); got != "" {
			t.Errorf("text of message %v: %q", m, got)
		}
	}
}

func TestUnknownNextStepNamesAgentVersionAndStep(t *testing.T) {
	for _, next := range []agent.Next{
		agent.Continue("ship"), agent.Pause("Well?", "ship"), agent.Sleep(time.Hour, "ship"), agent.Authorize("pay", "May I?", "ship"),
	} {
		a := one(func(context.Context, *agent.Task[int]) (agent.Next, error) { return next, nil })
		agenttest.Start(t, a, "go").WantFailed(`step "only" of agent one version 3 names "ship" as the next step, which does not exist`)
	}
	a := one(func(context.Context, *agent.Task[int]) (agent.Next, error) { return agent.Continue(""), nil })
	agenttest.Start(t, a, "go").WantFailed(`…names "" as the next step, which does not exist`)
}

func TestStepThatSaysNothing(t *testing.T) {
	a := one(func(context.Context, *agent.Task[int]) (agent.Next, error) { return agent.Next{}, nil })
	agenttest.Start(t, a, "go").WantFailed(`step "only" returned neither an error nor what comes next`)
}

func TestPanicOfAStepIsAnError(t *testing.T) {
	a := one(func(_ context.Context, t *agent.Task[int]) (agent.Next, error) {
		if t.Attempt == 1 {
			panic("nobody expected this")
		}
		return agent.Complete("Done"), nil
	})
	agenttest.Start(t, a, "go").WantCompleted("Done")
}

func TestRunOfAStepThatIsNotThere(t *testing.T) {
	_, err := one(nothing).Run(t.Context(), agent.Input{Step: "gone"}, nil)
	if !agent.IsPermanent(err) || err.Error() != `agent one version 3 has no step "gone"` {
		t.Errorf("error %v, want a permanent one that names agent, version and step", err)
	}
}

func TestStateThatDoesNotFitIsPermanent(t *testing.T) {
	_, err := one(nothing).Run(t.Context(), agent.Input{Step: "only", State: []byte(`{"City":"Oslo"}`)}, nil)
	if !agent.IsPermanent(err) || !strings.Contains(err.Error(), "the checkpoint does not fit the state int") {
		t.Errorf("error %v, want a permanent one about the state", err)
	}
}

func TestStateThatCannotBeStored(t *testing.T) {
	a := agent.New("one", 1, agent.Step[float64]{Name: "only", Run: func(_ context.Context, t *agent.Task[float64]) (agent.Next, error) {
		t.State = math.NaN()
		return agent.Complete("Done"), nil
	}})
	agenttest.Start(t, a, "go").WantFailed("the state float64 cannot be stored: …")

	for _, c := range []struct {
		bytes int
		fits  bool
	}{{agent.MaxStateBytes, true}, {agent.MaxStateBytes + 1, false}} {
		large := agent.New("one", 1, agent.Step[string]{Name: "only", Run: func(_ context.Context, t *agent.Task[string]) (agent.Next, error) {
			t.State = strings.Repeat("x", c.bytes-len(`""`))
			return agent.Complete("Done"), nil
		}})
		r := agenttest.Start(t, large, "go")
		if c.fits {
			r.WantCompleted("Done")
		} else {
			r.WantFailed("the state string has 32769 bytes, the limit is 32768…")
		}
	}
}

func TestErrorOfCommitEndsTheAttempt(t *testing.T) {
	for _, end := range []error{nil, errors.New("another error")} {
		a := agent.New("one", 1, agent.Step[string]{Name: "only", Run: func(ctx context.Context, t *agent.Task[string]) (agent.Next, error) {
			t.State = strings.Repeat("x", agent.MaxStateBytes)
			first := t.Commit(ctx)
			t.State = "small again"
			if second := t.Commit(ctx); !errors.Is(second, first) {
				return agent.Next{}, agent.Permanent(fmt.Errorf("another error of a later commit: %w", second))
			}
			return agent.Complete("Done"), end
		}})
		agenttest.Start(t, a, "go").WantFailed("the state string has …")
	}
}

func TestTermsOfAPause(t *testing.T) {
	for _, c := range []struct {
		next agent.Next
		want agent.PauseTerms
	}{
		{agent.Pause("Well?", "only"), agent.PauseTerms{}},
		{agent.Pause("Well?", "only", agent.For(time.Hour), agent.OrCancel(), agent.ByName()), agent.PauseTerms{Timeout: time.Hour, Cancel: true, Named: true}},
		{agent.Authorize("pay", "May I?", "only", agent.By("treasury")), agent.PauseTerms{Authorization: true, Action: "pay", Audience: "treasury"}},
	} {
		a := one(func(context.Context, *agent.Task[int]) (agent.Next, error) { return c.next, nil })
		m, err := a.Run(t.Context(), agent.Input{Step: "only"}, nil)
		if err != nil || m.Verb != agent.VerbPause || m.Step != "only" || *m.Pause != c.want {
			t.Errorf("move %+v with terms %+v, error %v; want %+v", m, m.Pause, err, c.want)
		}
	}
}

func TestMarksOfAnError(t *testing.T) {
	if agent.Permanent(nil) != nil || agent.NotDone(nil) != nil {
		t.Error("marking no error made one")
	}
	err := fmt.Errorf("in step: %w", agent.Permanent(agent.NotDone(io.EOF)))
	if !agent.IsPermanent(err) || !agent.IsNotDone(err) || !errors.Is(err, io.EOF) || err.Error() != "in step: EOF" {
		t.Errorf("error %v lost a mark, its cause or its text", err)
	}
	if agent.IsPermanent(io.EOF) || agent.IsNotDone(io.EOF) {
		t.Error("an unmarked error is marked")
	}
}

func TestJudge(t *testing.T) {
	a := agent.New("one", 1, agent.Step[int]{Name: "only", Run: nothing, Retry: agent.Retry{Attempts: 3}})
	until := time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC)
	doubt := &agent.InDoubt{Effect: "pay", Until: until}
	for _, c := range []struct {
		title   string
		attempt int
		err     error
		want    agent.Verdict
	}{
		{"first attempt", 1, io.EOF, agent.Verdict{Act: agent.VerdictRetry, Delay: time.Second, Reason: "EOF"}},
		{"second attempt", 2, io.EOF, agent.Verdict{Act: agent.VerdictRetry, Delay: 2 * time.Second, Reason: "EOF"}},
		{"last attempt", 3, io.EOF, agent.Verdict{Act: agent.VerdictFail, Text: `Step "only" failed: gave up after 3 attempts: EOF`, Reason: "gave up after 3 attempts: EOF"}},
		{"permanent", 1, agent.Permanent(io.EOF), agent.Verdict{Act: agent.VerdictFail, Text: `Step "only" failed: EOF`, Reason: "EOF"}},
		{"in doubt", 3, fmt.Errorf("pay: %w", doubt), agent.Verdict{Act: agent.VerdictWait, Effect: "pay", Until: until, Reason: "pay: " + doubt.Error()}},
		{"in doubt, marked permanent", 1, agent.Permanent(doubt), agent.Verdict{Act: agent.VerdictWait, Effect: "pay", Until: until, Reason: doubt.Error()}},
		{"held", 1, &agent.InDoubt{Effect: "pay", Held: true}, agent.Verdict{Act: agent.VerdictHold, Effect: "pay", Reason: `effect "pay" is in doubt and held for an operator`}},
	} {
		if got := a.Judge("only", c.attempt, c.err); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.title, got, c.want)
		}
	}
}
