package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/export"
)

// recorded is the export that is kept in events.
const recorded = "../events/export/t42.ndjson"

// recordedUnder is one of a task that was accepted under a policy's document.
const recordedUnder = "../events/export/under-policy.ndjson"

// played runs a command and returns what it prints.
func played(t *testing.T, args ...string) (out, logs string, err error) {
	t.Helper()
	var o, l bytes.Buffer
	err = run(t.Context(), args, &o, &l)
	return o.String(), l.String(), err
}

// changed is the recorded export with a text replaced.
func changed(t *testing.T, pairs ...string) string {
	t.Helper()
	raw, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "changed.ndjson")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(raw))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// has wants texts in what was printed, in this order.
func has(t *testing.T, printed string, texts ...string) {
	t.Helper()
	rest := printed
	for _, text := range texts {
		i := strings.Index(rest, text)
		if i < 0 {
			t.Fatalf("%q is not there, or not in its place, in\n%s", text, printed)
		}
		rest = rest[i+len(text):]
	}
}

// A sound export is said to be one, with what no check can tell; a changed one is not, with line and invariant.
func TestVerify(t *testing.T) {
	out, _, err := played(t, "verify", recorded)
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "task T-42, completed, 12 entries", "nothing is broken", "2 artifacts, 5 effects, 5 rejections", "receipt: entry 12, digest ", export.Unsigned)
	bad := changed(t, "part-1", "part-9")
	out, _, err = played(t, "verify", recorded, bad)
	if err == nil || exitCode(err) != 1 {
		t.Fatalf("error %v", err)
	}
	has(t, out, recorded+": task T-42", bad+":\n", "line 8: I1: entry 7: the payload's digest is", "line 29: I4: the lines before the trailer", export.Unsigned)
	digest := strings.Split(strings.Split(out, "digest ")[1], ",")[0]
	if _, _, err := played(t, "verify", "--digest", digest, recorded); err != nil {
		t.Errorf("against its receipt: %v", err)
	}
	out, _, err = played(t, "verify", "--digest", "00", recorded)
	if err == nil {
		t.Error("another receipt was taken")
	}
	has(t, out, "line 13: I1: the chain ends with "+digest+", the receipt has 00")
	for args, want := range map[string]string{
		"verify":                        "no file to check",
		"verify nowhere.ndjson":         "no such file",
		"verify --digest x a b":         "one file at a time",
		"verify export.go":              "export.go: this is no export: local export writes one",
		"verify --nonsense":             "flag provided but not defined",
		"replay":                        "one export is replayed at a time, not 0",
		"replay a b":                    "one export is replayed at a time, not 2",
		"export":                        "one task at a time, not 0",
		"export a b":                    "one task at a time, not 2",
		"export --server x a":           "an address such as",
		"show --data x --file y":        "exclude one another",
		"show --server http://x --data": "flag needs an argument",
		"export --file x a":             "flag provided but not defined: -file",
		"reconcile":                     "one task at a time, not 0",
	} {
		if _, _, err := played(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}

// The task comes out of the file alone, and so do its artifacts.
func TestReplay(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "artifacts")
	out, logs, err := played(t, "replay", recorded, "--out", folder)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Task      struct{ Artifacts []any }
		Head      struct{ State string }
		Artifacts []struct {
			ID    string
			Blobs []any
		}
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Task.Artifacts) != 2 || got.Head.State != "TASK_STATE_COMPLETED" || len(got.Artifacts) != 2 || got.Artifacts[1].ID != "large" || len(got.Artifacts[1].Blobs) != 1 {
		t.Errorf("%s", out)
	}
	has(t, logs, `artifact "draft": 18 bytes in `, `artifact "large", chunk 1: 100000 bytes with SHA-256 `)
	if content, err := os.ReadFile(filepath.Join(folder, "draft")); err != nil || string(content) != "part-0part-1part-2" {
		t.Errorf("%q, %v", content, err)
	}
	if _, _, err := played(t, "replay", recorded, "--out", folder); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("written over: %v", err)
	}
	if out, logs, err = played(t, "replay", changed(t, "part-1", "part-9")); err == nil || out != "" || !strings.Contains(logs, "line 8: I1") {
		t.Errorf("a broken export was rebuilt: %v\n%s%s", err, out, logs)
	}
	for id, want := range map[string]string{"a/../b": "a%2F..%2Fb", "..": "%2E.", ".": "%2E", "plain": "plain"} {
		if got := fileNameOf(a2a.ArtifactID(id)); got != want {
			t.Errorf("%s is written to %s, want %s", id, got, want)
		}
	}
}

