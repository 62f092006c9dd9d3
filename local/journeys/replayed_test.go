package journeys_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// inbox is a receiver of webhooks in this process.
type inbox struct {
	mu    sync.Mutex
	got   []map[string]any // what was taken, without its frame
	at    []time.Time
	codes []int // answers to the first ones
}

// RoundTrip implements http.RoundTripper.
func (i *inbox) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	code := http.StatusOK
	if len(i.codes) > 0 {
		code, i.codes = i.codes[0], i.codes[1:]
	}
	if code == http.StatusOK {
		var body map[string]map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil || len(body) != 1 {
			return nil, fmt.Errorf("a body with %d members: %w", len(body), err)
		}
		for _, update := range body {
			i.got, i.at = append(i.got, update), append(i.at, time.Now())
		}
	}
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// last is the last update that was taken, and when.
func (i *inbox) last(t *testing.T) (state string, seq float64, at time.Time) {
	t.Helper()
	i.mu.Lock()
	defer i.mu.Unlock()
	if len(i.got) == 0 {
		t.Fatal("nothing was delivered")
	}
	n := len(i.got) - 1
	status, _ := i.got[n]["status"].(map[string]any)
	state, _ = status["state"].(string)
	metadata, _ := i.got[n]["metadata"].(map[string]any)
	for _, own := range metadata {
		seq, _ = own.(map[string]any)["sequence"].(float64)
	}
	return state, seq, i.at[n]
}

// hooked submits with a webhook.
func hooked(id, text string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":true,"taskPushNotificationConfig":{"url":"https://hook.example/"}}}`, id, text)
}

// panicker is an agent with a fault.
func panicker() *agent.Agent {
	return agent.New("panicker", 1, agent.Step[note]{Name: "fall", Run: func(context.Context, *agent.Task[note]) (agent.Next, error) {
		panic("a fault of the agent's")
	}}).KeyedByMessageID()
}

// However a task ends, a stream that is open, the webhook and the task itself tell the same
// end under the same sequence: when it is done and its caller has gone after the first
// event (case 16), when a question's answer was dropped and its deadline comes (case 29),
// when it is canceled while it waits, and when its agent falls over each time (case 37).
func TestEveryEndIsDelivered(t *testing.T) {
	for name, c := range map[string]struct {
		agent *agent.Agent
		do    func(w *world, id a2a.TaskID)
		want  a2a.TaskState
		after time.Duration // of its submission; 0: whenever
	}{
		"its caller has gone": {slow(), func(*world, a2a.TaskID) {}, a2a.TaskStateCompleted, 20 * time.Second},
		"a dropped answer":    {authorizer(), func(*world, a2a.TaskID) {}, a2a.TaskStateFailed, 10 * time.Minute},
		"canceled": {authorizer(), func(w *world, id a2a.TaskID) {
			<-time.NewTimer(time.Minute).C
			w.must(http.MethodPost, "/tasks/"+string(id)+":cancel", "", nil)
		}, a2a.TaskStateCanceled, time.Minute},
		"its agent falls over": {panicker(), func(*world, a2a.TaskID) {}, a2a.TaskStateFailed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, hook := newWorld(t, c.agent), &inbox{codes: []int{http.StatusServiceUnavailable}}
				w.hooks = &http.Client{Transport: hook}
				n := w.process()
				defer w.stop(n)
				began := time.Now()
				first := w.stream(http.MethodPost, "/message:stream", hooked("m", "20"))
				submitted, err := first.update()
				if err != nil {
					t.Fatal(err)
				}
				first.cut() // after the first event, as if the network had gone
				id := taskOf(submitted)
				s := w.subscribe(id, 0)
				go c.do(w, id)
				var last frame
				for {
					f, err := s.update()
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					last = f
				}
				<-time.NewTimer(10 * time.Second).C // for the first attempt, which was refused
				state, seq, at := hook.last(t)
				task := w.task("", id)
				if state != string(c.want) || last.state() != c.want || task.Status.State != c.want {
					t.Errorf("the webhook says %s, the stream %s, the task %s; want %s", state, last.state(), task.Status.State, c.want)
				}
				if own := ownOf(&task)["sequence"]; own != seq || float64(last.id) != seq {
					t.Errorf("the webhook's sequence is %v, the stream's %d, the task's %v", seq, last.id, own)
				}
				if took := at.Sub(began); c.after > 0 && (took < c.after || took > c.after+10*time.Second) {
					t.Errorf("it came after %s, want %s", took, c.after)
				}
				w.verify(id)
			})
		})
	}
}
