package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/local/systems"
)

const defaultSystemsAddr = "127.0.0.1:8090"

// serveSystems serves the systems under review by themselves.
func serveSystems(ctx context.Context, args []string, out, logs io.Writer) error {
	f := flag.NewFlagSet("systems", flag.ContinueOnError)
	f.SetOutput(logs)
	addr := f.String("addr", defaultSystemsAddr, "address to serve on")
	file := f.String("file", "", "grants in the format of events/accessreview/README.md; without it the shipped ones")
	if err := f.Parse(args); err != nil {
		return usage(err)
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	grants := events.AccessReviewCSV
	if *file != "" {
		var err error
		if grants, err = os.ReadFile(*file); err != nil {
			return err
		}
	}
	stop, err := startSystems(*addr, grants, "choose another address with --addr", out)
	if err != nil {
		return err
	}
	<-ctx.Done()
	stop()
	return nil
}

// startSystems serves until stop is called. The advice is for an address that cannot be
// had.
func startSystems(addr string, grants []byte, advice string, out io.Writer) (stop func(), err error) {
	handler, err := systems.New(grants)
	if err != nil {
		return nil, err
	}
	listener, err := listen(context.Background(), "the systems of the worked example", addr, advice)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	end := background(server, listener, "the systems under review:", out)
	fmt.Fprintf(out, "the systems under review are on http://%s\n", listener.Addr())
	return func() {
		handler.Release()
		end()
	}, nil
}
