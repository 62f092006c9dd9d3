package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// soak puts a mixed load on the product for a long time and kills it every few
// seconds. Every story that was begun must come to its end, whatever dies under it;
// then every task's export is verified, and the effects are counted outside. The last
// quarter has no kills, so that memory can be seen to stay.
func soak(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("soak", flag.ContinueOnError)
	f.SetOutput(out)
	long := f.Duration("long", 30*time.Minute, "how long the load lasts")
	beside := f.Int("beside", 16, "stories told side by side")
	rest := f.Duration("rest", 50*time.Millisecond, "rest of a teller between two stories")
	endpoint := f.String("dynamodb-endpoint", os.Getenv("DYNAMODB_ENDPOINT"), "soak the ledger of AWS on this DynamoDB-compatible server; empty: the embedded one")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-soak-")
	if err != nil {
		return err
	}
	s := &soaking{drill: newDrill(out, dir), long: *long, rest: *rest, seed: rand.Uint64(), ended: map[string]int{}}
	s.endpoint = *endpoint
	err = s.run(ctx, *beside)
	s.end()
	if err != nil {
		driver.Tell(out, "binary, data, exports and logs are kept in %s", dir)
		return fmt.Errorf("seed %d: %w", s.seed, err)
	}
	driver.Tell(out, "PASS soak: %s", s.figures)
	return os.RemoveAll(dir)
}

// soaking is one run.
type soaking struct {
	*drill

	long, rest time.Duration
	seed       uint64
	figures    string
	stories    atomic.Int64
	retries    atomic.Int64
	cuts       atomic.Int64

	world sync.RWMutex // held by who starts or kills the product
	mu    sync.Mutex
	ended map[string]int // stories by their kind and end
	tasks []told
}

// told is a task whose story was told to its end.
type told struct {
	at   door
	task string
	head head
}

func (s *soaking) run(ctx context.Context, beside int) error {
	var err error
	if s.root, err = driver.Root(ctx); err != nil {
		return err
	}
	if s.binary, err = driver.Build(ctx, s.root, filepath.Join(s.dir, "holdfast"), "./local"); err != nil {
		return err
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	s.began = time.Now()
	where := "the embedded ledger"
	if s.endpoint != "" {
		where = "DynamoDB's protocol at " + s.endpoint
	}
	driver.Tell(s.out, "%d tellers for %s on %s, seed %d", beside, s.long, where, s.seed)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var tellers, others sync.WaitGroup
	over := make(chan struct{})
	others.Go(func() {
		if err := s.killOften(ctx, over); err != nil {
			stop(err)
		}
	})
	m := newMeter(s)
	others.Go(func() { m.measure(ctx, over) })
	for i := range beside {
		tellers.Go(func() {
			if err := s.tell(ctx, i); err != nil {
				stop(fmt.Errorf("teller %d: %w", i, err))
			}
		})
	}
	tellers.Wait()
	close(over)
	others.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := s.checkOutside(ctx); err != nil {
		return err
	}
	exports, bytes, err := s.verifyAll(ctx)
	if err != nil {
		return err
	}
	driver.Tell(s.out, "stories: %s", s.ends())
	if err := m.report(s.out); err != nil {
		return err
	}
	s.figures = fmt.Sprintf("%d stories in %s over %d kills on %s; %d requests came again, %d streams were cut and resumed; %d exports (%.1f MiB) verified; %s",
		s.stories.Load(), seconds(time.Since(s.began)), s.starts-1, where, s.retries.Load(), s.cuts.Load(), exports, float64(bytes)/(1<<20), m.summary())
	return nil
}

// killOften kills the product and starts it again, every one to seven seconds of the
// first three quarters.
func (s *soaking) killOften(ctx context.Context, over <-chan struct{}) error {
	dice := rand.New(rand.NewPCG(s.seed, 0))
	quiet := time.Now().Add(s.long * 3 / 4)
	for {
		wait := time.NewTimer(time.Second + time.Duration(dice.IntN(6000))*time.Millisecond)
		select {
		case <-over:
			wait.Stop()
			return nil
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
		if time.Now().After(quiet) {
			return nil
		}
		if err := s.killAndStart(ctx); err != nil {
			return err
		}
	}
}

func (s *soaking) killAndStart(ctx context.Context) error {
	s.world.Lock()
	defer s.world.Unlock()
	if err := s.kill(); err != nil {
		return err
	}
	return s.start(ctx)
}

// tell tells stories, one after the other, until the time is over.
func (s *soaking) tell(ctx context.Context, teller int) error {
	dice := rand.New(rand.NewPCG(s.seed, uint64(teller)+1))
	for n := 0; time.Since(s.began) < s.long; n++ {
		k := storyKinds[dice.IntN(len(storyKinds))]
		name := fmt.Sprintf("%s %d-%d", k.name, teller, n)
		at, id, err := k.play(s, ctx, name, dice)
		if err != nil {
			return fmt.Errorf("story %q: %w", name, err)
		}
		h, err := s.endOf(ctx, at, id, k.ends)
		if err != nil {
			return fmt.Errorf("story %q: %w", name, err)
		}
		s.stories.Add(1)
		s.mu.Lock()
		s.ended[k.name+" "+strings.ToLower(strings.TrimPrefix(h.State, "TASK_STATE_"))]++
		s.tasks = append(s.tasks, told{at, id, h})
		s.mu.Unlock()
		if err := driver.Pause(ctx, s.rest); err != nil {
			return err
		}
	}
	return nil
}

// verifyAll exports every task and lets processes of their own verify the files.
func (s *soaking) verifyAll(ctx context.Context) (files int, size int64, err error) {
	const atATime = 50
	folder := filepath.Join(s.dir, "exports")
	if err := os.Mkdir(folder, 0o700); err != nil {
		return 0, 0, err
	}
	for first := 0; first < len(s.tasks); first += atATime {
		names := []string{"verify"}
		for _, t := range s.tasks[first:min(first+atATime, len(s.tasks))] {
			text, err := t.at.exported(ctx, t.task)
			if err != nil {
				return files, size, err
			}
			file := filepath.Join(folder, t.task+".ndjson")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				return files, size, err
			}
			names, files, size = append(names, file), files+1, size+int64(len(text))
		}
		if _, err := s.tool(ctx, names...); err != nil {
			return files, size, err
		}
		for _, name := range names[1:] {
			if err := os.Remove(name); err != nil {
				return files, size, err
			}
		}
	}
	return files, size, nil
}

// ends lists how many stories came to which end.
func (s *soaking) ends() string {
	var out []string
	for _, k := range storyKinds {
		for kind, n := range s.ended {
			if strings.HasPrefix(kind, k.name+" ") {
				out = append(out, fmt.Sprintf("%d %s", n, kind))
			}
		}
	}
	return strings.Join(out, ", ")
}
