// Command webhooks tries what becomes of webhooks when their receivers, the network or
// the product itself fail, and checks what came of it. It is a black box: it builds the
// product, starts it as a process, and knows it by HTTP, its command line and signals
// alone. It imports nothing of this module, so no error of the product's own parts can
// hide one of its sender.
//
//	go run ./local/webhooks
//
// The receivers are the driver's own: each is told how to fail, verifies every signature
// and remembers every attempt. What takes hours or days, and what a stream of DynamoDB
// does, is played by tests with time of their own, which the driver runs and whose
// records it holds against the same rules. Then the receivers that consumers may copy, in
// Go and in Python, are attacked by a sender of the driver's own, fed by the product, and
// killed. In the end a thousand tasks have three webhooks each, of which one is dead and
// one is slow, and the healthy one is measured with and without them.
//
// Each act is one line: its attempts, the order, what came again, and what an operator is
// shown. The last line is "PASS webhooks: …" with the figures, or "FAIL webhooks: …" and
// exit code 1.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func main() { os.Exit(driver.Main("webhooks", run)) }

// run tries everything once. Its error is what the last line says.
func run(ctx context.Context, args []string, out io.Writer) error {
	t := &trial{out: out, Client: driver.NewClient(keepOpen)}
	f := flag.NewFlagSet("webhooks", flag.ContinueOnError)
	f.SetOutput(out)
	limit := f.Duration("limit", playTime, "how long it may take once everything is built")
	keep := f.Bool("keep", false, "keep the folder with binary, data, records and logs")
	only := f.String("run", "", "play the acts whose names this regular expression matches; all without it")
	f.IntVar(&t.load.tasks, "tasks", 1000, "tasks with three webhooks each")
	f.Float64Var(&t.load.rate, "rate", 100, "of them submitted in a second")
	f.IntVar(&t.load.pairs, "pairs", 4, "how often the healthy receiver is measured with and without the others, at most, until the bound holds")
	if err := f.Parse(args); err != nil {
		return err
	}
	if t.load.tasks < 1 || t.load.rate <= 0 || t.load.pairs < 1 {
		return errors.New("-tasks, -rate and -pairs must be positive")
	}
	var err error
	if t.only, err = regexp.Compile(*only); err != nil {
		return err
	}
	if t.dir, err = os.MkdirTemp("", "holdfast-webhooks-"); err != nil {
		return err
	}
	err = t.play(ctx, *limit)
	if err != nil || *keep {
		driver.Tell(out, "binary, data, records and logs are kept in %s", t.dir)
	} else {
		err = os.RemoveAll(t.dir)
	}
	if err == nil {
		driver.Tell(out, "PASS webhooks: %s", t.summary())
	}
	return err
}

// span is a time as it is printed.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case d < 3*time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < 3*time.Hour:
		return fmt.Sprintf("%.1f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
