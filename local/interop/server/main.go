// Command server is what the official clients are tried against: the node of the
// product, with an agent that shows on request whatever a client may meet. It
// prints its address and serves until it is told to stop.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
)

// stopTime bounds a graceful stop.
const stopTime = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "interop server:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, args []string) (err error) {
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	addr := f.String("addr", "127.0.0.1:0", "address")
	dir := f.String("data", "", "folder")
	if err := f.Parse(args); err != nil {
		return err
	}
	book, err := sqlite.Open(*dir, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	blobs, err := sqlite.OpenBlobs(*dir, sqlite.Options{})
	if err != nil {
		return err
	}
	agents, err := catalog.New(shows)
	if err != nil {
		return err
	}
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	n, err := node.New(node.Config{
		Ledger: book, Blobs: blobs, Catalog: agents, HoldersGone: true, Timing: node.DefaultTiming(),
		Now: time.Now, NewID: newID, Secret: newID, Rand: mathrand.Float64,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	})
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	if err := n.Start(); err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintf(os.Stdout, "http://%s\n", listener.Addr())
	return n.Serve(ctx, listener, stopTime)
}
