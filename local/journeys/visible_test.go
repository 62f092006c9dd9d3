package journeys_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

var counting = send("m", "count 3", "")

// Case 38, I4: the process dies at each of its ledger calls, before and after it, so
// also before a commit, and between a commit and the streams that show it. A
// watcher has seen nothing that is not in the ledger, and with the next process it
// gets exactly what it has missed.
func TestNothingIsSeenThatIsNotCommitted(t *testing.T) {
	calm := watchCrash(t, &ledgertest.Crash{})
	cut := 0
	for at := 1; at <= len(calm.calls); at++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d %s after=%t", at, calm.calls[at-1], after), func(t *testing.T) {
				got := watchCrash(t, &ledgertest.Crash{At: at, After: after})
				if !slices.Equal(got.text, calm.text) {
					t.Errorf("seen\n%q\nwithout a crash\n%q", got.text, calm.text)
				}
				if 0 < got.before && got.before < len(got.text) {
					cut++
				}
			})
		}
	}
	t.Logf("%d crash points; at %d of them a stream was cut in its middle", 2*len(calm.calls), cut)
	if cut < len(calm.calls)/2 {
		t.Errorf("only %d crashes cut a stream", cut)
	}
}

// watched is what a client saw of a task.
type watched struct {
	text   []string // of each status, in order
	before int      // how many of them before the crash
	calls  []string
}

// watchCrash streams a task whose process dies where the Crash says, and goes on
// with the next process.
func watchCrash(t *testing.T, crash *ledgertest.Crash) watched {
	t.Helper()
	var out watched
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, hello.Agent)
		faults := &ledgertest.Faults{Crash: crash}
		n, err := w.tryProcess(faults.Ledger(w.ledger), w.blobs)
		if err != nil && !crash.Crashed() {
			t.Fatal(err)
		}
		frames := w.watch(0)
		out.before = len(frames)
		w.stop(n)
		out.calls = crash.Names()
		if crash.Crashed() && (len(frames) == 0 || !frames[len(frames)-1].state().Terminal()) {
			n = w.process()
			var last uint64
			if len(frames) > 0 {
				last = frames[len(frames)-1].id
			}
			frames = append(frames, w.watch(last)...)
			w.stop(n)
		}
		if len(frames) == 0 {
			t.Fatal("nothing was seen")
		}
		ref := lifecycle.Ref{Tenant: node.Tenant, Task: taskOf(frames[0])}
		if want := w.visible(ref); !slices.Equal(ids(frames), want) {
			t.Errorf("ids %v, want %v", ids(frames), want)
		}
		for _, f := range frames {
			if s, is := f.event.(*a2a.TaskStatusUpdateEvent); is && s.Status.Message != nil {
				out.text = append(out.text, s.Status.Message.Parts[0].Text())
			}
		}
		w.verify(ref.Task)
	})
	return out
}

// watch submits, also once more, and reads what comes behind an id while the stream
// lasts. Each frame is held against the ledger at that moment.
func (w *world) watch(after uint64) []frame {
	w.t.Helper()
	s, err := w.try(http.MethodPost, "/message:stream", counting, lastID(after)...)
	if err != nil {
		return nil // nobody answered: the same request is sent again
	}
	defer s.cut()
	var got []frame
	for {
		f, err := s.update()
		if err != nil {
			return got
		}
		w.committed(lifecycle.Ref{Tenant: node.Tenant, Task: taskOf(f)}, f)
		if f.id != 0 {
			got = append(got, f)
		}
	}
}

// Reading a task after an update of it shows that update, or something later.
func TestReadYourStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, slow(), hello.Agent)
		n := w.process()
		defer w.stop(n)
		s := w.stream(http.MethodPost, "/message:stream", send("read", "3", ""))
		for seen := 0; ; seen++ {
			f, err := s.update()
			if err != nil {
				if seen != 11 {
					t.Errorf("%d updates, %v; want 11", seen, err)
				}
				return
			}
			now := w.task("", taskOf(f))
			if got := uint64(ownOf(&now)["sequence"].(float64)); got < f.id {
				t.Errorf("update %d was seen, and then a task at %d", f.id, got)
			}
		}
	})
}
