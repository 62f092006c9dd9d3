package trace_test

// Real: the committed exports, the fold of their entries, the rendering that streams, webhooks and GetTask use, and the
// Go SDK's types. The JavaScript SDK's part is played by make interop. Nothing is faked.

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/gowebpki/jcs"
	"github.com/holdfast-a2a/holdfast/local/interop/trace"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var update = flag.Bool("update", false, "write what callers saw, the Go SDK's differences and the migrations' changes anew; reasons stay")

const (
	root = "../../.."
	dir  = root + "/events/export"
	base = "https://agents.example"
)

// TestGoldenSeen: what callers saw of the golden traces is what streams, webhooks and GetTask make of their exports.
func TestGoldenSeen(t *testing.T) {
	for _, name := range folder(t).Traces {
		path := filepath.Join(dir, name+".seen.ndjson")
		got := bytes.Join(append(seen(t, read(t, filepath.Join(dir, name+".ndjson"))), nil), []byte("\n"))
		if *update {
			write(t, path, got)
		}
		if want := read(t, path); !bytes.Equal(got, want) {
			t.Errorf("%s: callers see\n%s\nand saw\n%s\n(make golden, and read the difference)", name, got, want)
		}
	}
}

// TestGoldenThroughGo: documents that the Go SDK's types read and write are the same, but for what the table lists.
func TestGoldenThroughGo(t *testing.T) {
	f := folder(t)
	docs, err := f.AllSeen()
	ok(t, err)
	var wrote [][]byte
	for _, d := range docs {
		var through a2a.StreamResponse
		if err := json.Unmarshal(d.Raw, &through); err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		raw, err := json.Marshal(through)
		ok(t, err)
		wrote = append(wrote, raw)
	}
	actual, err := trace.Trips(trace.Go, docs, wrote)
	ok(t, err)
	if *update {
		f.Versions = pinned(t)
		f.Differences = append(trace.Renew(f.Differences, actual), trace.Of(trace.JavaScript, f.Differences)...)
		raw, err := trace.Encode(f.Golden)
		ok(t, err)
		write(t, filepath.Join(dir, "golden.json"), raw)
	}
	if err := trace.Judge(trace.Of(trace.Go, f.Differences), actual); err != nil {
		t.Errorf("%v\n(make golden, and write the reasons)", err)
	}
	changed := map[string]bool{}
	for _, row := range actual {
		for _, c := range row.Changes {
			changed[c.Document] = true
		}
	}
	for i, d := range docs {
		again, err := jcs.Transform(wrote[i])
		ok(t, err)
		if same := bytes.Equal(again, d.Raw); same == changed[d.Name] {
			t.Errorf("%s: the canonical JSON is the same: %v, and the table has a difference: %v", d.Name, same, !same)
		}
	}
}

// TestGoldenExplained: the golden trace is of the versions that are pinned, or a migration says what became of it.
func TestGoldenExplained(t *testing.T) {
	f := folder(t)
	if *update {
		pasts, err := f.Pasts()
		ok(t, err)
		for _, p := range pasts {
			changed, err := p.Changed()
			ok(t, err)
			p.Changes = trace.Renew(p.Changes, changed)
			raw, err := trace.Encode(p.Migration)
			ok(t, err)
			write(t, filepath.Join(dir, "migrations", p.Name, "migration.json"), raw)
		}
	}
	if err := f.Explained(pinned(t)); err != nil {
		t.Error(err)
	}
}

// TestGoldenForEver: exports of all versions are verified and replayed, with the result that they had.
func TestGoldenForEver(t *testing.T) {
	f := folder(t)
	pasts, err := f.Pasts()
	ok(t, err)
	all := []trace.Folder{f}
	for _, p := range pasts {
		all = append(all, p.Folder)
	}
	for _, f := range all {
		for _, name := range f.Traces {
			raw, err := f.Export(name)
			ok(t, err)
			docs := seen(t, raw)
			saw, err := f.Seen(name)
			ok(t, err)
			if now, was := outcomeOf(t, docs[len(docs)-1]), outcomeOf(t, saw[len(saw)-1].Raw); !reflect.DeepEqual(now, was) {
				t.Errorf("%s of %v ends as\n%+v\nand ended as\n%+v", name, f.Versions, now, was)
			}
			p, report, err := export.Replay(bytes.NewReader(raw), nil)
			ok(t, err)
			if report.Header.SDK != f.Go || report.Header.Format != f.Format || len(p.Entries) == 0 {
				t.Errorf("%s: the export says format %d, %s; golden.json says %v", name, report.Header.Format, report.Header.SDK, f.Versions)
			}
		}
	}
}

// outcome is what no version may change of a task that has ended.
type outcome struct {
	Task struct {
		ID, ContextID string
		Status        struct {
			State   string
			Message any
		}
		Artifacts any
		Metadata  map[string]struct {
			Sequence uint64
			Digest   string
			Receipt  any
		}
	}
}

func outcomeOf(t *testing.T, raw []byte) outcome {
	t.Helper()
	var o outcome
	ok(t, json.Unmarshal(raw, &o))
	if o.Task.Metadata[lifecycle.ExtensionURI].Receipt == nil {
		t.Errorf("no task that has ended: %s", raw)
	}
	return o
}

// seen are the updates and the task that callers saw of an export, in canonical JSON.
func seen(t *testing.T, raw []byte) [][]byte {
	t.Helper()
	p, report, err := export.Replay(bytes.NewReader(raw), nil)
	ok(t, err)
	if !report.OK() {
		t.Fatalf("%v", report.Violations)
	}
	ref := lifecycle.Ref{Tenant: p.Header.Tenant, Task: p.Header.Task}
	updates, err := api.Updates(t.Context(), recorded{entries: p.Entries}, ref, base, 0, len(p.Entries))
	ok(t, err)
	var out [][]byte
	add := func(raw []byte) {
		line, err := jcs.Transform(raw)
		ok(t, err)
		out = append(out, line)
	}
	for _, u := range updates {
		if u.Body != nil {
			add(u.Body)
		}
	}
	view := lifecycle.NewView(ref, func(d lifecycle.Digest) string { return base + "/tasks/" + string(ref.Task) + "/blobs/" + string(d) })
	for _, e := range p.Entries {
		_, err := view.Add(e)
		ok(t, err)
	}
	task, err := api.TaskJSON(view.Task())
	ok(t, err)
	add([]byte(`{"task":` + string(task) + `}`))
	return out
}

// recorded is a ledger that has the entries of one task.
type recorded struct {
	ledger.Tasks

	entries []lifecycle.Entry
}

func (r recorded) Entries(context.Context, lifecycle.Ref, uint64, int) ([]lifecycle.Entry, error) {
	return r.entries, nil
}

func folder(t *testing.T) trace.Folder {
	t.Helper()
	f, err := trace.Read(os.DirFS(dir))
	ok(t, err)
	return f
}

func pinned(t *testing.T) trace.Versions {
	t.Helper()
	v, err := trace.Pinned(export.Format, read(t, root+"/go.mod"), read(t, "../javascript/package.json"), read(t, "../javascript/package-lock.json"))
	ok(t, err)
	return v
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	ok(t, err)
	return raw
}

func write(t *testing.T, path string, raw []byte) {
	t.Helper()
	ok(t, os.WriteFile(path, raw, 0o644))
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
