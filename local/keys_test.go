package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// A key is made once, is the same for every later process, and nobody else can read it.
func TestKeyFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "keys")
	first, err := keyFolder(dir).Secret(t.Context(), "page-1", []byte("the first"))
	if err != nil || string(first) != "the first" {
		t.Fatalf("%q, %v", first, err)
	}
	again, err := keyFolder(dir).Secret(t.Context(), "page-1", []byte("another"))
	if err != nil || !bytes.Equal(again, first) {
		t.Errorf("the next process got %q, %v", again, err)
	}
	other, err := keyFolder(dir).Secret(t.Context(), "card-1", []byte("another"))
	if err != nil || string(other) != "another" {
		t.Errorf("another name: %q, %v", other, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", f.Name(), info.Mode(), err)
		}
	}
	// What a process left that died before it had written a key is no key.
	if err := os.WriteFile(filepath.Join(dir, ".seal-1-123"), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if seal, err := keyFolder(dir).Secret(t.Context(), "seal-1", []byte("whole")); err != nil || string(seal) != "whole" {
		t.Errorf("%q, %v", seal, err)
	}
}
