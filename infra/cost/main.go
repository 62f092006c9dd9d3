// Command cost counts what a task costs on AWS, and says what a million of them would.
//
//	eval "$(infra/emulator/start.sh)" && go run ./infra/cost -endpoint "$HOLDFAST_DYNAMODB_ENDPOINT"
//
// Real are the door, the dispatcher, the runner, the ledger on tables and the blob store in a bucket of a server that
// speaks DynamoDB's and S3's protocols, and the state machine, which local/asl interprets. They are joined in this process
// with a clock of its own, and one of them works at a time, so that every run counts the same; each scenario runs
// more than once, and a difference is a failure. Milliseconds are assumed, since those of an emulator say nothing.
//
// Counts above the ceilings (ceilings.go) fail. The last line is "PASS cost …" or "FAIL cost: …".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// Defaults and bounds of a run.
const (
	defaultEndpoint = "http://127.0.0.1:4566" // infra/emulator/start.sh
	defaultRuns     = 2
	maxRuns         = 100
	playTime        = 2 * time.Minute // for one task
	tidyTime        = 20 * time.Second
)

func main() { os.Exit(driver.Main("cost", run)) }

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("cost", flag.ContinueOnError)
	endpoint := f.String("endpoint", defaultEndpoint, "server that speaks DynamoDB's and S3's protocols")
	runs := f.Int("runs", defaultRuns, "how often each scenario is run: the counts must be equal")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *runs < 1 || *runs > maxRuns {
		return fmt.Errorf("-runs %d: want 1 to %d", *runs, maxRuns)
	}
	store, err := newStorage(ctx, *endpoint)
	if err != nil {
		return err
	}
	defer func() {
		tidy, cancel := context.WithTimeout(context.WithoutCancel(ctx), tidyTime)
		defer cancel()
		err = errors.Join(err, store.remove(tidy))
	}()
	var all []counted
	for _, sc := range scenarios() {
		t, err := repeat(*runs, func() (*tally, error) {
			ctx, cancel := context.WithTimeout(ctx, playTime)
			defer cancel()
			return sc.play(ctx, store)
		})
		if err != nil {
			return fmt.Errorf("%s: %w", sc.title, err)
		}
		all = append(all, counted{sc, t})
	}
	fmt.Fprintf(out, "One task on AWS, counted; %d runs of each gave the same\n\n", *runs)
	report(out, all)
	return judge(out, all)
}

// repeat plays until it is clear that the counts are no accident.
func repeat(runs int, play func() (*tally, error)) (first *tally, err error) {
	for n := 1; n <= runs; n++ {
		t, err := play()
		if err != nil {
			return nil, err
		}
		if first == nil {
			first = t
		}
		if d := differences(first, t); len(d) > 0 {
			return nil, fmt.Errorf("run %d counted something else than the first: %s", n, strings.Join(d, "; "))
		}
	}
	return first, nil
}

// counted is a scenario with what it cost.
type counted struct {
	scenario

	tally *tally
}

// report prints the tables.
func report(out io.Writer, all []counted) {
	printCounts(out, all)
	fmt.Fprintln(out)
	printDollars(out, all)
	fmt.Fprintln(out)
	printWaits(out, waits(all[0].tally.Acts[act{fnAPI, getTask}]))
	fmt.Fprintln(out)
	printAssumptions(out)
	fmt.Fprintln(out)
}

// judge holds the counts against their ceilings.
func judge(out io.Writer, all []counted) error {
	var tooMuch, figures []string
	for _, c := range all {
		n := c.tally.figures()
		above, below := n.against(c.ceiling)
		for _, said := range above {
			tooMuch = append(tooMuch, c.title+": "+said)
		}
		for _, said := range below {
			fmt.Fprintf(out, "fallen: %s: %s; lower it in infra/cost/ceilings.go\n", c.title, said)
		}
		figures = append(figures, fmt.Sprintf("%s %g write units, %g read units, %g transitions, $%.0f a million", c.title, n.writes, n.reads, n.transitions, total(bill(c.tally))))
	}
	if len(tooMuch) > 0 {
		return errors.New("above the ceiling: " + strings.Join(tooMuch, "; "))
	}
	fmt.Fprintf(out, "PASS cost: %s\n", strings.Join(figures, "; "))
	return nil
}
