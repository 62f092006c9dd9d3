// Command deploytest deploys the project's own template to an emulator of AWS that is not ours (ministack), and uses
// what it made: through its REST API, its Lambda processes, Step Functions and the table's stream. It is a black box: it
// knows the product by HTTP and the AWS CLI.
//
//	infra/deploytest/deploy.sh
//
// The template is built by sam and packaged and deployed as a user would. What the emulator cannot do is changed on the
// way, in the copy that is deployed: see edits.go, which is printed with every run. Then come the tour of the README, a
// webhook that fails at first, the access review from its file to its report, with one pause that is answered, a deploy in which the API comes first, and a
// pause whose deadline passes.
//
// The last line is "PASS deploy-test: …", or "FAIL deploy-test: …" with the step that failed, and exit code 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func main() { os.Exit(driver.Main("deploy-test", run)) }

// test is one deployment and everything that it runs on.
type test struct {
	out   io.Writer
	began time.Time
	dir   string // binaries, templates and logs
	bin   string // the emulator's executables
	sam   string
	key   string // of the caller

	children []process
	cloud    cloud
	systems  systems
	api      api
	seen     seen
}

// step is a part of the test; its name says what failed.
type step struct {
	name string
	do   func(context.Context) error
}

func run(ctx context.Context, args []string, out io.Writer) (err error) {
	t := &test{out: out, began: time.Now()}
	f := flag.NewFlagSet("deploytest", flag.ContinueOnError)
	f.SetOutput(out)
	f.StringVar(&t.bin, "emulator", "", "folder with ministack and aws")
	f.StringVar(&t.sam, "sam", "sam", "the SAM CLI")
	f.StringVar(&t.dir, "dir", filepath.Join("dist", "deploytest"), "folder for binaries, templates and logs")
	limit := f.Duration("limit", playTime, "how long it may take")
	keep := f.Bool("keep", false, "leave everything running after a failure, until it is interrupted")
	if err := f.Parse(args); err != nil {
		return err
	}
	if t.dir, err = filepath.Abs(t.dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	defer t.end()
	for _, s := range t.story() {
		t.say("%s", s.name)
		if err := s.do(ctx); err != nil {
			if *keep {
				t.say("failed: %v; left running: %s, the API is %s, the caller's key %s", err, t.cloud.endpoint, t.api.id, t.key)
				<-ctx.Done()
			}
			return fmt.Errorf("%s: %w (logs are in %s)", s.name, err, t.dir)
		}
	}
	t.listGaps()
	t.say("PASS deploy-test: %s", t.seen.summary())
	return nil
}

func (t *test) story() []step {
	return []step{
		{"build the functions with sam", t.build},
		{"start the systems under review", t.startSystems},
		{"start ministack", t.startEmulator},
		{"package and deploy the template", t.deploy},
		{"look at what was made of it", t.inspect},
		{"tour: card, hello, the same again, get, list", t.hello},
		{"tour: stream, cancel, ledger", t.cancel},
		{"tour: nobody in without a key", t.strangers},
		{"webhook: one that fails at first, by an execution of its own", t.hook},
		{"access review: send, ask, answer, revoke, report", t.review},
		{"access review: its execution", t.reviewExecution},
		{"rolling deploy: the API is ahead of the step function", t.ahead},
		{"deadline: a step function with short pauses takes over", t.shorten},
		{"deadline: a pause that nobody answers", t.expire},
		{"the table's stream reached its function", t.stream},
		{"the schedule reached the sweep", t.sweep},
		{"no credential in logs and tables", t.secrets},
	}
}

// say prints a line with the time since the start.
func (t *test) say(format string, args ...any) {
	fmt.Fprintf(t.out, "%6.1f s  %s\n", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

// end stops what was started, the last first.
func (t *test) end() {
	for _, p := range slices.Backward(t.children) {
		p.stop()
	}
}
