package integration_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The tour of the README, through the compiled functions: every request passes API
// Gateway's front and the api binary, every step the state machine and the step binary.
func TestTour(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{processes: 4})
	s.greet()
	s.list(1)
	id := s.countAndCut()
	s.list(2)
	s.cancelCounting()
	s.list(3)
	s.fed(id)
	t.Logf("api processes were ready after %s", inits(s.function(fnAPI)))
	t.Logf("step processes were ready after %s", inits(s.function(fnStep)))
}

func inits(f *lambdahost.Function) string {
	all := f.Inits()
	for i := range all {
		all[i] = all[i].Round(time.Millisecond)
	}
	slices.Sort(all)
	return fmt.Sprint(all)
}

// greet: the card, a message, the finished task, and the same message again.
func (s *stack) greet() {
	ctx := s.Context()
	var card struct { // not the SDK's, which cannot read what the card says of security
		Name         string `json:"name"`
		Capabilities struct {
			Streaming bool `json:"streaming"`
		} `json:"capabilities"`
	}
	if err := ask(ctx, &card, http.MethodGet, s.url+"/.well-known/agent-card.json", ""); err != nil {
		s.Fatal(err)
	}
	if card.Name != "hello" || !card.Capabilities.Streaming {
		s.Errorf("the card is of %q, streaming %t", card.Name, card.Capabilities.Streaming)
	}
	strange, err := call(ctx, http.MethodGet, s.url+"/tasks", "", "Authorization", "Bearer "+strings.Repeat("x", 40))
	if err != nil || strange.status != http.StatusUnauthorized {
		s.Errorf("a strange key got %s, %v", strange, err)
	}
	first, err := send(ctx, s.url, text("hello-1", "Ada", false))
	if err != nil {
		s.Fatal(err)
	}
	if first.Status.State != a2a.TaskStateCompleted || first.Status.Message.Parts[0].Text() != "Hello, Ada!" {
		s.Errorf("a blocking send gave %+v", first.Status)
	}
	again, err := send(ctx, s.url, text("hello-1", "Ada", false))
	if err != nil || again.ID != first.ID {
		s.Errorf("the same message again gave %s, %v; want task %s", again.ID, err, first.ID)
	}
	if other, err := call(ctx, http.MethodPost, s.url+"/message:send", text("hello-1", "Bob", false)); err != nil || other.status != http.StatusConflict {
		s.Errorf("another message under the same key got %s, %v", other, err)
	}
}

// list counts the agent's tasks.
func (s *stack) list(want int) {
	s.Helper()
	until(s.T, fmt.Sprintf("the list has %d tasks", want), func() (bool, string) { // an index
		var page struct {
			Tasks     []a2a.Task `json:"tasks"`
			TotalSize int        `json:"totalSize"`
		}
		if err := ask(s.Context(), &page, http.MethodGet, s.url+"/tasks?pageSize=5", ""); err != nil {
			return false, err.Error()
		}
		return len(page.Tasks) == want && page.TotalSize == want, fmt.Sprintf("%d of %d", len(page.Tasks), page.TotalSize)
	})
}

