package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// What a folder full of tasks may cost, against an empty one.
const (
	maxStart = time.Second           // from the process's start to its first answer
	maxPage  = 20 * time.Millisecond // a page of ListTasks, the median
	maxRatio = 1.2                   // of throughput and of the median latency
	// maxStall bounds the median latency of live tasks while finished ones are purged.
	maxStall = 2.0
	// rounds is how often both folders are loaded in turn: the median counts.
	rounds = 3
)

// growth compares a folder full of tasks with an empty one, in one run.
func growth(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("growth", flag.ContinueOnError)
	many := f.Int("finished", 1_000_000, "finished tasks in the folder")
	live := f.Int("live", 10_000, "live tasks in the folder; every tenth sleeps, the others wait for input")
	purge := f.Int("expired", 100_000, "tasks that are purged while others run")
	load := f.Duration("load", 5*time.Second, "how long each load lasts")
	clients := f.Int("clients", 32, "clients at once")
	smoke := f.Bool("smoke", false, "a small folder and short loads, to see that everything runs; misses are no failure")
	keep := f.String("data", "", "keep the full folder here, and use it when it is there already")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *smoke {
		*many, *live, *purge, *load = 2_000, 200, 0, time.Second/2
	}
	dir, err := os.MkdirTemp("", "holdfast-growth-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	g := &grown{
		plan: plan{clients: *clients, load: *load}, empty: filepath.Join(dir, "empty"), full: *keep,
		client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: *clients}, Timeout: time.Minute},
	}
	if g.full == "" {
		g.full = filepath.Join(dir, "full")
	}
	if _, err := os.Stat(g.full); errors.Is(err, os.ErrNotExist) {
		if err := fill(ctx, g.full, finished(*many), waiting(*live-*live/10), sleeping(*live/10)); err != nil {
			return err
		}
	}
	if err := g.measure(ctx, *purge); err != nil {
		return err
	}
	if len(g.missed) > 0 && !*smoke {
		return fmt.Errorf("FAIL growth: %d of %d figures miss their aims: %v", len(g.missed), g.judged, g.missed)
	}
	fmt.Printf("PASS growth: %d figures, %d finished and %d live tasks\n", g.judged, *many, *live)
	return nil
}

// grown is one comparison.
type grown struct {
	plan        plan
	empty, full string
	client      *http.Client
	judged      int
	missed      []string
}

// judge prints a figure and holds it against its aim.
func (g *grown) judge(name string, value, most float64, unit, format string, args ...any) {
	g.judged++
	word := "ok"
	if value > most {
		word = "MISSED"
		g.missed = append(g.missed, name)
	}
	fmt.Printf("  %-34s %9.2f %-3s at most %7.2f  %-6s %s\n", name, value, unit, most, word, fmt.Sprintf(format, args...))
}

func (g *grown) measure(ctx context.Context, purged int) error {
	info, err := os.Stat(filepath.Join(g.full, "holdfast.db"))
	if err != nil {
		return err
	}
	fmt.Printf("the full folder: %.0f MiB\n", float64(info.Size())/(1<<20))
	none, err := start(ctx, g.empty)
	if err != nil {
		return err
	}
	began := time.Now()
	full, err := start(ctx, g.full)
	if err != nil {
		return err
	}
	if err := full.get(ctx, g.client, "/tasks?pageSize=1", &struct{}{}); err != nil {
		return err
	}
	g.judge("start to first answer", float64(time.Since(began))/float64(time.Millisecond), float64(maxStart)/float64(time.Millisecond), "ms", "")
	if err := g.pages(ctx, full); err != nil {
		return err
	}
	alone, err := g.loads(ctx, none, full)
	if err != nil {
		return err
	}
	for _, s := range []*server{none, full} {
		memory, err := s.stop()
		if err != nil {
			return err
		}
		fmt.Printf("  peak memory %.0f MiB\n", memory)
	}
	return g.purges(ctx, purged, alone)
}

