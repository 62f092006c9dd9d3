// Command openapi lets schemathesis ask a running server whatever events/openapi.json
// allows, and what it does not: no answer may be a fault, have a status, a media type
// or a header that is not described, or a body that its schema does not let pass. It is
// a black box: it builds the program, serves a fresh folder, makes a few tasks, and
// gives their names to schemathesis beside what that makes up.
//
//	go run ./local/openapi
//
// The last line is "PASS openapi: …" with the figures, or "FAIL openapi: …" and exit
// code 1. The seed is fixed and the number of examples bounded. Webhooks that it
// registers lead to this process alone.
//
// python3 is needed; where it is missing on Debian it is installed. requirements.txt
// pins schemathesis, which goes into the user's cache.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

const (
	// prepareTime bounds builds and installations: minutes where nothing is cached.
	prepareTime = 10 * time.Minute
	// runTime bounds one run of schemathesis, which takes a minute where nothing else runs.
	runTime = 15 * time.Minute
	// startTime is how long a server may take to say where it is.
	startTime = 30 * time.Second
)

func main() { os.Exit(driver.Main("openapi", run)) }

// run plays everything once. Its error is what the last line says.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("openapi", flag.ContinueOnError)
	f.SetOutput(out)
	examples := f.Int("examples", 100, "requests that are made up for each operation, at most")
	seed := f.Int("seed", 1, "what they are drawn from")
	if err := f.Parse(args); err != nil {
		return err
	}
	began := time.Now()
	w, err := prepare(ctx)
	if err != nil {
		return err
	}
	data, err := os.MkdirTemp("", "holdfast-openapi-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	systems, systemsURL, err := w.start(ctx, "systems", "systems", "--addr", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, systems.Stop()) }()
	server, url, err := w.start(ctx, "server", "serve", "--addr", "127.0.0.1:0", "--data", data, "--systems-url", systemsURL)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(), faults(server.Log)) }()
	hooks, err := listen(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hooks.close()) }()
	total := 0
	for _, a := range subjects() {
		seen, err := a.seed(ctx, url, hooks.url)
		if err != nil {
			return fmt.Errorf("making tasks of %s: %w", a.name, err)
		}
		cases, err := w.schemathesis(ctx, url, a, seen, *examples, *seed, out)
		if err != nil {
			return err
		}
		total += cases
	}
	fmt.Fprintf(out, "PASS openapi: %d requests with seed %d, %.0f s\n", total, *seed, time.Since(began).Seconds())
	return nil
}
