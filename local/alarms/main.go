// Command alarms breaks every watched invariant on purpose, on servers with throw-away
// folders, and shows that none of it stays silent: the line of the metric, the light, and
// the section of the runbook, whose commands it runs. Then it mends what it has broken,
// and waits until the light is green.
//
// It is a black box: it speaks HTTP and signals, damages files, and imports nothing of
// the product. What only AWS can break is broken on the compiled functions, over a
// DynamoDB-compatible server whose address is in HOLDFAST_DYNAMODB_ENDPOINT.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func main() { os.Exit(driver.Main("alarms", run)) }

// binaries are what is played with, by their packages; the functions as they are
// deployed, for this machine.
var binaries = map[string]string{
	"holdfast": "./local", "trial": "./local/alarms/trial", "api": "./functions/api", "stream": "./functions/stream", "sweep": "./functions/sweep",
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("alarms", flag.ContinueOnError)
	keep := f.Bool("keep", false, "leave the folder with logs, metrics and data")
	endpoint := f.String("dynamodb", os.Getenv("HOLDFAST_DYNAMODB_ENDPOINT"), "DynamoDB-compatible server")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *endpoint == "" {
		return errors.New("HOLDFAST_DYNAMODB_ENDPOINT is not set: make alarms starts a server")
	}
	s := &story{out: out, broken: map[string]bool{}, mended: map[string]bool{}}
	var err1, err2 error
	s.root, err1 = driver.Root(ctx)
	s.dir, err2 = os.MkdirTemp("", "holdfast-alarms-")
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	defer func() {
		if *keep || err != nil {
			driver.Tell(out, "left in %s", s.dir)
			return
		}
		err = os.RemoveAll(s.dir)
	}()
	if s.runbook, err = readRunbook(s.root); err != nil {
		return err
	}
	for name, folder := range binaries {
		if _, err := driver.Build(ctx, s.root, filepath.Join(s.dir, name), folder, "-tags", "lambda.norpc"); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, playTime)
	defer cancel()
	began := time.Now()
	watched, err := s.play(ctx, *endpoint)
	if err != nil {
		return err
	}
	if silent := s.silent(watched); len(silent) > 0 {
		return fmt.Errorf("silent, or not mended: %q", silent)
	}
	driver.Tell(out, "\nPASS alarms: %d invariants broken, each with its metric, its light and its section of the runbook, and mended, in %.0f s", len(watched), time.Since(began).Seconds())
	return nil
}

// play plays every act, and returns what is watched.
func (s *story) play(ctx context.Context, endpoint string) (watched []light, err error) {
	product, err1 := newServer(ctx, s.dir, "product", filepath.Join(s.dir, "holdfast"))
	idle, err2 := newServer(ctx, s.dir, "idle", filepath.Join(s.dir, "trial"))
	busy, err3 := newServer(ctx, s.dir, "busy", filepath.Join(s.dir, "trial"))
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, driver.End(product.process, idle.process, busy.process)) }()
	for _, act := range []struct {
		play func(context.Context, *server) error
		on   *server
	}{
		{s.faultyProducer, product}, {s.deadSweep, idle}, {s.takenOut, idle}, {s.unforgotten, idle},
		{s.unanswered, busy}, {s.brokenFolder, busy}, {s.deafReceiver, busy},
	} {
		if err := act.play(ctx, act.on); err != nil {
			return nil, err
		}
	}
	if err := s.onAWS(ctx, endpoint); err != nil {
		return nil, err
	}
	return product.lights(ctx)
}
