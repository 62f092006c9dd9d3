// Command demo plays the worked example, a quarterly access review of 40 systems,
// against disorder, and checks what came of it. It is a black box: it builds the
// product, starts it as a process, and knows it by HTTP and signals alone. It
// imports nothing of this module, so no error of the product's own client can
// hide one of its server.
//
//	go run ./local/demo
//
// The product is killed with SIGKILL while it fetches system 23, started again
// from a newer build whose agent has a renamed step, killed again while the task
// waits for approval, answered twice, and loses the network after 9 of 14
// revocations. In the end the driver reads the ledger, the record of effects, the
// streams and the webhooks that it kept, and the systems' own counters. The last line is
// "PASS demo: …" with the figures, or "FAIL demo: …" and exit code 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Println("FAIL demo:", oneLine(err))
		os.Exit(1)
	}
}

// run plays the demo once. Its error is what the last line says.
func run(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("demo", flag.ContinueOnError)
	f.SetOutput(out)
	limit := f.Duration("limit", playTime, "how long the demo may take once the product is built")
	keep := f.Bool("keep", false, "keep the folder with binaries, data and logs")
	if err := f.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "holdfast-demo-")
	if err != nil {
		return err
	}
	d := &demo{out: out, dir: dir, began: time.Now()}
	err = d.play(ctx, *limit)
	d.end()
	if err != nil || *keep {
		tell(out, "binaries, data and logs are kept in %s", dir)
	} else {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		tell(out, "PASS demo: %s", d.found.summary())
	}
	return err
}
