package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// demo is one performance.
type demo struct {
	out   io.Writer
	dir   string // of binaries, data and logs
	began time.Time

	root    string                         // of the module
	built   struct{ current, next string } // the product as it is, and its next build
	systems systems
	product product
	address string // of the product, the same for every start
	starts  int    // of the product
	running struct{ systems, product, watch *process }
	hook    *hook

	submission []byte // the message that submits the review
	task       task   // as last seen
	streams    []*stream
	found      facts
}

// act is one thing that happens in the story.
type act struct {
	about string
	play  func(*demo, context.Context) error
}

var acts = []act{
	{"start the systems and the product", (*demo).start},
	{"submit the review", (*demo).submit},
	{"kill -9 the product while it fetches a system", (*demo).killFetching},
	{"start the next build, reattach, wait for the question", (*demo).restartFetching},
	{"kill -9 the product while the task waits for the answer", (*demo).killPaused},
	{"answer, and answer again", (*demo).answer},
	{"lose the network twice, submit again, finish", (*demo).finish},
	{"gather what is known", (*demo).gather},
}

// play builds the product, plays all acts within the limit and verifies what came
// of them.
func (d *demo) play(ctx context.Context, limit time.Duration) error {
	driver.Tell(d.out, "build the product and its next version")
	var err error
	if d.root, err = driver.Root(ctx); err != nil {
		return err
	}
	if d.built.current, err = driver.Build(ctx, d.root, filepath.Join(d.dir, "holdfast"), "./local"); err != nil {
		return err
	}
	if d.built.next, err = driver.Build(ctx, d.root, filepath.Join(d.dir, "holdfast-next"), "./local", "-tags", "next"); err != nil {
		return err
	}
	d.say("built in %.1f s", time.Since(d.began).Seconds())
	d.began = time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("the demo took longer than %s", limit))
	defer cancel()
	for _, a := range acts {
		driver.Tell(d.out, "%s", a.about)
		if err := a.play(d, ctx); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = errors.Join(cause, err)
			}
			return fmt.Errorf("%s: %w", a.about, err)
		}
	}
	d.found.took = time.Since(d.began)
	driver.Tell(d.out, "verify")
	return verify(d.found, d.out)
}

// say tells what has just come about, and when.
func (d *demo) say(format string, args ...any) {
	driver.Tell(d.out, "  %6.2f s  %s", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// end kills what still runs.
func (d *demo) end() {
	if err := driver.End(d.running.watch, d.running.product, d.running.systems); err != nil {
		driver.Tell(d.out, "%v", err)
	}
	if d.hook != nil {
		_ = d.hook.server.Close() // nobody is at its other end
	}
}

// start starts the systems and the product as it is.
func (d *demo) start(ctx context.Context) error {
	var err error
	if d.submission, err = os.ReadFile(filepath.Join(d.root, "events", "accessreview", "send.json")); err != nil {
		return err
	}
	if d.hook, err = openHook(ctx); err != nil {
		return err
	}
	if d.submission, err = hooked(d.submission, d.hook.url); err != nil {
		return err
	}
	free, err := driver.FreeAddresses(ctx, 2)
	if err != nil {
		return err
	}
	systemsAt := free[0]
	d.address = free[1]
	d.systems, d.product = systems("http://"+systemsAt), product("http://"+d.address)
	if d.running.systems, err = driver.Start(d.dir, "systems", d.built.current, "systems", "--addr", systemsAt); err != nil {
		return err
	}
	err = until(ctx, "the systems answer", d.running.systems, func(ctx context.Context) (bool, error) {
		d.found.systems, err = d.systems.names(ctx)
		return err == nil, err
	})
	if err != nil {
		return err
	}
	if len(d.found.systems) < heldPlace {
		return fmt.Errorf("there are %d systems only", len(d.found.systems))
	}
	d.found.held = d.found.systems[heldPlace-1]
	if err := d.startProduct(ctx, d.built.current); err != nil {
		return err
	}
	d.say("ready at %s, systems at %s", d.product, d.systems)
	d.found.versionBefore, err = d.product.version(ctx)
	return err
}

// startProduct starts a build of the product and waits until it takes requests.
func (d *demo) startProduct(ctx context.Context, binary string) error {
	if err := d.launchProduct(binary); err != nil {
		return err
	}
	return until(ctx, "the product takes requests", d.running.product, d.product.ready)
}

// launchProduct starts a build of the product on the one address and data folder.
func (d *demo) launchProduct(binary string) (err error) {
	d.starts++
	args := append([]string{
		"serve", "--addr", d.address, "--data", filepath.Join(d.dir, "data"), "--systems-url", string(d.systems),
	}, timing...)
	d.running.product, err = driver.Start(d.dir, fmt.Sprintf("product-%d", d.starts), binary, args...)
	return err
}

// subscribe opens a stream behind everything seen so far.
func (d *demo) subscribe(ctx context.Context) (*stream, error) {
	var after *uint64
	if n := len(d.streams); n > 0 {
		last := d.streams[n-1].last()
		after = &last
	}
	s, err := d.product.subscribe(ctx, d.task.ID, after)
	if err == nil {
		d.streams = append(d.streams, s)
	}
	return s, err
}
