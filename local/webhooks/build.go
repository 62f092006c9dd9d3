package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// buildProduct builds the product into a folder.
func buildProduct(ctx context.Context, root, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	binary := filepath.Join(dir, "holdfast")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", binary, "./local")
	cmd.Dir = root
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build ./local: %w\n%s", err, text)
	}
	return binary, nil
}

// moduleRoot is the folder of the module around the working directory.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errors.New("run it from within the project: go run ./local/webhooks")
	}
	return filepath.Dir(file), nil
}

// installPython is a Python with what a list names.
func installPython(ctx context.Context, root, list string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", "set -euo pipefail; . infra/checks/tools.sh; venv "+list)
	cmd.Dir, cmd.Stderr = root, os.Stderr
	folder, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("installing what %s names: %w", list, err)
	}
	return filepath.Join(strings.TrimSpace(string(folder)), "bin", "python"), nil
}
