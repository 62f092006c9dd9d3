package journeys_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/local/inprocess"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/systems"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/catalog/accessreview"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// storyteller shows everything that callers can see: progress, chunks, a second
// revision, a failed attempt, a sleep, a question and an end.
func storyteller() *agent.Agent {
	piece := func(text string, more, last bool) agent.Chunk {
		return agent.Chunk{Artifact: "story", Append: more, Last: last, Part: a2a.NewTextPart(text)}
	}
	return agent.New("storyteller", 1,
		agent.Step[note]{Name: "draft", Run: func(ctx context.Context, t *agent.Task[note]) (agent.Next, error) {
			if t.Attempt == 1 {
				return agent.Next{}, errors.New("no idea yet")
			}
			t.Report("Drafting.")
			t.Emit(piece("Once", false, false))
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
			t.Emit(piece(" upon", true, false))
			t.Emit(piece(" a time", true, true))
			return agent.Sleep(time.Second, "ask"), nil
		}},
		agent.Step[note]{Name: "ask", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
			return agent.Pause("Where?", "tell", agent.For(time.Hour)), nil
		}},
		agent.Step[note]{Name: "tell", Run: func(_ context.Context, t *agent.Task[note]) (agent.Next, error) {
			t.Report("Telling.")
			t.Emit(piece("In "+agent.Text(t.Message), false, false))
			t.Emit(piece(", once upon a time", true, true))
			t.Emit(agent.Chunk{Artifact: "moral", Last: true, Part: a2a.NewTextPart("None.")})
			t.Report("Told.")
			return agent.Complete("The end."), nil
		}},
	).KeyedByMessageID()
}

// journey is a task that is followed by clients whose streams are cut.
type journey struct {
	agents []*agent.Agent
	submit string
	reply  string // to the question; empty: none comes
}

func journeys(t *testing.T) map[string]journey {
	outside, err := systems.New(events.AccessReviewCSV)
	if err != nil {
		t.Fatal(err)
	}
	reviewer := accessreview.New(accessreview.HTTP{BaseURL: "http://systems", Client: &http.Client{Transport: inprocess.Transport(func() http.Handler { return outside })}})
	return map[string]journey{
		"a count":  {[]*agent.Agent{hello.Agent}, send("m", "count 5", ""), ""},
		"a story":  {[]*agent.Agent{storyteller()}, send("m", "go", ""), "Oslo"},
		"a review": {reviewer, submission(), "approve all"},
	}
}

// Cases 33 and 43: a stream that is cut at every id and resumed there, one that is
// never cut, and a replay from the beginning are the same: each visible id once,
// ascending, with the same content. What a client folds from them is GetTask.
func TestCutAtEveryID(t *testing.T) {
	for _, name := range []string{"a count", "a story", "a review"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := journeys(t)[name]
				w := newWorld(t, j.agents...)
				n := w.process()
				defer w.stop(n)
				first := w.stream(http.MethodPost, "/message:stream", j.submit)
				created := w.first(first)
				ref := lifecycle.Ref{Tenant: node.Tenant, Task: taskOf(created)}
				whole := make(chan []frame, 1)
				go func() { whole <- append([]frame{created}, w.patient(j, ref.Task, first, created.id)...) }()
				cut := w.patient(j, ref.Task, nil, 0)
				uncut := <-whole
				want := w.visible(ref)
				replay := w.all(w.stream(http.MethodPost, "/message:stream", j.submit, lastID(0)...))
				if replay[0].id != 0 || replay[1].own()["replay"] != true {
					t.Fatalf("the replay begins with %s, %s", replay[0].content(), replay[1].content())
				}
				// Only the stream that created the task has it under the first id.
				w.same("uncut", uncut, uncut, want)
				w.same("cut", cut[1:], uncut[1:], want[1:])
				w.same("replayed", replay[2:], uncut[1:], want[1:])
				if cut[0].id != 1 || replay[1].content() != cut[0].content() {
					t.Errorf("a replay begins with %s, another with %s", replay[1].content(), cut[0].content())
				}
				now := w.task("", ref.Task)
				if difference := fold(uncut).equals(now); difference != "" {
					t.Error(difference)
				}
				if difference := fold(replay[1:]).equals(now); difference != "" {
					t.Error("replayed:", difference)
				}
				// And behind each id of the finished task, exactly what is missing.
				for i, after := range want {
					missing := w.all(w.stream(http.MethodPost, "/message:stream", j.submit, lastID(after)...))
					if got := ids(missing); !slices.Equal(got, want[i+1:]) {
						t.Errorf("behind %d come %v, want %v", after, got, want[i+1:])
					}
				}
				w.verify(ref.Task)
				t.Logf("%d visible ids of %d entries", len(want), want[len(want)-1])
			})
		})
	}
}

