package sqlite

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The kill tests run this test binary again as a process of its own, which
// writes down on its standard output what it was answered, and is killed. What
// they cannot show is a machine that loses its power: for that there is only
// synchronous=FULL and the order of SQLite's writes.

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "writer" {
		if err := childWriter(".", point(os.Args[2])); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // it is meant to be killed
	}
	os.Exit(m.Run())
}

const (
	childTasks = 8
	childDies  = 50 // the batch that a child kills itself in
)

// childWriter writes until it is killed, or kills itself at a point.
func childWriter(dir string, at point) error {
	batches := 0
	l, err := Open(dir, Options{fault: func(p point) error {
		if p != at {
			return nil
		}
		if batches++; batches < childDies {
			return nil
		}
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return err
		}
		return errors.Join(self.Kill(), io.EOF)
	}})
	if err != nil {
		return err
	}
	var out sync.Mutex
	answered := func(h lifecycle.Head) error {
		out.Lock()
		defer out.Unlock()
		_, err := fmt.Println(h.Task, h.Seq)
		return err
	}
	var all sync.WaitGroup
	errs := make([]error, childTasks)
	for i := range errs {
		all.Go(func() { errs[i] = childTask(l, answered) })
	}
	all.Wait()
	return errors.Join(errs...)
}

func childTask(l *Ledger, answered func(lifecycle.Head) error) error {
	ctx := context.Background()
	t := benchTask(lifecycle.Ref{Tenant: "local", Task: a2a.NewTaskID()})
	if err := l.Create(ctx, t); err != nil {
		return err
	}
	seen := t.Head
	for {
		if err := answered(seen); err != nil {
			return err
		}
		next := benchNext(seen)
		if err := l.Commit(ctx, next); err != nil {
			return err
		}
		seen = next.Head
	}
}

// TestKill: whatever a process was answered is there after it was killed, and
// nothing is half there. Between two batches at most one write of each of its
// tasks was not answered yet.
func TestKill(t *testing.T) {
	for _, at := range []point{"", pointBegin, pointCommit, pointVisible, pointCommitted} {
		t.Run("at "+string(at), func(t *testing.T) {
			dir := t.TempDir()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			child := exec.Command(self, "writer", string(at))
			child.Dir = dir
			child.Stderr = os.Stderr
			pipe, err := child.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := child.Start(); err != nil {
				t.Fatal(err)
			}
			answers := map[a2a.TaskID]uint64{}
			lines := 0
			for scan := bufio.NewScanner(pipe); scan.Scan(); lines++ {
				task, seq, _ := strings.Cut(scan.Text(), " ")
				n, err := strconv.ParseUint(seq, 10, 64)
				if err != nil {
					break // the last line may be cut
				}
				answers[a2a.TaskID(task)] = n
				if at != "" || lines != 400 {
					continue
				}
				if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), strconv.Itoa(child.Process.Pid)) {
					t.Errorf("while the child has the folder: %v", err)
				}
				if err := child.Process.Kill(); err != nil {
					t.Error(err)
				}
			}
			if err := child.Wait(); err == nil || child.ProcessState.ExitCode() >= 0 {
				t.Fatalf("the child was not killed: %v", child.ProcessState)
			}
			l := open(t, dir, Options{})
			wantPositions(t, l)
			ahead := 0
			for task, n := range answers {
				h, err := l.Head(t.Context(), lifecycle.Ref{Tenant: "local", Task: task})
				if err != nil || h.Seq < n || h.Seq > n+1 {
					t.Errorf("task %s is at %d (%v), answered was %d", task, h.Seq, err, n)
				}
				wantSeq(t, l, h.Ref(), h.Seq)
				ahead += int(h.Seq - n)
			}
			t.Logf("%d answers kept, %d writes unanswered", lines, ahead)
			if len(answers) == 0 || (at == pointVisible || at == pointCommitted) && ahead == 0 {
				t.Errorf("%d tasks were answered, %d writes were committed without an answer", len(answers), ahead)
			}
		})
	}
}
