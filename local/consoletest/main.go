// Command consoletest drives the console in a real browser. It is a black box: it builds
// a server with an agent that gets into whatever an operator may meet (folder server),
// starts it three times (for everybody, with keys, and with ten thousand tasks), and lets
// a program drive Chromium through every view and every action (folder browser), at two
// widths and in both themes.
//
//	go run ./local/consoletest
//
// Nothing may be said on the browser's console, the page's policy must never be broken,
// nothing may move by itself while it is live, axe must find nothing, and a task whose
// texts are script tags and right-to-left overrides is text. Pictures are in dist/console.
// The last line is "PASS console-test: …" with the figures, or "FAIL console-test: …" and exit code 1.
//
// Chromium and node are needed; where they are missing on Debian they are installed. The
// driver and axe are pinned by package-lock.json, and go into the user's cache.
package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

const (
	// prepareTime bounds builds and installations: minutes where nothing is cached.
	prepareTime = 15 * time.Minute
	// driveTime bounds what the browser does: three minutes on two cores.
	driveTime = 15 * time.Minute
	// startTime is how long a server may take to make its tasks.
	startTime = 3 * time.Minute
)

func main() { os.Exit(driver.Main("console-test", run)) }

// run plays everything once. Its error is what the last line says.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	f := flag.NewFlagSet("consoletest", flag.ContinueOnError)
	f.SetOutput(out)
	tasks := f.Int("tasks", 10_000, "how many tasks the long list has")
	only := f.String("only", "", "make only the checks of one window: \"1280 light\", \"390 dark\", \"keys\" or \"speed\"; then the last line is no verdict")
	patience := f.Int("patience", 1, "how many times longer to wait for everything, on a machine that is busy")
	if err := f.Parse(args); err != nil {
		return err
	}
	w, err := prepare(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, driveTime*time.Duration(*patience))
	defer cancel()
	data, err := os.MkdirTemp("", "holdfast-console-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	keys, file, err := makeKeys(data)
	if err != nil {
		return err
	}
	servers, err := w.serve(ctx, data, file, *tasks)
	if err != nil {
		return err
	}
	r, driven := w.drive(ctx, plan{
		URL: servers[0].url, KeysURL: servers[1].url, BigURL: servers[2].url, Tasks: *tasks, Keys: keys, Folder: w.dir, Chromium: w.chromium, Patience: *patience, Only: *only,
	}, out)
	for _, s := range servers {
		driven = errors.Join(driven, s.stop())
	}
	if driven != nil {
		return driven
	}
	return r.summary(time.Since(began), *only, out)
}
