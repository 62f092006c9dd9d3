// Command bench measures the embedded default at full durability
// (synchronous=FULL): six-step tasks per second with 32 clients over HTTP and
// through the runner alone, one task alone, a restart after SIGKILL, and peak
// memory; and in the same run what the disk itself can do, so that the share of
// the limit can be read. The last line is one JSON object.
//
// The server is this same program in a process of its own.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// plan says how much is measured.
type plan struct {
	clients int
	load    time.Duration // of each load
	alone   int           // tasks, one after the other
	probe   time.Duration // of each disk probe
	profile string        // file for the server's CPU profile, or empty
}

// figures are what is printed. Rates are per second, times in milliseconds.
type figures struct {
	Sync               string  `json:"sync"`
	Clients            int     `json:"clients"`
	TasksPerSecond     float64 `json:"tasksPerSecondHTTP"`
	P50                float64 `json:"p50MsHTTP"`
	P99                float64 `json:"p99MsHTTP"`
	RunnerTasks        float64 `json:"tasksPerSecondRunner"`
	AloneP50           float64 `json:"aloneP50Ms"`
	AloneP99           float64 `json:"aloneP99Ms"`
	RestartToCommit    float64 `json:"restartToFirstCommitMs"`
	PeakMemoryMiB      float64 `json:"peakMemoryMiB"`
	ServerCPU          float64 `json:"serverCPUMsPerTask"`
	CommitsPerBatch    float64 `json:"commitsPerFsync"`
	DiskFsyncs         float64 `json:"diskFsyncsPerSecond"`
	RawAppends         float64 `json:"rawGroupCommitAppendsPerSecond"`
	ShareOfRaw         float64 `json:"shareOfRawAppends"`
	ShareOfFsyncsAlone float64 `json:"aloneFsyncShare"`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) > 1 && os.Args[1] == "server" {
		exit(serve(ctx, os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == "growth" {
		exit(growth(ctx, os.Args[2:]))
	}
	smoke := flag.Bool("smoke", false, "measure for a moment only, to see that everything runs")
	clients := flag.Int("clients", 32, "clients at once")
	load := flag.Duration("load", 10*time.Second, "how long each load lasts")
	profile := flag.String("profile", "", "write a CPU profile of the server under load to this file")
	flag.Parse()
	p := plan{clients: *clients, load: *load, alone: 500, probe: 2 * time.Second, profile: *profile}
	if *smoke {
		p = plan{clients: 8, load: time.Second, alone: 20, probe: 200 * time.Millisecond}
	}
	exit(measure(ctx, p))
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

func measure(ctx context.Context, p plan) error {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	f := figures{Sync: "FULL", Clients: p.clients}
	for _, act := range []func(context.Context, string, plan, *figures) error{disk, rawAppends, overHTTP, restart, runnerAlone} {
		if err := act(ctx, dir, p, &f); err != nil {
			return err
		}
	}
	f.ShareOfRaw = f.TasksPerSecond * commitsPerTask / f.RawAppends
	f.ShareOfFsyncsAlone = 1000 / f.AloneP50 * commitsPerTask / f.DiskFsyncs
	f.print()
	return json.NewEncoder(os.Stdout).Encode(f)
}

func (f *figures) print() {
	fmt.Printf("six-step tasks, synchronous=%s\n", f.Sync)
	fmt.Printf("  %d clients over HTTP      %8.0f tasks/s, p50 %.1f ms, p99 %.1f ms\n", f.Clients, f.TasksPerSecond, f.P50, f.P99)
	fmt.Printf("  through the runner alone %8.0f tasks/s\n", f.RunnerTasks)
	fmt.Printf("  one task alone           p50 %.2f ms, p99 %.2f ms (%.0f%% of the disk's fsync rate)\n", f.AloneP50, f.AloneP99, 100*f.ShareOfFsyncsAlone)
	fmt.Printf("  SIGKILL, restart, first new commit after %.0f ms\n", f.RestartToCommit)
	fmt.Printf("  the server used %.2f ms of CPU for a task; peak memory %.0f MiB; %.1f commits per fsync\n", f.ServerCPU, f.PeakMemoryMiB, f.CommitsPerBatch)
	fmt.Printf("the disk: %.0f fsyncs/s; raw group commit: %.0f appends/s, of which the tasks over HTTP used %.0f%%\n", f.DiskFsyncs, f.RawAppends, 100*f.ShareOfRaw)
}