// What operators see.
func TestShow(t *testing.T) {
	out, _, err := played(t, "show", "--file", recorded)
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "task T-42", "state      completed since 2026-03-02T09:21:11Z", "21m11s old", "nobody holds it; fence 3", "12, chain", "5 rejections, of which 1 incidents; 1 lookup hits",
		"timeline", "1 09:00:00.000 submitted", "-- 1m0s of silence --", "4 09:01:01.000 message", "receipt A4 of idp.example for challenge 1", "-- 20m0s of silence --", "ended",
		"pauses", "1  auth-required", "directory.read", "left by entry 5 (authorized)", "2  input-required", "left by entry 10 (reply)",
		"artifacts", "draft  revision 1, 3 chunks, 18 bytes, sealed", "effects", "intended  publish", "refused", "fence-lost", "conflicting-content (incident)",
		"webhooks", "hook  https://hooks.example:8443, active, has 4 of 12", "entry 5, attempt 1: 503", "next attempt", "receipt", "manifest", "nothing is broken in 12 entries")
	if strings.Contains(out, "secret") {
		t.Errorf("a secret is shown:\n%s", out)
	}
	out, _, err = played(t, "show", "--file", changed(t, "part-1", "part-9", "Review <the>", "Review \\u001b[31m"))
	if err == nil {
		t.Error("a broken task was shown as sound")
	}
	has(t, out, "task T-42", "check", "line 2: I1")
	if strings.Contains(out, "\x1b") {
		t.Errorf("a terminal would obey: %q", out)
	}
}

// What was called outside, and what may be done.
func TestReconcile(t *testing.T) {
	out, _, err := played(t, "reconcile", "--file", recorded)
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "5 effects, of which 2 done, 1 failed, 1 in doubt, 1 intended", "T-42:2:archive", "policy reconcile", "evidence: own call", "never called again",
		"T-42:2:lock", "nothing: its call said that it did nothing", "T-42:2:notify", "ask the other side what became of this key", "T-42:2:read", `{"grants":40,"note":"<all>"}`, "T-42:3:publish", "in doubt, and the task has ended", "settle it in the console (the task, under Effects)")
	if _, _, err := played(t, "reconcile", "--file", changed(t, `"scope":"operator"`, `"scope":"caller"`)); err == nil || !strings.Contains(err.Error(), "effects are for operators") {
		t.Errorf("a caller's export: %v", err)
	}
}

// A task that was accepted under a document is settled by what was recorded of it: who undoes what, what is billed, and
// of what nobody knows. One that was not is billed nothing.
func TestSettlementIsShown(t *testing.T) {
	out, _, err := played(t, "reconcile", "--file", recordedUnder)
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "T-42:2:archive", "undo       compensable, by the archive <office>", "T-42:2:read", "undo       not compensable", "settlement", "policy     review@1, digest ", "owner      identity governance",
		"receipt    entry 12, digest ", "billed     6 units, by the basis effects", "undo       0 effects", "open       2 effects", "T-42:2:notify: find out", "T-42:3:publish: find out")
	out, _, err = played(t, "show", "--file", recordedUnder)
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "under policy review@1", "exported   acknowledged 2026-03-02T09:22:12Z", "effects", "done      archive", "; compensable, by the archive <office>", "settlement", "billed     6 units", "nothing is broken")
	out, _, err = played(t, "verify", recordedUnder)
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "format 2", "policy review@1: 1 documents with the digest that was recorded, 1 settlements")
	out, _, err = played(t, "reconcile", "--file", recorded)
	if err != nil {
		t.Fatal(err)
	}
	has(t, out, "undo       not compensable: no policy says anything of it", "settlement", "policy     default@1, of which only life and retention were recorded", "billed     0 units, by the basis nothing", "open       2 effects")
}

