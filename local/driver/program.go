package driver

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// Main runs a program until it ends or is interrupted, and gives its exit code. What it
// returns as an error is its last line: "FAIL name: …".
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	Tell(os.Stdout, "FAIL %s: %s", name, OneLine(err))
	return 1
}

// Tell prints a line. Whether somebody reads it changes nothing.
func Tell(out io.Writer, format string, args ...any) { _, _ = fmt.Fprintf(out, format+"\n", args...) }

// OneLine is an error on one line, also when it is several.
func OneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// Root is the folder of the module around the working directory.
func Root(ctx context.Context) (string, error) {
	file, err := Output(ctx, "", "go", "env", "GOMOD")
	if err == nil && (file == "" || file == os.DevNull) {
		err = errors.New("run it from within the project")
	}
	return filepath.Dir(file), err
}

// Build builds a program of the module, and says where it is.
func Build(ctx context.Context, root, binary, folder string, flags ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, buildTime)
	defer cancel()
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	args := append([]string{"build", "-o", binary}, flags...)
	_, err := Output(ctx, root, "go", append(args, folder)...)
	return binary, err
}

// Output is what a command prints. What it says beside that goes to the terminal.
func Output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}
