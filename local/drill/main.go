// Command drill tries a release: it plays what must never go wrong, in nine acts,
// against real processes, and checks what came of it. It is a black box: it builds
// the product, starts it as a process, and knows it by HTTP, its command line and
// signals alone. Of this module it imports the driver, which knows nothing of it either, so no error of the product's own
// parts can hide one of its server.
//
//	go run ./local/drill
//	go run ./local/drill soak
//
// The soak is the same cast for half an hour: a mixed load, SIGKILL every few seconds,
// then every export verified. The drill itself is the outside worker who reports events, the issuer who signs
// authorization receipts, the callers who follow streams, and the network between the
// product and the systems under review. Between every two acts the product is killed
// with SIGKILL and started again, and every task that has rested must be as it was. In
// the end the connection log is deleted, and processes of their own export the tasks
// and rebuild them from the export.
//
// Each act is one line with what it counted. The last line is "PASS drill: …" with
// the figures, or "FAIL drill: …" and exit code 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "soak" {
		os.Exit(driver.Main("soak", func(ctx context.Context, args []string, out io.Writer) error { return soak(ctx, args[1:], out) }))
	}
	os.Exit(driver.Main("drill", run))
}

// run drills once. Its error is what the last line says.
func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("drill", flag.ContinueOnError)
	f.SetOutput(out)
	limit := f.Duration("limit", playTime, "how long the drill may take once the product is built")
	keep := f.Bool("keep", false, "keep the folder with binary, data, exports and logs")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-drill-")
	if err != nil {
		return err
	}
	d := newDrill(out, dir)
	err = d.play(ctx, *limit)
	d.end()
	if err != nil || *keep {
		driver.Tell(out, "binary, data, exports and logs are kept in %s", dir)
	} else {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		driver.Tell(out, "PASS drill: %s", d.summary())
	}
	return err
}

// seconds is a time as it is printed.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
