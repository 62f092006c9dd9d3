package integration_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

var served = regexp.MustCompile(`on (http://127\.0\.0\.1:\d+)`)

// laptop is the program as `make run DYNAMODB_ENDPOINT=…` starts it.
type laptop struct {
	url string
	cmd *exec.Cmd
}

func startLaptop(t *testing.T, binary string) *laptop {
	t.Helper()
	l := &laptop{cmd: exec.Command(binary, "serve", "--addr", "127.0.0.1:0", "--data", t.TempDir(), "--sweep", "1s", "--grace", "1s", "--lease", "4s", "--renewal", "1s")}
	l.cmd.Env = append(os.Environ(), "DYNAMODB_ENDPOINT="+dynamoEndpoint)
	l.cmd.Stderr = os.Stderr
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.cmd.Process.Kill(); _ = l.cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if found := served.FindStringSubmatch(line); found != nil {
		l.url = found[1]
		return l
	}
	t.Fatalf("it says %q, %v", line, err)
	return nil
}

// The laptop's program over a DynamoDB endpoint: it makes its tables, serves, and after a
// SIGKILL another process with another data folder goes on with the task, for the tasks
// are on the server.
func TestLaptopOnDynamoDB(t *testing.T) {
	t.Parallel()
	binary := filepath.Join(t.TempDir(), "holdfast")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../../local")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	first := startLaptop(t, binary)
	id := string(a2a.NewTaskID()) // the tables are the server's, and may have been there
	done, err := send(t.Context(), first.url, text("hello-"+id, "Ada", false))
	if err != nil || done.Status.State != a2a.TaskStateCompleted {
		t.Fatalf("%+v, %v", done.Status, err)
	}
	counting, err := send(t.Context(), first.url, text("count-"+id, "count 4", true))
	if err != nil {
		t.Fatal(err)
	}
	state := func(l *laptop) (a2a.TaskState, string) {
		task, err := getTask(context.Background(), l.url, counting.ID)
		said := ""
		if m := task.Status.Message; m != nil && len(m.Parts) > 0 {
			said = m.Parts[0].Text()
		}
		return task.Status.State, fmt.Sprint(said, err)
	}
	until(t, "it counts", func() (bool, string) {
		s, said := state(first)
		return s == a2a.TaskStateWorking && strings.HasPrefix(said, "2"), said
	})
	if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	second := startLaptop(t, binary)
	until(t, "it has counted to the end", func() (bool, string) {
		s, said := state(second)
		return s == a2a.TaskStateCompleted, said
	})
}
