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

// binaries are the product as it is, and its next build.
type binaries struct{ current, next string }

// buildProduct builds both into a folder.
func buildProduct(ctx context.Context, root, dir string) (binaries, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	b := binaries{filepath.Join(dir, "holdfast"+suffix), filepath.Join(dir, "holdfast-next"+suffix)}
	for _, args := range [][]string{{"-o", b.current}, {"-tags", "next", "-o", b.next}} {
		cmd := exec.CommandContext(ctx, "go", append(append([]string{"build"}, args...), "./local")...)
		cmd.Dir = root
		if text, err := cmd.CombinedOutput(); err != nil {
			return b, fmt.Errorf("go build %s ./local: %w\n%s", strings.Join(args, " "), err, text)
		}
	}
	return b, nil
}

// moduleRoot is the folder of the module around the working directory.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if file == "" || file == os.DevNull {
		return "", errors.New("run it from within the project: go run ./local/demo")
	}
	return filepath.Dir(file), nil
}