// The same task through the server that uses the folder, and from the folder when nobody does: the same export, but for
// the instant, and no byte of the folder changes.
func TestExport(t *testing.T) {
	data := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--outside", "scan")
	submitted := func(path, message string) string {
		status, answer := p.call("POST", path+"/message:send", message)
		var sent struct{ Task struct{ ID string } }
		if err := json.Unmarshal([]byte(answer), &sent); err != nil || status != 200 {
			t.Fatalf("%d %s: %v", status, answer, err)
		}
		return sent.Task.ID
	}
	task := submitted("", message("m", "Ada"))
	another := submitted("/scan", strings.TrimSuffix(message("s", "go"), "}")+`,"configuration":{"returnImmediately":true}}`)
	named, logs, err := played(t, "export", "--server", p.url, task)
	if err != nil {
		t.Fatalf("%v %s", err, logs)
	}
	has(t, logs, "task "+task+", completed", "nothing is broken")
	t.Setenv("HOLDFAST_PORT", p.url[strings.LastIndex(p.url, ":")+1:])
	locked, _, err := played(t, "export", "--data", data, task)
	if err != nil || after(locked) != after(named) {
		t.Errorf("through the folder that a server uses: %v\n%s\n%s", err, locked, named)
	}
	_, now := p.call("GET", "/tasks/"+task, "")
	var again struct{ Task json.RawMessage }
	file := filepath.Join(t.TempDir(), "task.ndjson")
	if err := os.WriteFile(file, []byte(named), 0o600); err != nil {
		t.Fatal(err)
	}
	var compact bytes.Buffer
	if out, _, err := played(t, "replay", file); err != nil || json.Unmarshal([]byte(out), &again) != nil || json.Compact(&compact, again.Task) != nil || compact.String()+"\n" != now {
		t.Errorf("replayed as\n%s\nGetTask says\n%s (%v)", compact.String(), now, err)
	}
	for _, args := range []string{"show " + task + " --data " + data, "reconcile --server " + p.url + " " + task, "show --server " + p.url + " " + another, "show --data " + data + " --agent scan " + another} {
		if out, logs, err := played(t, strings.Fields(args)...); err != nil || !strings.Contains(out, task) && !strings.Contains(out, another) {
			t.Errorf("%s: %v %s%s", args, err, out, logs)
		}
	}
	for args, want := range map[string]string{
		"export --data " + data + " nothing":    "the server at " + p.url + " refuses: ",
		"export --server " + p.url + " nothing": "the server at " + p.url + " refuses: ",
		"export --server http://127.0.0.1:1 x":  "asking the server",
		"show --agent nobody " + task:           "the server at http://127.0.0.1",
	} {
		if out, _, err := played(t, strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("%s: error %v, want %q; %s", args, err, want, out)
		}
	}
	stop()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	before := digest(t, data)
	alone, _, err := played(t, "export", "--data", data, task)
	if err != nil || after(alone) != after(named) {
		t.Errorf("from the folder: %v\n%s\n%s", err, alone, named)
	}
	if digest(t, data) != before {
		t.Error("the folder has changed")
	}
	if _, _, err := played(t, "export", "--data", data, "nothing"); err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("an unknown task: %v", err)
	}
	if _, _, err := played(t, "export", "--data", t.TempDir(), task); err == nil || !strings.Contains(err.Error(), "there is no ledger in") {
		t.Errorf("an empty folder: %v", err)
	}
}

// after is an export without its header and its trailer, which depend on the instant.
func after(raw string) string {
	lines := strings.Split(strings.TrimSuffix(raw, "\n"), "\n")
	if len(lines) < 3 {
		return ""
	}
	return strings.Join(lines[1:len(lines)-1], "\n")
}

// Help says what the exit code means, and is no failure.
func TestExportHelp(t *testing.T) {
	for _, command := range []string{"export", "verify", "show", "reconcile"} {
		if _, logs, err := played(t, command, "-h"); err != nil || !strings.Contains(logs, "usage: local "+command) || !strings.Contains(logs, "exit code") {
			t.Errorf("%s -h: %v\n%s", command, err, logs)
		}
	}
}

// An export that nobody takes ends with the taker's error.
func TestExportIsNotTaken(t *testing.T) {
	if err := run(t.Context(), []string{"export", "--server", "http://127.0.0.1:1", "x"}, broke{}, io.Discard); err == nil {
		t.Error("no error")
	}
}

// broke takes nothing.
type broke struct{}

// Write implements io.Writer.
func (broke) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// Nothing that others wrote moves a terminal's cursor, or turns what stands beside it around.
func TestPrintable(t *testing.T) {
	if got, want := printable("a\x1b[2Jb\u009bc\u202ed\u2066é\n"), "a\uFFFD[2Jb\uFFFDc\uFFFDd\uFFFDé\uFFFD"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