// pages reads pages of ListTasks as a caller does.
func (g *grown) pages(ctx context.Context, s *server) error {
	asked := []struct{ name, query string }{
		{"ListTasks, the first page", "pageSize=50"},
		{"ListTasks, state completed", "pageSize=50&status=TASK_STATE_COMPLETED"},
		{"ListTasks, state input-required", "pageSize=50&status=TASK_STATE_INPUT_REQUIRED"},
		{"ListTasks, state failed (none)", "pageSize=50&status=TASK_STATE_FAILED"},
		{"ListTasks, since an hour ago", "pageSize=50&statusTimestampAfter=" + time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)},
	}
	for _, a := range asked {
		var times []time.Duration
		token := ""
		for range 20 {
			var page struct {
				Tasks         []json.RawMessage `json:"tasks"`
				NextPageToken string            `json:"nextPageToken"`
			}
			query := a.query
			if token != "" {
				query += "&pageToken=" + url.QueryEscape(token)
			}
			once := time.Now()
			if err := s.get(ctx, g.client, "/tasks?"+query, &page); err != nil {
				return err
			}
			times = append(times, time.Since(once))
			token = page.NextPageToken
		}
		slices.Sort(times)
		ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
		g.judge(a.name, ms(times[len(times)/2]), ms(maxPage), "ms", "most %.1f ms", ms(times[len(times)-1]))
	}
	return nil
}

// loads puts load on both servers in turn and compares the medians. It returns the median
// latency of the full one.
func (g *grown) loads(ctx context.Context, none, full *server) (float64, error) {
	var rates, latencies [2][]float64
	for range rounds {
		for i, s := range []*server{none, full} {
			got, err := loaded(ctx, g.plan.clients, g.plan.load, func(ctx context.Context) error { return s.send(ctx, g.client) })
			if err != nil {
				return 0, err
			}
			rates[i], latencies[i] = append(rates[i], got.rate), append(latencies[i], got.quantile(0.5))
		}
	}
	middle := func(of []float64) float64 { slices.Sort(of); return of[len(of)/2] }
	g.judge("throughput, empty / full", middle(rates[0])/middle(rates[1]), maxRatio, "", "%.0f and %.0f tasks/s", middle(rates[0]), middle(rates[1]))
	g.judge("median latency, full / empty", middle(latencies[1])/middle(latencies[0]), maxRatio, "", "%.1f and %.1f ms", middle(latencies[0]), middle(latencies[1]))
	return middle(latencies[1]), nil
}

// purges lets tasks expire and loads the server while they are purged.
func (g *grown) purges(ctx context.Context, many int, alone float64) error {
	if many == 0 {
		return nil
	}
	if err := fill(ctx, g.full, expired(many)); err != nil {
		return err
	}
	s, err := start(ctx, g.full)
	if err != nil {
		return err
	}
	began := time.Now()
	var times []float64
	for left := many; left > 0; {
		got, err := loaded(ctx, g.plan.clients, g.plan.load, func(ctx context.Context) error { return s.send(ctx, g.client) })
		if err != nil {
			return err
		}
		times = append(times, got.quantile(0.5))
		if left, err = s.expired(ctx, g.client); err != nil {
			return err
		}
		if left > 0 && time.Since(began) > 10*time.Minute {
			return fmt.Errorf("%d of %d expired tasks are still there after %s", left, many, time.Since(began))
		}
	}
	took := time.Since(began).Seconds()
	slices.Sort(times)
	g.judge("median latency during a purge", times[len(times)/2]/alone, maxStall, "", "%d tasks in %.0f s, %.1f ms", many, took, times[len(times)/2])
	_, err = s.stop()
	return err
}

// expired counts the tasks that are to be purged.
func (s *server) expired(ctx context.Context, client *http.Client) (int, error) {
	var n int
	err := s.get(ctx, client, "/bench/expired", &n)
	return n, err
}
