package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// stopTime bounds a graceful stop.
const stopTime = 5 * time.Second

func serve(ctx context.Context, args []string, out, logs io.Writer) error {
	f := flag.NewFlagSet("serve", flag.ContinueOnError)
	f.SetOutput(logs)
	addr := f.String("addr", "127.0.0.1:9999", "loopback address to serve on")
	data := f.String("data", "", "folder of the ledger and the blobs")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *data == "" || f.NArg() > 0 {
		return errors.New("serve needs --data DIR, and nothing besides flags")
	}
	host, _, err := net.SplitHostPort(*addr)
	if ip := net.ParseIP(host); err != nil || (host != "localhost" && (ip == nil || !ip.IsLoopback())) {
		return fmt.Errorf("--addr %q: there is no authentication, so only a loopback address is served", *addr)
	}
	s, err := start(ctx, *addr, *data, logs, Tester)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the test agent is on %s, data in %s\n", s.url, *data)
	select {
	case err = <-s.failed:
	case <-ctx.Done():
	}
	return errors.Join(err, s.stop())
}

// server is the test agent behind the door, over the embedded ledger: the same
// node as the program's.
type server struct {
	url    string
	failed chan error
	http   *http.Server
	node   *node.Node
	book   *sqlite.Ledger
}

func start(ctx context.Context, addr, data string, logs io.Writer, agents ...*agent.Agent) (*server, error) {
	known, err := catalog.New(agents...)
	if err != nil {
		return nil, err
	}
	book, err := sqlite.Open(data, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	blobs, err := sqlite.OpenBlobs(data, sqlite.Options{})
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	n, err := node.New(node.Config{
		Ledger: book, Blobs: blobs, Catalog: known, HoldersGone: true, Timing: node.DefaultTiming(),
		Logger: slog.New(slog.NewTextHandler(logs, nil)),
		// The kit receives webhooks on this machine.
		Guard: webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}, AllowHTTP: true},
		Now:   time.Now, NewID: func() string { return uuid.Must(uuid.NewV7()).String() }, Secret: rand.Text, Rand: mathrand.Float64,
	})
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, errors.Join(err, book.Close())
	}
	if err := n.Start(); err != nil {
		return nil, errors.Join(err, listener.Close(), book.Close())
	}
	s := &server{
		url: "http://" + listener.Addr().String(), failed: make(chan error, 1), node: n, book: book,
		http: &http.Server{Handler: n.Handler, ReadHeaderTimeout: 10 * time.Second},
	}
	go func() { s.failed <- s.http.Serve(listener) }()
	return s, nil
}

// stop ends the node first, so that open streams end, then the server.
func (s *server) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	err := s.node.Stop(ctx)
	if shutdown := s.http.Shutdown(ctx); shutdown != nil {
		err = errors.Join(err, s.http.Close())
	}
	return errors.Join(err, s.book.Close())
}
