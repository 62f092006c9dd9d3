// Command server is what the console is driven on: the node of the product, with an
// agent that gets into whatever an operator may meet, a sweep that does not come, and as
// many finished tasks as are asked for. It prints its address and serves until it is told
// to stop.
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
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// stopTime bounds a graceful stop.
const stopTime = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := serve(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "console test server:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	addr := f.String("addr", "127.0.0.1:0", "address")
	dir := f.String("data", "", "folder")
	tasks := f.Int("tasks", 0, "how many finished and waiting tasks to begin with")
	keys := f.String("keys", "", "file with the API keys; without one nobody is asked")
	if err := f.Parse(args); err != nil {
		return err
	}
	book, err := sqlite.Open(*dir, sqlite.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, book.Close()) }()
	blobs, err := sqlite.OpenBlobs(*dir, sqlite.Options{NoSync: true})
	if err != nil {
		return err
	}
	if err := seed(ctx, book, *tasks, time.Now()); err != nil {
		return err
	}
	callers, err := authenticator(*keys)
	if err != nil {
		return err
	}
	log := filepath.Join(*dir, "connections.ndjson")
	connections, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = connections.Close() }()
	agents, err := catalog.New(desk(1), desk(2), agent.Outside("fieldwork", 1, agent.Card{Description: "Served from outside."}).KeyedByMessageID())
	if err != nil {
		return err
	}
	timing := node.DefaultTiming()
	timing.Sweep, timing.Grace = time.Hour, time.Second
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	n, err := node.New(node.Config{
		Ledger: book, Blobs: blobs, Catalog: agents, Timing: timing,
		Now: time.Now, NewID: newID, Secret: newID, Rand: mathrand.Float64, Callers: callers,
		Guard:       webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true},
		Connections: connections, Churn: node.Churn(log), Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
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
	fmt.Fprintf(out, "http://%s\n", listener.Addr())
	return n.Serve(ctx, listener, stopTime)
}

// authenticator takes the keys of a file; nil takes everybody.
func authenticator(file string) (auth.Authenticator, error) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list, err := auth.ParseKeys(text)
	if err != nil {
		return nil, err
	}
	keys, err := auth.NewKeys(list, time.Now)
	return auth.Credentials{Keys: keys}, err
}