// countAndCut streams a task that counts, cuts the stream and resumes it. Nothing of it
// is held back: when a number arrives the task has not ended yet.
func (s *stack) countAndCut() a2a.TaskID {
	const to = 5
	ctx := s.Context()
	stream, err := open(ctx, s.url+"/message:stream", text("count-1", fmt.Sprintf("count %d", to), true))
	if err != nil {
		s.Fatal(err)
	}
	var ids []uint64
	var numbers []frame
	var id a2a.TaskID
	for len(numbers) < 2 {
		f, ok := stream.next()
		if !ok {
			s.Fatalf("the stream ended after %v: %v", ids, stream.err)
		}
		ids = append(ids, f.id)
		if len(ids) == 1 {
			id = s.newest()
		}
		if f.says == "1" || f.says == "2" {
			numbers = append(numbers, f)
			h, err := s.ledger.Head(ctx, refTo(id))
			if err != nil || h.Terminal() {
				s.Errorf("number %s arrived when the task was %s, %v: the stream is buffered", f.says, h.State, err)
			}
		}
	}
	stream.close()
	apart := numbers[1].at.Sub(numbers[0].at)

	resumed, err := resume(ctx, s.url, id, ids[len(ids)-1])
	if err != nil {
		s.Fatal(err)
	}
	defer resumed.close()
	for first := true; ; first = false {
		f, ok := resumed.next()
		if !ok {
			break
		}
		if first != (f.task && f.id == 0) {
			s.Errorf("the resumed stream has the frame %s, first %t", f.body, first)
		}
		if !first {
			ids = append(ids, f.id)
		}
	}
	if resumed.err != nil {
		s.Errorf("the resumed stream broke: %v", resumed.err)
	}
	h, err := verify(ctx, s.auth, refTo(id))
	if err != nil {
		s.Fatal(err)
	}
	want, err := h.visible()
	if err != nil || !slices.Equal(ids, want) {
		s.Errorf("the two streams brought %v, %v; want %v", ids, err, want)
	}
	if h.State != lifecycle.Completed {
		s.Errorf("the task is %s", h.State)
	}
	s.Logf("counted to %d: %d updates over 2 streams, each once; the first two numbers came %s apart", to, len(ids), apart.Round(time.Millisecond))
	return id
}

// newest is the task that the list has first.
func (s *stack) newest() (id a2a.TaskID) {
	until(s.T, "the list has the counting task", func() (bool, string) {
		var page struct {
			Tasks []a2a.Task `json:"tasks"`
		}
		if err := ask(s.Context(), &page, http.MethodGet, s.url+"/tasks?pageSize=1", ""); err != nil || len(page.Tasks) == 0 {
			return false, fmt.Sprint(err)
		}
		id = page.Tasks[0].ID
		return !page.Tasks[0].Status.State.Terminal(), string(page.Tasks[0].Status.State)
	})
	return id
}

// cancelCounting cancels a task that counts, and reads its ledger.
func (s *stack) cancelCounting() {
	ctx := s.Context()
	task, err := send(ctx, s.url, text("count-2", "count 100", true))
	if err != nil {
		s.Fatal(err)
	}
	var canceled a2a.Task
	if err := ask(ctx, &canceled, http.MethodPost, s.url+"/tasks/"+string(task.ID)+":cancel", ""); err != nil {
		s.Fatal(err)
	}
	if canceled.Status.State != a2a.TaskStateCanceled {
		s.Errorf("canceled, the task is %s", canceled.Status.State)
	}
	var page struct {
		Entries []lifecycle.Entry `json:"entries"`
	}
	if err := ask(ctx, &page, http.MethodGet, s.url+"/tasks/"+string(task.ID)+"/ledger", ""); err != nil {
		s.Fatal(err)
	}
	if n := len(page.Entries); n < 3 || page.Entries[n-2].Type != lifecycle.TypeCancelRequested || page.Entries[n-1].Type != lifecycle.TypeEnded {
		s.Errorf("the ledger of the canceled task has %d entries: %+v", n, page.Entries)
	}
	if _, err := verify(ctx, s.auth, refTo(task.ID)); err != nil {
		s.Error(err)
	}
}

// fed: the stream function has understood every record of the table's stream, and
// counts as many entries as the ledger has.
func (s *stack) fed(ids ...a2a.TaskID) {
	f := newFeeder(s)
	entries := 0
	until(s.T, "the stream function has seen every entry", func() (bool, string) {
		if err := f.feed(s.Context()); err != nil {
			s.Fatal(err)
		}
		want := 0
		for _, id := range ids {
			h, err := s.ledger.Head(s.Context(), refTo(id))
			if err != nil {
				s.Fatal(err)
			}
			want += int(h.Seq)
		}
		entries = 0
		for _, l := range s.logs.lines(fnStream, "stream") {
			entries += l.number("entries")
		}
		return entries >= want, fmt.Sprintf("%d of %d", entries, want)
	})
	s.Logf("the stream function took %d records, %d of them entries, and refused none", f.records, entries)
}
