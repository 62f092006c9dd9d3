// Command trial is a server to break things on: the node of the product, with agents
// that get into trouble, over a throw-away folder and with a clock that can be ahead.
//
//	trial serve   the agents "held", "two-steps" and, worked on outside, "capitals"
//	trial damage  take entries out of the tasks' histories, or put them back; no server may run
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/metrics"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// stopTime bounds a graceful stop.
const stopTime = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "trial:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "serve":
			return serve(ctx, args[1:])
		case "damage":
			return damage(args[1:])
		}
	}
	return errors.New("usage: trial serve|damage [flags]")
}

// settings are the flags of serve.
type settings struct {
	addr, data, metrics string
	ahead               time.Duration
	newer               bool
	timing              node.Timing
}

func parse(args []string) (settings, error) {
	s := settings{timing: node.DefaultTiming()}
	f := flag.NewFlagSet("trial serve", flag.ContinueOnError)
	f.StringVar(&s.addr, "addr", "127.0.0.1:0", "address")
	f.StringVar(&s.data, "data", "", "folder")
	f.StringVar(&s.metrics, "metrics", "", "file of metrics")
	f.BoolVar(&s.newer, "newer", false, "also version 2 of two-steps")
	f.DurationVar(&s.ahead, "ahead", 0, "how far the clock is ahead")
	f.DurationVar(&s.timing.Sweep, "sweep", s.timing.Sweep, "how often the sweep runs")
	f.DurationVar(&s.timing.Grace, "grace", s.timing.Grace, "how long the sweep leaves alone what should go on by itself")
	f.DurationVar(&s.timing.Late, "health-late", s.timing.Late, "see serve")
	f.DurationVar(&s.timing.Window, "health-window", s.timing.Window, "see serve")
	return s, f.Parse(args)
}

// agents are those of this build.
func (s settings) agents() []*agent.Agent {
	list := []*agent.Agent{held, twoSteps(1), capitals}
	if s.newer {
		list = append(list, twoSteps(2))
	}
	return list
}

func serve(ctx context.Context, args []string) (err error) {
	s, err := parse(args)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(s.metrics, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	book, err := sqlite.Open(s.data, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	blobs, err1 := sqlite.OpenBlobs(s.data, sqlite.Options{})
	agents, err2 := catalog.New(s.agents()...)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	n, err := node.New(node.Config{
		Ledger: book, Blobs: blobs, Catalog: agents, HoldersGone: true, Timing: s.timing, Logger: logger(os.Stderr, file),
		Now: func() time.Time { return time.Now().Add(s.ahead) }, NewID: newID, Secret: newID, Rand: mathrand.Float64,
		Guard: webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true},
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.addr)
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return errors.Join(err, listener.Close())
	}
	return n.Serve(ctx, listener, stopTime)
}

// logger is text for people, and the metrics as CloudWatch would read them.
func logger(people, file io.Writer) *slog.Logger {
	return slog.New(slog.NewMultiHandler(metrics.Without(slog.NewTextHandler(people, nil)), metrics.Only(slog.NewJSONHandler(file, nil))))
}
