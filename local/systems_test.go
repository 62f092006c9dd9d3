package main

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that cannot be used is refused before anything is served, with its line.
func TestSystemsRefuseAFile(t *testing.T) {
	const header = "system,owner,account,person,status,role,entitled_role,granted_on,last_used_on\n"
	for name, c := range map[string]struct {
		content string
		want    string
	}{
		"a missing column":   {"system,owner\nhr,ann\n", "line 1: missing column"},
		"a duplicate system": {header + "hr,ann,a,b,active,r,r,2026-01-01,\nhr,bob,c,d,active,r,r,2026-01-01,\n", "line 3: duplicate system"},
		"a bad date":         {header + "hr,ann,a,b,active,r,r,yesterday,\n", "line 2: granted_on"},
		"nothing":            {"", "grants file"},
		"a header alone":     {header, "no grants"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "grants.csv")
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
			err := serveSystems(t.Context(), []string{"--addr", "127.0.0.1:0", "--file", path}, io.Discard, io.Discard)
			if err == nil || !strings.Contains(err.Error(), c.want) || exitCode(err) != 1 {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	err := serveSystems(t.Context(), []string{"--file", filepath.Join(t.TempDir(), "none.csv")}, io.Discard, io.Discard)
	if !os.IsNotExist(err) {
		t.Errorf("a missing file: %v", err)
	}
	err = serveSystems(t.Context(), []string{"now"}, io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `unexpected argument "now"`) {
		t.Errorf("an argument: %v", err)
	}
}

// The systems serve until they are told to stop, and answer with the shipped data.
func TestSystemsServe(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	s := launch(ctx, t, "systems", "--addr", "127.0.0.1:0")
	if status, body := s.call(http.MethodGet, "/systems", ""); status != http.StatusOK || strings.Count(body, `"owner"`) != 40 {
		t.Errorf("%d %.200s, want 40 systems", status, body)
	}
	stop()
	if err := s.wait(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}
