package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/sqlite"
)

// newer is a database of 1 KB, compressed, that a later build could have left: its
// table meta says version 999.
const newer = "H4sIAAAAAAAC/woO9MksSVVIyy/KTSxRMGZgYmBkZHBQUGBgYGCCYhhgZGBgYEHjEwJMDHozN/KCFDPOYmCcxTAKiAYpjOzioqKMjdoliUk5qbmpJYkgzOQc5OoY4qoQ4ujk46oAElHQ" +
	"yEvMTVUIcY0IUQgI8vR1DIpU8HaN1FEoS8wpTVXw9AtxdXcNUvDzD1HwC/Xx0VQI9wzx8A8NUQjyD/d04QLHzWcGxs+jIT5CAA+zNFNZalFxZn4e83NAAAAA//+RDxesAAQAAA=="

// used is a folder in which a server has run.
func used(t *testing.T) string {
	t.Helper()
	data := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data)
	if status, answer := p.call("POST", "/message:send", message("m", "Ada")); status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	stop()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	return data
}

// digest covers the names and bytes of all files of a folder.
func digest(t *testing.T, dir string) string {
	t.Helper()
	h := sha256.New()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %v\n", path, d.Type())
		if d.IsDir() {
			return nil
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		fmt.Fprintf(h, "%d\n%s", len(content), content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// A folder that is corrupt, newer or in use is refused: the message says why and
// what to do, the exit code is 1, nothing is served, and no byte of it changes.
func TestServeRefusesAFolder(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(t *testing.T, ledger string)
		cause error
		wants []string
	}{
		"noise": {func(t *testing.T, ledger string) { overwrite(t, ledger, 0, bytes.Repeat([]byte("noise"), 1000)) }, sqlite.ErrCorrupt,
			[]string{"damaged", "holdfast.db"}},
		"a damaged page": {func(t *testing.T, ledger string) { overwrite(t, ledger, 8192, bytes.Repeat([]byte{0xff}, 4096)) }, sqlite.ErrCorrupt,
			[]string{"damaged", "holdfast.db"}},
		"cut short": {func(t *testing.T, ledger string) {
			if err := os.Truncate(ledger, 8192); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrCorrupt, []string{"damaged", "its end is missing"}},
		"a newer version": {func(t *testing.T, ledger string) {
			if err := os.WriteFile(ledger, later(t), 0o600); err != nil {
				t.Fatal(err)
			}
		}, sqlite.ErrNewer, []string{"newer build", "has version 999", "start the newer build"}},
		"in use": {func(t *testing.T, ledger string) {
			other, err := sqlite.Open(filepath.Dir(ledger), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = other.Close() })
		}, sqlite.ErrLocked, []string{"in use", fmt.Sprintf("process %d", os.Getpid()), "stop it first, or use another folder"}},
	} {
		t.Run(name, func(t *testing.T) {
			data := used(t)
			c.spoil(t, filepath.Join(data, "holdfast.db"))
			before := digest(t, data)
			var out bytes.Buffer
			err := run(t.Context(), []string{"serve", "--addr", "127.0.0.1:0", "--data", data}, &out, io.Discard)
			if !errors.Is(err, c.cause) || exitCode(err) != 1 {
				t.Fatalf("error %v, want %v and exit code 1", err, c.cause)
			}
			for _, want := range c.wants {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q", err, want)
				}
			}
			if out.Len() > 0 {
				t.Errorf("it said %s", out.String())
			}
			if digest(t, data) != before {
				t.Error("the folder has changed")
			}
		})
	}
}

func overwrite(t *testing.T, path string, at int64, content []byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteAt(content, at)
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

func later(t *testing.T) []byte {
	t.Helper()
	r, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(newer)))
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
