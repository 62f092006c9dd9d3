package asl_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/local/asl"
)

// BenchmarkTaskWithoutPause runs the deployed definition along Run, Route, Done; the functions cost nothing.
func BenchmarkTaskWithoutPause(b *testing.B) {
	ended := make(chan struct{}, 1024)
	done := json.RawMessage(`{"word":"done"}`)
	r, err := asl.NewRuntime(parse(b, taskDefinition(b)), asl.Options{
		Invoke:   func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return done, nil },
		Now:      time.Now,
		Rand:     rand.Float64,
		NewToken: func() string { return "" },
		OnEnd:    func(string, asl.Result) { ended <- struct{}{} },
	})
	if err != nil {
		b.Fatal(err)
	}
	const width = 64
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if i >= width {
			<-ended
		}
		if err := r.Start("t-g"+strconv.Itoa(i), []byte(input)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "executions/s")
}

// BenchmarkParked measures the memory of an execution that waits for its callback, and its way there.
func BenchmarkParked(b *testing.B) {
	var tokens atomic.Int64
	outcome := json.RawMessage(`{"word":"await","seconds":604800,"pause":1}`)
	r, err := asl.NewRuntime(parse(b, taskDefinition(b)), asl.Options{
		Invoke:   func(context.Context, string, json.RawMessage) (json.RawMessage, error) { return outcome, nil },
		Now:      time.Now,
		Rand:     rand.Float64,
		NewToken: func() string { return fmt.Sprintf("%032d", tokens.Add(1)) },
	})
	if err != nil {
		b.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := 0; b.Loop(); i++ {
		if err := r.Start("0190a5c8-7d4e-7000-8000-000000000000-g"+strconv.Itoa(i), []byte(input)); err != nil {
			b.Fatal(err)
		}
	}
	for r.Stats().Running > 0 {
		runtime.Gosched()
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(b.N), "heap-B/parked")
	if err := r.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
}
