package main

import (
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// sample is a tally with something in every place.
func sample() *tally {
	t := newTally()
	t.add(fnAPI, "submit", dynamo.Units{Writes: 9, Requests: 1})
	t.add(fnStep, "step", dynamo.Units{Writes: 4})
	t.add(fnStep, "step", dynamo.Units{Writes: 4, Reads: 0.5})
	t.add(fnStep, reading, dynamo.Units{Reads: 2})
	t.States["Run"], t.States["Route"], t.States["Done"] = 2, 1, 1
	t.did(fnAPI, work{Invocations: 1, Dynamo: 1, Calls: 1})
	t.did(fnStep, work{Invocations: 2, Dynamo: 4})
	t.did(fnStep, work{Puts: 1, Gets: 2})
	t.did(fnStream, work{Invocations: 3})
	return t
}

// Each figure is held against its own ceiling: raising it fails, lowering it is said.
func TestCeilings(t *testing.T) {
	n := sample().figures()
	if want := (figures{writes: 17, reads: 2.5, transitions: 4, api: 1, step: 2, stream: 3, puts: 1, gets: 2}); n != want {
		t.Errorf("%+v, want %+v", n, want)
	}
	if above, below := n.against(n); len(above)+len(below) > 0 {
		t.Errorf("against itself: %q above, %q below", above, below)
	}
	for name, more := range map[string]figures{
		"write units": {writes: 1}, "read units": {reads: 0.5}, "transitions": {transitions: 1}, "invocations of api": {api: 1}, "invocations of step": {step: 1},
		"invocations of settle": {settle: 1}, "invocations of stream": {stream: 1}, "invocations of deliver": {deliver: 1}, "S3 puts": {puts: 1}, "S3 gets": {gets: 1},
	} {
		above, _ := more.against(figures{})
		_, below := (figures{}).against(more)
		if len(above) != 1 || len(below) != 1 || !strings.Contains(above[0], name) || !strings.Contains(below[0], name) {
			t.Errorf("%s: %q above, %q below", name, above, below)
		}
	}
	for _, sc := range scenarios() {
		if c := sc.ceiling; c.writes == 0 || sc.aim.writes > 0 && (c.writes > sc.aim.writes || c.transitions > sc.aim.transitions) != (sc.beyond != "") {
			t.Errorf("%s: the ceiling %+v is absent, or beyond the aim %+v without a reason, or within it with one", sc.title, c, sc.aim)
		}
	}
}

// Runs that count the same are told from those that do not.
func TestRepeat(t *testing.T) {
	n := 0
	if got, err := repeat(3, func() (*tally, error) { n++; return sample(), nil }); err != nil || n != 3 || got.figures() != sample().figures() {
		t.Errorf("played %d times: %+v, %v", n, got, err)
	}
	for what, change := range map[string]func(*tally){
		"step lease: ":        func(s *tally) { s.add(fnStep, "lease", dynamo.Units{Writes: 3}) },
		"state Run: 2, then ": func(s *tally) { s.States["Run"]++ },
		"function stream: ":   func(s *tally) { delete(s.Work, fnStream) },
	} {
		runs := 0
		_, err := repeat(2, func() (*tally, error) {
			s := sample()
			if runs++; runs == 2 {
				change(s)
			}
			return s, nil
		})
		if err == nil || !strings.Contains(err.Error(), "run 2") || !strings.Contains(err.Error(), what) {
			t.Errorf("a difference in %q: %v", what, err)
		}
	}
}

func TestJudge(t *testing.T) {
	n := sample().figures()
	lower, higher := n, n
	lower.writes--
	higher.reads++
	for _, c := range []struct {
		said, fails string
		ceiling     figures
	}{
		{said: "PASS cost: sample 17 write units, 2.5 read units, 4 transitions, $", ceiling: n},
		{said: "fallen: sample: 2.5 read units, the ceiling is 3.5; lower it", ceiling: higher},
		{fails: "sample: 17 write units, the ceiling is 16", ceiling: lower},
	} {
		var out strings.Builder
		err := judge(&out, []counted{{scenario{title: "sample", ceiling: c.ceiling}, sample()}})
		if (err != nil) != (c.fails != "") || !strings.Contains(out.String(), c.said) || strings.Contains(out.String(), "PASS") != (err == nil) {
			t.Errorf("%v\n%s", err, out.String())
		}
		if err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%v, want %q", err, c.fails)
		}
	}
}

func TestActOf(t *testing.T) {
	submitted, working := lifecycle.Head{State: lifecycle.Submitted}, lifecycle.Head{State: lifecycle.Working, Fence: 1, Visit: 1}
	for want, heads := range map[string][2]lifecycle.Head{
		"first lease": {submitted, working},
		"lease":       {working, {State: lifecycle.Working, Fence: 2, Visit: 1}},
		"step":        {working, {State: lifecycle.Working, Fence: 1, Visit: 2}},
		"sub-step":    {working, working},
		"pause":       {working, {State: lifecycle.InputRequired, Fence: 1, Visit: 2, Pause: &lifecycle.Pause{}}},
		"end":         {working, {State: lifecycle.Completed, Fence: 1, Visit: 2}},
	} {
		if got := actOf(heads[0], heads[1]); got != want {
			t.Errorf("it is called %q, want %q", got, want)
		}
	}
}
