package main

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"testing"
)

// wantBill compares lines of a bill, by name.
func wantBill(t *testing.T, of *tally, want map[string]float64) {
	t.Helper()
	found := 0
	for _, l := range bill(of) {
		if dollars, listed := want[l.name]; listed {
			found++
			if math.Abs(l.dollars-dollars) > 0.001 {
				t.Errorf("%s: $%.3f, want $%.3f", l.name, l.dollars, dollars)
			}
		}
	}
	if found != len(want) {
		t.Errorf("the bill has %d of the %d lines that were looked for", found, len(want))
	}
}

func TestBill(t *testing.T) {
	wantBill(t, sample(), map[string]float64{
		"Step Functions, transitions": 100, "DynamoDB, writes": 10.625, "DynamoDB, reads": 0.3125, "Lambda, invocations": 1.2,
		"API Gateway, requests": 3.5, "S3, requests": 5.8, "durable functions, operations": 0,
		// api: 2 + 8 + 30 ms of a quarter of a GB; step: 4 + 32 + 90 ms of a half; stream: 6 ms of a quarter.
		"Lambda, GB-seconds (assumed)": (0.040/4 + 0.126/2 + 0.006/4) * perGBSecond,
	})
}

// TestDurable: ten operations of a kilobyte each, kept for half a month.
func TestDurable(t *testing.T) {
	s := sample()
	wantBill(t, durable(s), map[string]float64{
		"durable functions, operations": 80, "durable functions, written": 2.5, "durable functions, retained": 0.75,
		"DynamoDB, writes": 13.125, "DynamoDB, reads": 0.3125, "Step Functions, transitions": 0, "Lambda, invocations": 1.2, "API Gateway, requests": 3.5,
	})
	if got := s.figures(); got != sample().figures() {
		t.Errorf("the model has changed what was counted: %+v", got)
	}
}

func TestWaits(t *testing.T) {
	all := waits(spent{Times: 2, Reads: 6})
	if w := all[1]; w.requests != 1 || w.reads != 3+154 || math.Abs(w.dollars-(500+3.5+0.2+157*perReadUnit)) > 0.01 {
		t.Errorf("a stream: %+v", w)
	}
	if w := all[2]; w.requests != 150 || w.reads != 450 || w.dollars < 150*perRequest {
		t.Errorf("polling: %+v", w)
	}
}

// TestMemoryIsTheTemplates: the functions have what the template gives them.
func TestMemoryIsTheTemplates(t *testing.T) {
	text, err := os.ReadFile("../../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]int{
		`ApiMemory: \{[^}]*Default: (\d+)`: memoryAPI, `StepMemory: \{[^}]*Default: (\d+)`: memoryStep,
		`(?s)\n  SettleFunction:.*?MemorySize: (\d+)`: memorySettle, `(?s)\n  StreamFunction:.*?MemorySize: (\d+)`: memoryStream,
		`(?s)\n  DeliverFunction:.*?MemorySize: (\d+)`: memoryDeliver,
	} {
		if found := regexp.MustCompile(pattern).FindSubmatch(text); found == nil || string(found[1]) != fmt.Sprint(want) {
			t.Errorf("%s finds %q in template.yaml, want %d", pattern, found, want)
		}
	}
}
