package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func TestBlobs(t *testing.T) {
	ledgertest.RunBlobs(t, func(t *testing.T) ledger.Blobs {
		t.Helper()
		return openBlobs(t, t.TempDir())
	})
}

func openBlobs(t testing.TB, dir string) *Blobs {
	t.Helper()
	b, err := OpenBlobs(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// files lists the files below a folder, relative to it.
func files(t testing.TB, root string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(root, path)
			out = append(out, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestBlobDamage(t *testing.T) {
	dir := t.TempDir()
	b := openBlobs(t, dir)
	ref := lifecycle.Ref{Tenant: "local", Task: "task"}
	content := []byte("thirty-nine bytes that must not change")
	digest := lifecycle.DigestBytes(content)
	if err := b.Put(t.Context(), ref, digest, content); err != nil {
		t.Fatal(err)
	}
	list := files(t, dir)
	if want := filepath.Join("blobs", "local", "task", string(digest)); len(list) != 1 || list[0] != want {
		t.Fatalf("the folder holds %q, want only %s", list, want)
	}
	if err := os.WriteFile(filepath.Join(dir, list[0]), content[1:], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), ref, digest); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("a damaged blob: error %v, want ErrCorrupt", err)
	}
	// Whoever has the bytes can repair it.
	if err := b.Put(t.Context(), ref, digest, content); err != nil {
		t.Fatal(err)
	}
	if got, err := b.Get(t.Context(), ref, digest); err != nil || string(got) != string(content) {
		t.Fatalf("a repaired blob: %q, %v", got, err)
	}
	// What a crash may leave is removed with the task.
	if err := os.WriteFile(filepath.Join(b.folder(ref), "draft-1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := b.DeleteAll(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	if list := files(t, dir); len(list) != 0 {
		t.Fatalf("after removing the task's blobs: %q", list)
	}
}

func TestBlobNoDigest(t *testing.T) {
	b := openBlobs(t, t.TempDir())
	for _, digest := range []lifecycle.Digest{"", ".", "..", "../x", lifecycle.Digest(strings.Repeat("A", 64))} {
		_, err := b.Get(t.Context(), lifecycle.Ref{Tenant: "t", Task: "k"}, digest)
		if err == nil || errors.Is(err, ledger.ErrNotFound) {
			t.Errorf("digest %q: error %v, want it refused", digest, err)
		}
	}
}

// FuzzName: no name leaves the folder, and no two strings share one.
func FuzzName(f *testing.F) {
	for _, s := range []string{"", ".", "..", "/", "a/../b", "A", "a", "%41", "é", "e\u0301", "con", "\x00", strings.Repeat("x", 300), strings.Repeat("/", 128), "%none", "%long-"} {
		f.Add(s, "a")
	}
	f.Fuzz(func(t *testing.T, s, other string) {
		b := Blobs{root: "root"}
		inside, err := filepath.Rel("root", b.folder(lifecycle.Ref{Tenant: s, Task: a2a.TaskID(other)}))
		if err != nil || !filepath.IsLocal(inside) || strings.Count(inside, string(filepath.Separator)) != 1 {
			t.Fatalf("%q and %q are stored in %q", s, other, inside)
		}
		name := encodeName(s)
		if len(name) > 255 || name == "" || name != strings.ToLower(name) {
			t.Fatalf("%q is stored as %q", s, name)
		}
		if s != other && strings.EqualFold(name, encodeName(other)) {
			t.Fatalf("%q and %q are both stored as %q", s, other, name)
		}
	})
}
