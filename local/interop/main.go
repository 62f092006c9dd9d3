// Command interop lets the official A2A clients drive a running server: the Python
// SDK, the JavaScript SDK and the Go SDK, each over both bindings. It is a black
// box: it builds a server with an agent that shows whatever a client may meet
// (folder server), starts it as a process, and runs one program of each language
// against it (folders python, javascript, golang), which know the server through
// their SDK alone.
//
//	go run ./local/interop
//
// First the JavaScript SDK's types read and write the golden traces (folder trace,
// events/export). Each client and binding prints a line for each scenario. Above all, what a client
// folds from a stream must be what GetTask says. The last line is "PASS interop: …"
// with the figures, or "FAIL interop: …" and exit code 1.
//
// python3 and node are needed; where they are missing on Debian they are installed.
// The SDKs are pinned by requirements.txt and package-lock.json, and go into the
// user's cache.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

const (
	// prepareTime bounds builds and installations: minutes where nothing is cached.
	prepareTime = 10 * time.Minute
	// runTime bounds what one client does over one binding; it takes about 15 s.
	runTime = 3 * time.Minute
	// startTime is how long the server may take to say where it is.
	startTime = 30 * time.Second
)

// bindings are those of the card, in its words.
func bindings() []string { return []string{"JSONRPC", "HTTP+JSON"} }

func main() { os.Exit(driver.Main("interop", run)) }

// run plays everything once. Its error is what the last line says.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("interop", flag.ContinueOnError)
	f.SetOutput(out)
	addr := f.String("addr", "127.0.0.1:0", "address of the server")
	update := f.Bool("update-golden", false, "write what the JavaScript SDK makes of the golden traces anew, and end")
	if err := f.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	w, err := prepare(ctx)
	if err != nil {
		return err
	}
	for _, line := range w.versions(ctx) {
		fmt.Fprintln(out, line)
	}
	line, err := w.golden(ctx, *update)
	if err != nil {
		return fmt.Errorf("golden traces: %w", err)
	}
	fmt.Fprintln(out, "PASS ", line)
	if *update {
		return nil
	}
	data, err := os.MkdirTemp("", "holdfast-interop-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	server, err := driver.Start(w.dir, "server", w.server, "--addr", *addr, "--data", data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, driver.End(server)) }()
	url, err := server.FirstLine(ctx, startTime)
	if err != nil {
		return err
	}
	reports := w.play(ctx, url, out)
	if err := server.Stop(); err != nil {
		return err
	}
	return summary(reports, time.Since(began), out)
}

// play runs each client over both bindings side by side, one client after the
// other, and prints their lines in order.
func (w workshop) play(ctx context.Context, url string, out io.Writer) []report {
	var all []report
	for _, c := range w.clients {
		side := make([]report, len(bindings()))
		var both sync.WaitGroup
		for i, binding := range bindings() {
			both.Go(func() { side[i] = c.run(ctx, url, binding, w.dir) })
		}
		both.Wait()
		for _, r := range side {
			for _, line := range r.lines() {
				fmt.Fprintln(out, line)
			}
		}
		all = append(all, side...)
	}
	return all
}

// summary is the last line, as an error when anything failed.
func summary(reports []report, took time.Duration, out io.Writer) error {
	passed, failed := 0, 0
	var clients []string
	for _, r := range reports {
		if name := r.client + " " + r.version; !slices.Contains(clients, name) {
			clients = append(clients, name)
		}
		for _, o := range r.outcomes {
			if o.Failed == "" {
				passed++
			} else {
				failed++
			}
		}
	}
	figures := fmt.Sprintf("%d passed, %d failed: %d scenarios over %d bindings with %s, %.0f s",
		passed, failed, len(scenarios()), len(bindings()), strings.Join(clients, ", "), took.Seconds())
	if failed > 0 {
		return errors.New(figures)
	}
	fmt.Fprintln(out, "PASS interop:", figures)
	return nil
}
