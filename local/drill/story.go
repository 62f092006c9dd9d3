package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// drill is one run.
type drill struct {
	out   io.Writer
	dir   string // of the binary, data, exports and logs
	began time.Time

	root, binary string // of the module; what is drilled
	endpoint     string // of a DynamoDB-compatible server; empty: the embedded ledger
	address      string // of the product, the same for every start
	keys         string // the file with the approver's keys
	client       *driver.Client
	approver     approver
	systems      systems
	relay        *relay
	running      struct{ product, systems *process }
	starts       int

	t42  trace   // as act 1 has left it
	t42s picture // and what it looks like
	t42v view    // as its caller knew it when it waited for input
	twin trace   // act 1's sibling, which is still at work
	seen view    // of the twin, when it waited for input
	told []string

	mu    sync.Mutex
	rests []rest
}

// rest is a task that has come to rest: nothing may change it any more.
type rest struct {
	at   door
	task string
	head head
}

func newDrill(out io.Writer, dir string) *drill {
	return &drill{out: out, dir: dir, began: time.Now(), client: driver.NewClient(8 * lanes)}
}

// act is one thing that must not go wrong. What it returns is what it has counted.
type act struct {
	about string
	play  func(*drill, context.Context) (string, error)
}

var acts = []act{
	{"T-42, from its submission to a late failure", (*drill).playT42},
	{"T-43, rejected for good", (*drill).playT43},
	{"T-42 in 200 orders", (*drill).playShuffles},
	{"two producers, concurrent chunks", (*drill).playProducers},
	{"conflicting bytes at one coordinate", (*drill).playConflict},
	{"cancellation against completion", (*drill).playCancellation},
	{"an expired question", (*drill).playQuestion},
	{"killed after the effect and before its record", (*drill).playEffect},
	{"restarts between every two acts, and within T-42", (*drill).playRestarts},
}

// play builds the product and plays all acts within the limit. After an act that fails
// the others are played all the same, each with a product of its own start.
func (d *drill) play(ctx context.Context, limit time.Duration) error {
	var err error
	if d.root, err = driver.Root(ctx); err != nil {
		return err
	}
	if d.binary, err = driver.Build(ctx, d.root, filepath.Join(d.dir, "holdfast"), "./local"); err != nil {
		return err
	}
	driver.Tell(d.out, "built in %s", seconds(time.Since(d.began)))
	d.began = time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the drill took longer than %s", limit))
	defer cancel()
	if err := d.open(ctx); err != nil {
		return fmt.Errorf("before the first act: %w", err)
	}
	var failed []error
	for i, a := range append(acts, act{"without the connection log", (*drill).playEvidence}) {
		name := fmt.Sprintf("act %d", i+1)
		if i == len(acts) {
			name = "in the end"
		}
		began := time.Now()
		figures, err := a.play(d, ctx)
		if err == nil {
			driver.Tell(d.out, "%-10s  ok    %s: %s (%s)", name, a.about, figures, seconds(time.Since(began)))
		} else {
			driver.Tell(d.out, "%-10s  FAIL  %s: %s", name, a.about, driver.OneLine(err))
			failed = append(failed, fmt.Errorf("%s, %s: %w", name, a.about, err))
		}
		if cause := context.Cause(ctx); cause != nil {
			return errors.Join(append(failed, cause)...)
		}
		if err := d.restart(ctx); err != nil {
			return errors.Join(append(failed, fmt.Errorf("the restart after %s: %w", name, err))...)
		}
	}
	return errors.Join(failed...)
}

