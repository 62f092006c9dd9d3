// Command demo plays the worked example, a quarterly access review of 40 systems,
// against disorder, and checks what came of it. It is a black box: it builds the
// product, starts it as a process, and knows it by HTTP and signals alone. Of this
// module it imports the driver, which knows nothing of it either, so no error of the
// product's own client can hide one of its server.
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
	"flag"
	"io"
	"os"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func main() { os.Exit(driver.Main("demo", run)) }

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
		driver.Tell(out, "binaries, data and logs are kept in %s", dir)
	} else {
		err = os.RemoveAll(dir)
	}
	if err == nil {
		driver.Tell(out, "PASS demo: %s", d.found.summary())
	}
	return err
}
