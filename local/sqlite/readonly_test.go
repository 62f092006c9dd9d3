package sqlite

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A folder that nobody uses is read as it is: the same answers, no byte changed, and the log stays where a process that
// was killed has left it.
func TestReadOnly(t *testing.T) {
	dir := t.TempDir()
	l, err := Open(dir, Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	ref := lifecycle.Ref{Tenant: "acme", Task: "task-1"}
	authority := ledger.Authority{Ledger: l, Now: time.Now, NewID: a2a.NewMessageID}
	_, err = authority.Create(t.Context(), ref, lifecycle.Submit{
		ContextID: "c", Agent: "a", AgentVersion: 1, Step: "s", Policy: lifecycle.DefaultPolicy(),
		Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("hello")}},
	}, lifecycle.Source{Producer: "p"}, nil, ledger.Endpoint{ID: "e", URL: "https://x.example/", Agent: "a"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReadOnly(dir); !errors.Is(err, ErrLocked) {
		t.Fatalf("while it is open: %v", err)
	}
	killed := t.TempDir() // what is left when the process dies now, with its log
	for _, name := range []string{fileName, fileName + "-wal"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(killed, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := answers(t, l, ref)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{dir, killed} {
		before := inventory(t, folder)
		r, err := OpenReadOnly(folder)
		if err != nil {
			t.Fatal(err)
		}
		if got := answers(t, r, ref); !bytes.Equal(got, want) {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if _, err := r.Head(t.Context(), lifecycle.Ref{Tenant: "acme", Task: "other"}); !errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("an unknown task: %v", err)
		}
		if _, err := Open(folder, Options{NoSync: true}); !errors.Is(err, ErrLocked) {
			t.Errorf("opened while it is read: %v", err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if got := inventory(t, folder); got != before {
			t.Errorf("the folder had\n%s\nand has\n%s", before, got)
		}
	}
}

// What is no ledger of this build is refused.
func TestReadOnlyRefuses(t *testing.T) {
	empty := t.TempDir()
	if _, err := OpenReadOnly(empty); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder: %v", err)
	}
	if names := inventory(t, empty); names != "" {
		t.Errorf("it made %s", names)
	}
	noise := t.TempDir()
	if err := os.WriteFile(filepath.Join(noise, fileName), bytes.Repeat([]byte("noise"), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the lock is given back
		if _, err := OpenReadOnly(noise); !errors.Is(err, ErrCorrupt) {
			t.Errorf("noise: %v", err)
		}
	}
}

func answers(t *testing.T, r reads, ref lifecycle.Ref) []byte {
	t.Helper()
	var all [8]any
	var errs [8]error
	all[0], errs[0] = r.Head(t.Context(), ref)
	all[1], errs[1] = r.Entries(t.Context(), ref, 0, 0)
	all[2], errs[2] = r.Artifacts(t.Context(), ref)
	all[3], errs[3] = r.Rejections(t.Context(), ref)
	all[4], errs[4] = r.Quarantine(t.Context(), ref)
	all[5], errs[5] = r.Counts(t.Context(), ref)
	all[6], errs[6] = r.EffectList(t.Context(), ref)
	all[7], errs[7] = r.EndpointList(t.Context(), ref)
	raw, err := json.Marshal(all)
	if err := errors.Join(append(errs[:], err)...); err != nil {
		t.Fatal(err)
	}
	return raw
}

// inventory is the names and digests of a folder's files, but for the lock.
func inventory(t *testing.T, dir string) string {
	t.Helper()
	var out bytes.Buffer
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if f.Name() == "lock" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(f.Name() + " " + string(lifecycle.DigestBytes(content)) + "\n")
	}
	return out.String()
}
