// Command drill tries a release: it plays what must never go wrong, in nine acts,
// against real processes, and checks what came of it. It is a black box: it builds
// the product, starts it as a process, and knows it by HTTP, its command line and
// signals alone. It imports nothing of this module, so no error of the product's own
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
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	name, play, args := "drill", run, os.Args[1:]
	if len(args) > 0 && args[0] == "soak" {
		name, play, args = "soak", soak, args[1:]
	}
	err := play(ctx, args, os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Printf("FAIL %s: %s\n", name, oneLine(err))
		os.Exit(1)
	}
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
		tell(out, "binary, data, exports and logs are kept in %s", dir)
	} else {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		tell(out, "PASS drill: %s", d.summary())
	}
	return err
}

// tell prints a line. Whether somebody reads it changes nothing.
func tell(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...)
}

// oneLine is an error on one line, also when it is several.
func oneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// seconds is a time as it is printed.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
