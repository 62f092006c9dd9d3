package main

import (
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent/agenttest"
)

func TestReport(t *testing.T) {
	var out strings.Builder
	report(&out, []counted{{scenario{title: "sample", aim: figures{writes: 50, transitions: 3}}, sample()}, {scenario{title: modelOf}, newTally()}})
	for _, want := range []string{
		"                                                    sample               one pause\n",
		"DynamoDB, units                      times   write    read   times   write    read\n",
		"  api    submit                          1       9       –       –       –       –\n",
		"  step   reads                           1       –       2       –       –       –\n",
		"  in all                                        17     2.5               –       –\n  aim                                          ≤50\n",
		"  in all                                 4                       –\n  aim                                   ≤3\n",
		"Dollars for a million tasks                  sample        one pause  durable (model)\n",
		"  durable functions, retained                     –                –             0.75\n",
		"nothing of it ran: 10 operations of 1000 bytes",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no line\n%s\nin\n%s", want, out.String())
		}
	}
}

// TestSixSteps: the agents do what their scenarios are called.
func TestSixSteps(t *testing.T) {
	if n := len(sixSteps("six-steps", false).Steps()); n != 6 {
		t.Errorf("%d steps, want 6", n)
	}
	agenttest.Start(t, sixSteps("six-steps", false), "go").WantReport("8 of 14 …").WantCompleted("Done: …")
	agenttest.Start(t, sixSteps("six-steps-asking", true), "go").WantPause("May I …?").Reply("Yes, go on.").WantCompleted("Done: …")
}