// open starts the systems under review, the network between, and the product.
func (d *drill) open(ctx context.Context) error {
	at, err := driver.FreeAddresses(ctx, 2)
	if err != nil {
		return err
	}
	d.address, d.systems = at[0], systems{d.client, "http://" + at[1]}
	d.keys = filepath.Join(d.dir, "approver.json")
	if d.approver, err = newApprover(d.keys); err != nil {
		return err
	}
	if d.running.systems, err = driver.Start(d.dir, "systems", d.binary, "systems", "--addr", at[1]); err != nil {
		return err
	}
	err = until(ctx, "the systems answer", d.running.systems, func(ctx context.Context) (bool, error) {
		_, err := d.systems.counters(ctx)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if d.relay, err = openRelay(ctx, d.systems, at[0]); err != nil {
		return err
	}
	return d.start(ctx)
}

// start starts the product on the one address and data folder, and waits until it
// takes requests.
func (d *drill) start(ctx context.Context) (err error) {
	d.starts++
	args := append([]string{
		"serve", "--addr", d.address, "--data", d.data(), "--systems-url", d.relay.url,
		"--outside", outsideAgent, "--receipt-issuer", issuerName + "=" + d.keys,
	}, timing...)
	if d.endpoint != "" {
		args = append(args, "--dynamodb-endpoint", d.endpoint)
	}
	if d.running.product, err = driver.Start(d.dir, fmt.Sprintf("product-%d", d.starts), d.binary, args...); err != nil {
		return err
	}
	return until(ctx, "the product takes requests", d.running.product, func(ctx context.Context) (bool, error) {
		var health struct{ Status string }
		err := d.client.Get(ctx, "http://"+d.address+"/healthz", &health)
		return err == nil, err
	})
}

func (d *drill) data() string { return filepath.Join(d.dir, "data") }

// kill ends the product with SIGKILL.
func (d *drill) kill() error {
	defer d.client.Forget()
	return d.running.product.Kill()
}

// restart kills the product, starts it again, and holds every task that has come to
// rest against what it was.
func (d *drill) restart(ctx context.Context) error {
	if err := d.kill(); err != nil {
		return err
	}
	if err := d.start(ctx); err != nil {
		return err
	}
	return inLanes(ctx, len(d.rests), func(ctx context.Context, i int) error {
		r := d.rests[i]
		now, err := r.at.ledger(ctx, r.task, r.head.Seq)
		if err != nil {
			return err
		}
		if len(now.Entries) > 0 || now.Head.settled() != r.head.settled() {
			return fmt.Errorf("task %s rested as %+v and is %+v", r.task, r.head, now.Head)
		}
		return nil
	})
}

// rest keeps a task that has ended, for every later restart.
func (d *drill) rest(at door, id string, h head) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rests = append(d.rests, rest{at, id, h})
}

// door is an agent of the product.
func (d *drill) door(agent string) door {
	return door{d.client, "http://" + d.address + "/" + agent}
}

// worker is a worker on a new task, which its message names.
func (d *drill) worker(ctx context.Context, messageID string) (*worker, error) {
	at := d.door(outsideAgent)
	t, err := at.begin(ctx, messageID)
	return &worker{door: at, producer: firstProducer, task: t.ID}, err
}

// end kills what still runs.
func (d *drill) end() {
	if err := driver.End(d.running.product, d.running.systems); err != nil {
		driver.Tell(d.out, "%v", err)
	}
	if d.relay != nil {
		d.relay.close()
	}
}

// note is a figure for the last line.
func (d *drill) note(format string, args ...any) {
	d.told = append(d.told, fmt.Sprintf(format, args...))
}

// summary is the figures of the last line.
func (d *drill) summary() string {
	return fmt.Sprintf("%s; %d tasks at rest over %d kills, %d requests, %s in all",
		strings.Join(d.told, "; "), len(d.rests), d.starts-1, d.client.Requests.Load(), seconds(time.Since(d.began)))
}

// inLanes does something many times, some at once, until one fails.
func inLanes(ctx context.Context, times int, do func(ctx context.Context, i int) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan int)
	var all sync.WaitGroup
	for range min(lanes, times) {
		all.Go(func() {
			for i := range next {
				if err := do(ctx, i); err != nil {
					stop(err)
				}
			}
		})
	}
	for i := range times {
		select {
		case next <- i:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	all.Wait()
	return context.Cause(ctx)
}
