package driver_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// childVariable makes the test binary a process that says so, and lives until it is killed; "mild" also ends when it is
// asked to.
const childVariable = "HOLDFAST_DRIVER_CHILD"

func TestMain(m *testing.M) {
	if how := os.Getenv(childVariable); how != "" {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals)
		fmt.Println("here")
		for s := range signals {
			if how == "mild" && s == syscall.SIGTERM {
				os.Exit(0)
			}
		}
	}
	os.Exit(m.Run())
}

const patience = 30 * time.Second

func child(t *testing.T, how string) *driver.Process {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+how)
	p, err := driver.StartCommand(t.TempDir(), "child", cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = driver.End(p) })
	if line, err := p.FirstLine(t.Context(), patience); err != nil || line != "here" {
		t.Fatalf("%q, %v", line, err)
	}
	return p
}

func TestKill(t *testing.T) {
	p := child(t, "stubborn")
	if err := p.Alive(); err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Fatal(err)
	}
	if p.Result == nil || p.Alive() == nil {
		t.Errorf("ended with %v", p.Result)
	}
	if err := p.Kill(); err == nil || !strings.Contains(err.Error(), "child ended by itself") {
		t.Errorf("killed again: %v", err)
	}
	if err := driver.End(p, nil); err != nil {
		t.Errorf("what has ended is no trouble: %v", err)
	}
}

func TestStop(t *testing.T) {
	p := child(t, "mild")
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
	if err := p.Stop(); err == nil || !strings.Contains(err.Error(), "child ended by itself (exit code 0)") {
		t.Errorf("stopped again: %v", err)
	}
}

// A program that ended, or was never there, is told by its name and its log.
func TestEnded(t *testing.T) {
	if _, err := driver.Start(t.TempDir(), "missing", filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a process without a binary")
	}
	if _, err := driver.Start(filepath.Join(t.TempDir(), "missing"), "child", os.Args[0]); err == nil {
		t.Error("a process without a folder for its output")
	}
	binary, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	p, err := driver.Start(t.TempDir(), "version", binary, "version")
	if err != nil {
		t.Fatal(err)
	}
	<-p.Exited
	wait := driver.Wait{What: "it does more", Limit: patience, Needs: []*driver.Process{p}}
	for about, err := range map[string]error{
		"alive": p.Alive(), "kill": p.Kill(), "stop": p.Stop(),
		"until": driver.Until(t.Context(), wait, func(context.Context) (bool, error) { return false, nil }),
	} {
		if err == nil || !strings.Contains(err.Error(), "version ended by itself (exit code 0)") {
			t.Errorf("%s: %v", about, err)
		}
	}
	if text, err := os.ReadFile(p.Output); err != nil || !strings.HasPrefix(string(text), "go version") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestUntil(t *testing.T) {
	p := child(t, "stubborn")
	wait := driver.Wait{What: "it holds", Limit: patience, Every: time.Millisecond, Needs: []*driver.Process{p}}
	looks := 0
	if err := driver.Until(t.Context(), wait, func(context.Context) (bool, error) { looks++; return looks == 3, nil }); err != nil || looks != 3 {
		t.Errorf("looked %d times: %v", looks, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := driver.Until(ctx, wait, func(ctx context.Context) (bool, error) {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		cancel()
		return false, errors.New("not yet")
	})
	if err == nil || !strings.HasPrefix(err.Error(), "waited in vain until it holds") {
		t.Errorf("got %v", err)
	}
	// A process that ends meanwhile ends the wait, and the message says so.
	err = driver.Until(t.Context(), wait, func(context.Context) (bool, error) { return false, driver.End(p) })
	if err == nil || !strings.Contains(err.Error(), "child ended by itself") {
		t.Errorf("got %v", err)
	}
}

func TestFreeAddresses(t *testing.T) {
	got, err := driver.FreeAddresses(t.Context(), 3)
	if err != nil || len(got) != 3 || got[0] == got[1] || got[1] == got[2] || got[0] == got[2] || !strings.HasPrefix(got[0], "127.0.0.1:2") {
		t.Errorf("got %q, %v", got, err)
	}
}

// The module's root is where its go.mod is, and a program of it can be built.
func TestBuild(t *testing.T) {
	root, err := driver.Root(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "local", "driver")); err != nil {
		t.Error(err)
	}
	if _, err := driver.Build(t.Context(), root, filepath.Join(t.TempDir(), "x"), "./local/nothing"); err == nil || !strings.Contains(err.Error(), "./local/nothing") {
		t.Errorf("a folder that is not there: %v", err)
	}
	t.Chdir(t.TempDir())
	if root, err := driver.Root(t.Context()); err == nil {
		t.Errorf("the module's root, away from it, is %q", root)
	}
}
