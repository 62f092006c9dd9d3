package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"time"

	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// commitsPerTask is what a six-step task costs: its submission, the first lease
// and one commit for each step.
const commitsPerTask = 8

// state is what the steps carry along: about 200 bytes.
type state struct {
	Done []string `json:"done"`
	Note string   `json:"note"`
}

// sixSteps does nothing in six steps, so that what is measured is Holdfast. With
// the text "slow" each step takes 50 ms: the task for the restart.
func sixSteps() *agent.Agent {
	var table []agent.Step[state]
	for i := range 6 {
		table = append(table, agent.Step[state]{Name: fmt.Sprintf("step-%d", i+1), Run: func(_ context.Context, t *agent.Task[state]) (agent.Next, error) {
			if agent.Text(t.Message) == "slow" {
				time.Sleep(50 * time.Millisecond)
			}
			t.State.Done = append(t.State.Done, fmt.Sprintf("step-%d", i+1))
			t.State.Note = "a hundred bytes of state, as a small agent would carry along from one step to the next one, more or less."
			if i == 5 {
				return agent.Complete("done"), nil
			}
			return agent.Continue(fmt.Sprintf("step-%d", i+2)), nil
		}})
	}
	return agent.New("six-steps", 1, table...).KeyedByMessageID()
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// open makes a node over a data folder.
func open(dir string) (*node.Node, *sqlite.Ledger, error) {
	book, err := sqlite.Open(dir, sqlite.Options{})
	if err != nil {
		return nil, nil, err
	}
	blobs, err := sqlite.OpenBlobs(dir, sqlite.Options{})
	if err != nil {
		return nil, nil, errors.Join(err, book.Close())
	}
	agents, err := catalog.New(sixSteps())
	if err != nil {
		return nil, nil, errors.Join(err, book.Close())
	}
	n, err := node.New(node.Config{
		Ledger: book, Blobs: blobs, Catalog: agents, HoldersGone: true, Timing: node.DefaultTiming(),
		Now: time.Now, NewID: newID, Secret: newID, Rand: mathrand.Float64, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, nil, errors.Join(err, book.Close())
	}
	return n, book, nil
}

// serve is the server's process. It prints its address, and its counts when it is
// asked at /bench, and ends when its input does.
func serve(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("server", flag.ContinueOnError)
	addr := f.String("addr", "127.0.0.1:0", "address")
	dir := f.String("data", "", "folder")
	profile := f.String("profile", "", "file for a CPU profile")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *profile != "" {
		file, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer func() { pprof.StopCPUProfile(); _ = file.Close() }()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	node.TuneMemory()
	n, book, err := open(*dir)
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *addr)
	if err != nil {
		return errors.Join(err, book.Close())
	}
	if err := n.Start(); err != nil {
		return errors.Join(err, book.Close())
	}
	mux := http.NewServeMux()
	mux.Handle("/", n.Handler)
	mux.HandleFunc("GET /bench", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(book.Stats())
	})
	mux.HandleFunc("GET /bench/expired", func(w http.ResponseWriter, r *http.Request) {
		there, err := book.Count(r.Context(), ledger.ListQuery{Tenant: node.Tenant})
		seen, err2 := book.Count(r.Context(), ledger.ListQuery{Tenant: node.Tenant, Now: time.Now()})
		if err := errors.Join(err, err2); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_ = json.NewEncoder(w).Encode(there.Tasks - seen.Tasks)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	fmt.Fprintf(os.Stdout, "http://%s\n", listener.Addr())
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(n.Stop(context.Background()), book.Close())
}
