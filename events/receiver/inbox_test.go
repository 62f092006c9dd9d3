package receiver_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/events/receiver"
)

// The power fails while a line is written: what was acknowledged is there, the rest is not.
func TestTornLine(t *testing.T) {
	d := newDeployment(t)
	d.want(d.update("T", 1), 204)
	d.want(d.update("T", 2), 204)
	whole, err := os.ReadFile(d.path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(whole) / 2; cut < len(whole); cut++ {
		if err := os.WriteFile(d.path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		d.open()
		if got := d.stored(); got != "T:1" {
			t.Fatalf("cut after %d of %d bytes: stored is %q", cut, len(whole), got)
		}
		d.want(d.update("T", 2), 204)
		d.wantStored("T:1 T:2")
	}
}

// A file that is something else is refused, and left as it is.
func TestForeignFile(t *testing.T) {
	for _, content := range []string{"hello\nworld\n", "{}\n{}\n", "\n\n"} {
		path := t.TempDir() + "/inbox.ndjson"
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := receiver.OpenInbox(path); err == nil || !strings.Contains(err.Error(), "line 1") {
			t.Errorf("%q: %v", content, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != content {
			t.Errorf("%q is %q now, %v", content, now, err)
		}
	}
	if _, err := receiver.OpenInbox(t.TempDir() + "/no/folder"); !os.IsNotExist(err) {
		t.Errorf("no folder: %v", err)
	}
}

// What cannot be stored is not acknowledged: not then, and not later by the same process,
// which does not know what is on the disk.
func TestDiskTrouble(t *testing.T) {
	d := newDeployment(t)
	d.want(d.update("T", 1), 204)
	if err := d.inbox.Close(); err != nil {
		t.Fatal(err)
	}
	d.want(d.update("T", 2), 500)
	d.want(d.update("T", 2), 500)
	d.want(d.update("T", 1), 204) // it is there
	d.open()
	d.wantStored("T:1")
	d.want(d.update("T", 2), 204)
	d.wantStored("T:1 T:2")
}

// The process is killed after it has stored an update and before it has answered. The
// sender sends it again, and it is stored once.
func TestKilledBeforeTheAnswer(t *testing.T) {
	d := newDeployment(t)
	for life, want := range []string{"", "204"} {
		if got := d.live(life == 0); got != want {
			t.Fatalf("life %d answered %q, want %q", life+1, got, want)
		}
		d.open()
		d.wantStored("T:1")
	}
}

// mortal is set in the process that is killed.
const mortal = "HOLDFAST_TEST_RECEIVER"

// live sends the first update to a process of its own, which kills itself or answers.
func (d *deployment) live(killed bool) string {
	d.t.Helper()
	_ = d.inbox.Close()
	cmd := exec.CommandContext(d.t.Context(), os.Args[0], "-test.run=^TestMortal$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%t %s", mortal, killed, d.path))
	out, err := cmd.Output()
	if err == nil == killed {
		d.t.Fatalf("the process ended with %v: %s", err, out)
	}
	lines := bufio.NewScanner(strings.NewReader(string(out)))
	for lines.Scan() {
		if answer, is := strings.CutPrefix(lines.Text(), "answered "); is {
			return answer
		}
	}
	return ""
}

// TestMortal is the process of TestKilledBeforeTheAnswer.
func TestMortal(t *testing.T) {
	killed, path, is := strings.Cut(os.Getenv(mortal), " ")
	if !is {
		return
	}
	d := newDeployment(t)
	d.path = path
	d.open()
	if killed == "true" {
		d.handler.Told = func(receiver.Update, receiver.Outcome, error) {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				t.Error(err)
			}
			select {} // until it is dead
		}
	}
	fmt.Println("answered", d.send(d.update("T", 1)))
}
