package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// overHTTP loads a server process with blocking sends, then sends one at a time.
func overHTTP(ctx context.Context, dir string, p plan, f *figures) error {
	server, err := start(ctx, filepath.Join(dir, "http"), "--profile", p.profile)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: p.clients}, Timeout: 30 * time.Second}
	send := func(ctx context.Context) error { return server.send(ctx, client) }
	warm, err := loaded(ctx, p.clients, p.load/5, send)
	if err != nil {
		return err
	}
	all, err := loaded(ctx, p.clients, p.load, send)
	if err != nil {
		return err
	}
	f.TasksPerSecond, f.P50, f.P99 = all.rate, all.quantile(0.5), all.quantile(0.99)
	if f.CommitsPerBatch, err = server.commitsPerBatch(ctx, client); err != nil {
		return err
	}
	alone, err := repeated(ctx, p.alone, send)
	if err != nil {
		return err
	}
	f.AloneP50, f.AloneP99 = alone.quantile(0.5), alone.quantile(0.99)
	f.PeakMemoryMiB, err = server.stop()
	tasks := len(warm.times) + len(all.times) + len(alone.times)
	f.ServerCPU = server.cpu().Seconds() * 1000 / float64(tasks)
	return err
}

// runnerAlone loads a node in this process without HTTP: submit, start, watch.
func runnerAlone(ctx context.Context, dir string, p plan, f *figures) error {
	n, book, err := open(filepath.Join(dir, "runner"))
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return err
	}
	all, err := loaded(ctx, p.clients, p.load, func(ctx context.Context) error { return submit(ctx, n) })
	if err != nil {
		return err
	}
	f.RunnerTasks = all.rate
	if err := n.Stop(ctx); err != nil {
		return err
	}
	return book.Close()
}

func submit(ctx context.Context, n *node.Node) error {
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: a2a.TaskID(newID())}
	a := sixSteps()
	res, err := n.Authority.Create(ctx, ref, lifecycle.Submit{
		ContextID: newID(), Agent: a.Name(), AgentVersion: a.Version(), Step: a.First(),
		Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "bench"}, (*ledger.Key)(nil))
	if err != nil {
		return err
	}
	if err := n.Dispatcher.Submitted(ctx, res.Task.Head); err != nil {
		return err
	}
	for h := res.Task.Head; !h.Terminal(); {
		if err := n.Authority.Ledger.Watch(ctx, ref, h.Seq); err != nil {
			return err
		}
		if h, err = n.Authority.Ledger.Head(ctx, ref); err != nil {
			return err
		}
	}
	return nil
}

// send is one blocking SendMessage, which answers with the completed task.
func (s *server) send(ctx context.Context, client *http.Client) error {
	body := fmt.Appendf(nil, `{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"go"}]}}`, newID())
	answer, err := s.post(ctx, client, "/message:send", body)
	if err != nil {
		return err
	}
	if !bytes.Contains(answer, []byte("TASK_STATE_COMPLETED")) {
		return fmt.Errorf("the task is not completed: %.300s", answer)
	}
	return nil
}

func (s *server) post(ctx context.Context, client *http.Client, path string, body []byte) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/a2a+json")
	return do(client, r)
}

func (s *server) get(ctx context.Context, client *http.Client, path string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		return err
	}
	answer, err := do(client, r)
	if err != nil {
		return err
	}
	return json.Unmarshal(answer, into)
}

func do(client *http.Client, r *http.Request) ([]byte, error) {
	r.Header.Set("A2A-Version", "1.0")
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %.300s", resp.Status, answer)
	}
	return answer, err
}

// sample is what a load gave.
type sample struct {
	rate  float64
	times []time.Duration // sorted
}

func (s sample) quantile(q float64) float64 {
	if len(s.times) == 0 {
		return 0
	}
	return float64(s.times[int(q*float64(len(s.times)-1))]) / float64(time.Millisecond)
}

// loaded runs work from several clients for a while. The first error ends it.
func loaded(ctx context.Context, clients int, long time.Duration, work func(context.Context) error) (sample, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var s sample
	var all sync.WaitGroup
	began := time.Now()
	for range clients {
		all.Go(func() {
			for time.Since(began) < long {
				once := time.Now()
				if err := work(ctx); err != nil {
					cancel(err)
					return
				}
				took := time.Since(once)
				mu.Lock()
				s.times = append(s.times, took)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	s.rate = float64(len(s.times)) / time.Since(began).Seconds()
	slices.Sort(s.times)
	return s, context.Cause(ctx)
}

// repeated runs work one after the other.
func repeated(ctx context.Context, times int, work func(context.Context) error) (sample, error) {
	var s sample
	for range times {
		once := time.Now()
		if err := work(ctx); err != nil {
			return s, err
		}
		s.times = append(s.times, time.Since(once))
	}
	slices.Sort(s.times)
	return s, nil
}