func taskOf(f frame) a2a.TaskID {
	if t, is := f.event.(*a2a.Task); is {
		return t.ID
	}
	return f.event.TaskInfo().TaskID
}

// same holds what a client has collected against the ledger's visible entries and
// against what another client has.
func (w *world) same(name string, got, other []frame, want []uint64) {
	w.t.Helper()
	if !slices.Equal(ids(got), want) {
		w.t.Errorf("%s: ids %v, want %v", name, ids(got), want)
		return
	}
	for i := range got {
		if a, b := got[i].content(), other[i].content(); a != b {
			w.t.Errorf("%s: frame %d is\n%s\nwant\n%s", name, i, a, b)
		}
	}
}

// maxStreams is more than a patient client needs for any of the journeys.
const maxStreams = 1000

// patient is a client that follows a task from an id to its end through any number
// of streams, answers the question, and collects each update once. One that begins
// without a stream cuts each of its streams after a single update.
func (w *world) patient(j journey, id a2a.TaskID, s *subscriber, last uint64) []frame {
	var got []frame
	cuts := s == nil
	for range maxStreams {
		if s == nil {
			var err error
			if s, err = w.reattach(j, id, last); err != nil {
				w.t.Errorf("behind %d: %v", last, err)
				return got
			}
		}
		for more := true; more; more = !cuts {
			f, err := s.update()
			if f.id == 0 && err == nil { // the task, which stands before what is missing
				f, err = s.update()
			}
			if err != nil {
				break // ended, and is resumed
			}
			if f.id <= last {
				w.t.Errorf("id %d came after %d", f.id, last)
				s.cut()
				return got
			}
			got, last = append(got, f), f.id
			if f.state().Terminal() {
				s.cut()
				return got
			}
			if f.state() == a2a.TaskStateInputRequired {
				w.answer(j, id)
			}
		}
		s.cut()
		s = nil
	}
	w.t.Errorf("after %d streams the task has not ended", maxStreams)
	return got
}

// reattach opens the next stream of a patient client: by subscribing, or by
// submitting again once the task has ended.
func (w *world) reattach(j journey, id a2a.TaskID, last uint64) (*subscriber, error) {
	s, err := w.try(http.MethodGet, "/tasks/"+string(id)+":subscribe", "", lastID(last)...)
	if refused, is := errors.AsType[*errRefused](err); is && refused.status == http.StatusBadRequest {
		return w.try(http.MethodPost, "/message:stream", j.submit, lastID(last)...)
	}
	return s, err
}

// answer replies to the open question by its number. Both clients do, with one
// message: it counts once.
func (w *world) answer(j journey, id a2a.TaskID) {
	number := 1 // the journeys ask once
	body := send("answer", j.reply, fmt.Sprintf(`,"taskId":%q,"metadata":{%q:{"pause":%d}}`, id, lifecycle.ExtensionURI, number))
	if status, err := w.call(http.MethodPost, "/message:send", body, nil); err != nil || status != http.StatusOK {
		w.t.Errorf("the answer: %d %v", status, err)
	}
}
