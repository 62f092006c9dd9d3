package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/local/watch"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/policy"
)

// origin is where a task's export comes from: a running server, a data folder, or a
// file that was exported before.
type origin struct {
	task                a2a.TaskID
	server, data, agent string
	file                string
	// policies are where documents are looked up for a folder.
	policies *policy.Set
	// chosen says which of server and data were named on the command line.
	chosen map[string]bool
}

// parseOrigin reads the flags of a command on one task. Only those that show a task
// take a file.
func parseOrigin(name, about string, args []string, logs io.Writer, files bool) (origin, error) {
	shipped, err := policy.Shipped()
	if err != nil {
		return origin{}, err
	}
	o := origin{chosen: map[string]bool{}, policies: shipped}
	f := flagSet(name, "[flags] TASK\n\n"+about, logs)
	f.StringVar(&o.server, "server", defaultServer(), "address of the server, which is asked when it is named, or uses the folder")
	f.StringVar(&o.data, "data", ".holdfast", "data folder, which is read, and not changed, while no server uses it")
	policiesFlag(f, o.policies)
	f.StringVar(&o.agent, "agent", "", "the task's agent, for the server; without it the server's default agent, or the one that the console shows")
	if files {
		f.StringVar(&o.file, "file", "", "an export, instead of a server or a folder; \"-\" is standard input")
	}
	tasks, err := parseAll(f, args)
	if err != nil {
		return o, err
	}
	f.Visit(func(f *flag.Flag) { o.chosen[f.Name] = true })
	var problems []error
	switch {
	case o.file != "" && len(tasks) == 0:
	case len(tasks) == 1:
		o.task = a2a.TaskID(tasks[0])
	default:
		problems = append(problems, fmt.Errorf("one task at a time, not %d: local %s TASK", len(tasks), name))
	}
	problems = append(problems, checkServer(o.server))
	if server, data, file := o.chosen["server"], o.chosen["data"], o.file != ""; server && data || file && (server || data) {
		problems = append(problems, errors.New("--server, --data and --file exclude one another"))
	}
	return o, errors.Join(problems...)
}

// exportTask writes a task's export, and checks on the way what it writes.
func exportTask(ctx context.Context, args []string, out, logs io.Writer) error {
	o, err := parseOrigin("export", "Writes the task's ledger as NDJSON, with what operators see. exit code: 0 exported, and nothing is broken; 1 not.", args, logs, false)
	if err != nil {
		return err
	}
	in, wrote := io.Pipe()
	go func() { wrote.CloseWithError(o.write(ctx, wrote)) }()
	report, err := export.Verify(io.TeeReader(in, out))
	if err != nil {
		_ = in.CloseWithError(err)
		return err
	}
	if err := broken("the export", report, logs); err != nil {
		return err
	}
	fmt.Fprintln(logs, summary(report))
	return nil
}

// broken says what is broken, line by line.
func broken(what string, report export.Report, out io.Writer) error {
	for _, v := range report.Violations {
		fmt.Fprintln(out, printable(v.Error()))
	}
	if n := len(report.Violations); n > 0 {
		return fmt.Errorf("%s breaks its invariants in %d places", what, n)
	}
	return nil
}

// summary is a sound export in one line.
func summary(r export.Report) string {
	return fmt.Sprintf("task %s, %s, %d entries, chain %s: nothing is broken", printable(string(r.Header.Task)), watch.StateName(r.Head.State), r.Counts.Entry, r.Chain)
}

// read reads the task with all that its export says of it.
func (o origin) read(ctx context.Context) (*export.Replayed, export.Report, error) {
	var raw bytes.Buffer
	if err := o.write(ctx, &raw); err != nil {
		return nil, export.Report{}, err
	}
	return export.Read(&raw, nil)
}

// write writes the export.
func (o origin) write(ctx context.Context, out io.Writer) error {
	if o.file != "" {
		return withInput(o.file, func(in io.Reader) error {
			_, err := io.Copy(out, in)
			return err
		})
	}
	if o.chosen["server"] {
		return o.ask(ctx, out)
	}
	book, err := sqlite.OpenReadOnly(o.data)
	switch {
	case errors.Is(err, sqlite.ErrLocked): // a server uses it
		asked := o.ask(ctx, out)
		if _, refused := errors.AsType[*refusedByServer](asked); asked != nil && !refused {
			return fmt.Errorf("%w; %w: name the server with --server", err, asked)
		}
		return asked
	case errors.Is(err, fs.ErrNotExist) && !o.chosen["data"]:
		return o.ask(ctx, out) // tasks may be elsewhere
	case err != nil:
		return err
	}
	_, err = export.Write(ctx, out, book, lifecycle.Ref{Tenant: node.Tenant, Task: o.task}, export.Options{Scope: export.Operator, At: time.Now(), Policies: o.policies})
	if err != nil {
		err = fmt.Errorf("task %s in %s: %w", o.task, o.data, err)
	}
	return errors.Join(err, book.Close())
}

// ask gets the export from a server.
func (o origin) ask(ctx context.Context, out io.Writer) (err error) {
	resp, err := o.remote().send(ctx, http.MethodGet, "/export", nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	_, err = io.Copy(out, resp.Body)
	return err
}

// remote is the task at a server.
func (o origin) remote() remote { return remote{server: o.server, agent: o.agent, task: o.task} }

// withInput opens a file, or standard input.
func withInput(name string, use func(io.Reader) error) error {
	if name == "-" {
		return use(os.Stdin)
	}
	file, err := os.Open(name) //nolint:gosec // G703: whoever runs this names the file
	if err != nil {
		return err
	}
	return errors.Join(use(file), file.Close())
}

// printable takes out of what others wrote what a terminal would obey: control
// characters, and those that turn the direction of text around.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, s)
}
