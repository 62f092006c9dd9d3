package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// verify checks exports without a server.
func verify(_ context.Context, args []string, out, logs io.Writer) error {
	f := flagSet("verify", "[flags] FILE…\n\nChecks exports: their lines, the chain, the invariants. \"-\" is standard input. exit code: 0 nothing is broken, 1 something is", logs)
	stdin := f.Bool("stdin", false, "check standard input")
	digest := f.String("digest", "", "the digest in the task's receipt, as a caller has kept it: the export must end with it")
	names, err := parseAll(f, args)
	if err != nil {
		return err
	}
	if *stdin {
		names = append(names, "-")
	}
	if len(names) == 0 {
		return errors.New("no file to check: local verify FILE…, or - for standard input")
	}
	if *digest != "" && len(names) > 1 {
		return errors.New("--digest is of one task: check one file at a time")
	}
	var problems []error
	for _, name := range names {
		problems = append(problems, withInput(name, func(in io.Reader) error {
			return verifyOne(name, in, lifecycle.Digest(*digest), out)
		}))
	}
	fmt.Fprintln(out, export.Unsigned)
	return errors.Join(problems...)
}

func verifyOne(name string, in io.Reader, receipt lifecycle.Digest, out io.Writer) error {
	report, err := export.Verify(in)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if receipt != "" {
		if err := report.Against(receipt); err != nil {
			v, _ := errors.AsType[export.Violation](err)
			report.Violations = append(report.Violations, v)
		}
	}
	if !report.OK() {
		fmt.Fprintf(out, "%s:\n", name)
		return broken(name, report, out)
	}
	c := report.Counts
	fmt.Fprintf(out, "%s: %s\n", name, summary(report))
	fmt.Fprintf(out, "  for %s, format %d, %s: %d artifacts, %d effects, %d rejections, %d quarantined, %d actions of operators, %d endpoints\n",
		report.Header.Scope, report.Header.Format, printable(report.Header.SDK), c.Artifact, c.Effect, c.Rejection, c.Late, c.Act, c.Endpoint)
	if report.Manifest != "" {
		fmt.Fprintf(out, "  receipt: entry %d, digest %s, manifest %s\n", report.Seq, report.Chain, report.Manifest)
	}
	if c.Policy+c.Settled > 0 {
		fmt.Fprintf(out, "  policy %s: %d documents with the digest that was recorded, %d settlements that follow from the record\n", printable(report.Header.Policy), c.Policy, c.Settled)
	}
	if m := report.Head.Moved; m != nil {
		fmt.Fprintf(out, "  the task went on while it was exported: this is the history up to entry %d, it was at %d\n", report.Seq, m.Seq)
	}
	return nil
}
