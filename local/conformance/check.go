package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// settings are the flags of check; two of them have their defaults in the
// environment.
type settings struct {
	kit, spec, reports string
}

func parse(args []string, logs io.Writer) (settings, error) {
	var s settings
	f := flag.NewFlagSet("check", flag.ContinueOnError)
	f.SetOutput(logs)
	f.StringVar(&s.kit, "kit", os.Getenv("TCK_DIR"), "checkout of a2aproject/a2a-tck, branch 1.0-dev; TCK_DIR")
	f.StringVar(&s.spec, "spec", os.Getenv("A2A_SPEC"), "the specification's docs/specification.md; A2A_SPEC")
	f.StringVar(&s.reports, "reports", filepath.Join("dist", "conformance"), "folder for the kit's log and reports")
	err := f.Parse(args)
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return s, err
}

// check is make conformance.
func check(ctx context.Context, args []string, out, logs io.Writer) error {
	s, err := parse(args, logs)
	if err != nil {
		return err
	}
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	err = checkTable(ctx, filepath.Dir(strings.TrimSpace(string(mod))), s.spec, out)
	passed := "PASS conformance"
	if s.kit == "" {
		fmt.Fprintln(out, "kit: not run; set TCK_DIR to a checkout of a2aproject/a2a-tck, branch 1.0-dev")
		passed += ", without the kit"
	} else {
		err = errors.Join(err, checkKit(ctx, s.kit, s.reports, out))
	}
	if err == nil {
		fmt.Fprintln(out, passed)
	}
	return err
}

// checkTable holds the table against the specification, if there is one, and runs
// the Go tests that it names.
func checkTable(ctx context.Context, root, spec string, out io.Writer) error {
	rows, err := parseMusts(mustsTable)
	if err != nil {
		return err
	}
	if spec != "" {
		text, err := readSpecification(spec)
		if err != nil {
			return err
		}
		words, err := text.cover(rows)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "specification: %d normative words in chapters %s, each is quoted\n", words, strings.Join(chapters, ", "))
	}
	tests, _ := proofs(rows)
	lost, err := missing(os.DirFS(root), tests)
	if err == nil && len(lost) > 0 {
		err = fmt.Errorf("musts.tsv: there is no test %s", strings.Join(lost, ", "))
	}
	if err == nil {
		err = runTests(ctx, root, tests)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, summary(rows, len(tests)))
	return nil
}

// summary is the table's numbers on one line.
func summary(rows []must, tests int) string {
	var proven, open, others, deviating int
	count := map[string]int{}
	for _, m := range rows {
		switch {
		case m.proven():
			proven++
		case m.binds == "server":
			open++
			count[m.proof[0]]++
		default:
			others++
		}
		if strings.HasPrefix(m.note, "deviation: ") {
			deviating++
		}
	}
	var why []string
	for reason, n := range count {
		why = append(why, fmt.Sprintf("%s %d", reason, n))
	}
	slices.Sort(why)
	return fmt.Sprintf("table: %d rows; of %d that bind a server %d are proven by %d Go tests (%d of them with a documented deviation), %d need none (%s); %d bind others",
		len(rows), proven+open, proven, tests, deviating, open, strings.Join(why, ", "), others)
}

// checkKit runs the kit against the test agent.
func checkKit(ctx context.Context, dir, reports string, out io.Writer) (err error) {
	musts, err := parseMusts(mustsTable)
	if err != nil {
		return err
	}
	_, tests := proofs(musts)
	rows, err := parseDeviations(deviationsTable)
	if err != nil {
		return err
	}
	if reports, err = filepath.Abs(reports); err == nil {
		err = os.MkdirAll(reports, 0o755)
	}
	if err != nil {
		return err
	}
	k, err := openKit(ctx, dir, reports)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "kit: %s, over %s\n", k.about(ctx), bindings)
	results, err := k.against(ctx, Tester)
	if err != nil {
		return err
	}
	for _, other := range []struct {
		agent *agent.Agent
		class string // of the kit's tests that want such an agent
	}{{Plain, "TestCapabilityExtendedCard"}, {Strict, "TestCapabilityExtensionRequired"}} {
		more, err := k.against(ctx, other.agent, "-k", other.class)
		if err != nil {
			return err
		}
		results = replaced(results, more)
	}
	v, err := judge(results, rows)
	for _, d := range rows {
		if n := v.used[d.line]; n > 0 {
			fmt.Fprintf(out, "  listed: %d × %s %s (%s) %s\n", n, d.outcome, d.test, d.cause, d.reason)
		}
	}
	fmt.Fprintf(out, "kit: %s; log and reports in %s\n", v, reports)
	return errors.Join(err, counted(results, tests))
}

// against runs the kit against an agent on a free port.
func (k *kit) against(ctx context.Context, a *agent.Agent, options ...string) (results []result, err error) {
	data, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	log, err := os.Create(filepath.Join(k.reports, a.Name()+".log"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	s, err := start(ctx, "127.0.0.1:0", data, log, a)
	if err != nil {
		return nil, err
	}
	results, err = k.run(ctx, a.Name(), s.url, options...)
	return results, errors.Join(err, s.stop())
}
