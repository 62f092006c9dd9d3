package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// trial is one run.
type trial struct {
	*driver.Client

	out                  io.Writer
	dir                  string // of the binary, data, records and logs
	root, binary, python string
	load                 load
	only                 *regexp.Regexp // acts that are played

	mu     sync.Mutex
	totals order    // of all acts
	played int      // acts
	noted  []string // figures of the last line
}

// act is something that must not go wrong.
type act struct {
	about string
	play  func(context.Context) ([]outcome, error)
}

// outcome is what has been counted; an act may have several.
type outcome struct{ about, figures string }

// told is the outcome of an act that has one.
func told(format string, args ...any) []outcome {
	return []outcome{{figures: fmt.Sprintf(format, args...)}}
}

// play builds the product and plays all acts within the limit. After an act that fails
// the others are played all the same.
func (t *trial) play(ctx context.Context, limit time.Duration) error {
	began := time.Now()
	var err error
	if t.root, err = driver.Root(ctx); err != nil {
		return err
	}
	if t.binary, err = driver.Build(ctx, t.root, filepath.Join(t.dir, "holdfast"), "./local"); err != nil {
		return err
	}
	if t.python, err = t.installed(ctx, "events/receiver/requirements.txt"); err != nil {
		return err
	}
	driver.Tell(t.out, "built and installed in %s", span(time.Since(began)))
	began = time.Now()
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took longer than %s", limit))
	defer cancel()
	p, err := t.openProduct(ctx, "product")
	defer p.end()
	if err != nil {
		return err
	}
	// Most of these wait most of the time, so they are played side by side.
	var all []act
	all = append(all, t.failing(p)...)
	all = append(all, act{"the product is killed with a request on the wire", t.killedOnTheWire})
	all = append(all, t.recorded()...)
	all = append(all, t.consumers(p)...)
	err = t.sideBySide(ctx, all)
	p.end()
	// This one measures, and wants to be left alone.
	if ctx.Err() == nil {
		measured := act{fmt.Sprintf("%d tasks with three webhooks, one dead and one slow", t.load.tasks), t.measure}
		err = errors.Join(err, t.sideBySide(ctx, []act{measured}))
	}
	if cause := context.Cause(ctx); cause != nil {
		err = errors.Join(cause, err)
	}
	t.note("%s in all", span(time.Since(began)))
	return err
}

// installed is a Python with what a list names.
func (t *trial) installed(ctx context.Context, list string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	folder, err := driver.Output(ctx, t.root, "bash", "-c", "set -euo pipefail; . infra/checks/tools.sh; venv "+list)
	return filepath.Join(folder, "bin", "python"), err
}

// until waits for a condition while a process lives.
func until(ctx context.Context, what string, needs *driver.Process, holds func(context.Context) (bool, error)) error {
	return driver.Until(ctx, driver.Wait{What: what, Limit: waitTime, Every: lookEvery, Needs: []*driver.Process{needs}}, holds)
}

// sideBySide plays acts and tells of them in their order.
func (t *trial) sideBySide(ctx context.Context, acts []act) error {
	acts = slices.DeleteFunc(acts, func(a act) bool { return !t.only.MatchString(a.about) })
	type end struct {
		outcomes []outcome
		err      error
		took     time.Duration
	}
	ends := make([]chan end, len(acts))
	for i, a := range acts {
		ends[i] = make(chan end, 1)
		go func() {
			began := time.Now()
			outcomes, err := a.play(ctx)
			ends[i] <- end{outcomes, err, time.Since(began)}
		}()
	}
	var failed []error
	for i, a := range acts {
		e := <-ends[i]
		for _, o := range e.outcomes {
			about := a.about
			if o.about != "" {
				about = o.about
			}
			t.played++
			driver.Tell(t.out, "ok    %s: %s", about, o.figures)
		}
		if e.err != nil {
			driver.Tell(t.out, "FAIL  %s: %s (%s)", a.about, driver.OneLine(e.err), span(e.took))
			failed = append(failed, fmt.Errorf("%s: %w", a.about, e.err))
		}
	}
	return errors.Join(failed...)
}

// count adds an act's attempts to those of the last line.
func (t *trial) count(o order) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.totals.add(o)
}

// note is a figure for the last line.
func (t *trial) note(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noted = append(t.noted, fmt.Sprintf(format, args...))
}

// summary is the figures of the last line.
func (t *trial) summary() string {
	return fmt.Sprintf("%d acts, %s; %s", t.played, t.totals, strings.Join(t.noted, "; "))
}
