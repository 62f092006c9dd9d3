package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// hook is a receiver of webhooks. It refuses what comes while it is down.
type hook struct {
	url string

	mu    sync.Mutex
	down  bool
	tries int
	ids   map[string]bool // of what was refused
	taken []delivered
}

type delivered struct {
	id, state, authorization string
	seq                      uint64
}

func newHook(t *testing.T, down bool) *hook {
	h := &hook{down: down, ids: map[string]bool{}}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var update struct {
		StatusUpdate struct{ Status struct{ State string } } `json:"statusUpdate"`
	}
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &update)
	}
	seq, noSeq := strconv.ParseUint(r.Header.Get("Holdfast-Sequence"), 10, 64)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries++
	id := r.Header.Get("webhook-id")
	if h.down || err != nil || noSeq != nil {
		h.ids[id] = true
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	h.taken = append(h.taken, delivered{id, update.StatusUpdate.Status.State, r.Header.Get("Authorization"), seq})
}

func (h *hook) seen() (tries int, taken []delivered) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tries, slices.Clone(h.taken)
}

// feedOften is the mapping of the stream, for as long as the test runs.
func (s *stack) feedOften() {
	f := newFeeder(s)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if err := f.feed(ctx); err != nil && ctx.Err() == nil {
				s.Errorf("the stream: %v", err)
			}
		}
	}()
	s.Cleanup(func() {
		stop()
		<-done
	})
}

// A webhook that came with the submission gets every update, in order and under ids
// that stay, by the stream function; one that is down at first gets them by the sweep,
// when it is up again. Neither changes the task (I11; cases 51, 54 and 67).
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{env: []string{"HOLDFAST_WEBHOOK_NETWORKS=127.0.0.0/8"}})
	s.feedOften()
	up, late := newHook(t, false), newHook(t, true)
	submit := func(id string, h *hook) a2a.TaskID {
		task, err := send(t.Context(), s.url, fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"count 2"}]},"configuration":{"returnImmediately":true,
			"taskPushNotificationConfig":{"url":%q,"authentication":{"scheme":"Bearer","credentials":"of-%s"}}}}`, id, h.url, id))
		if err != nil {
			t.Fatal(err)
		}
		return task.ID
	}
	tasks := map[*hook]a2a.TaskID{up: submit("up", up), late: submit("late", late)}
	until(t, "the receiver that is down was tried", func() (bool, string) {
		n, _ := late.seen()
		return n > 0, fmt.Sprintf("%d tries", n)
	})
	late.mu.Lock()
	late.down = false
	late.mu.Unlock()
	for h, id := range tasks {
		until(t, "the end was delivered", func() (bool, string) {
			_, taken := h.seen()
			return len(taken) > 0 && taken[len(taken)-1].state == string(a2a.TaskStateCompleted), fmt.Sprintf("%d updates", len(taken))
		})
		entries, err := verify(t.Context(), s.auth, refTo(id))
		if err != nil {
			t.Error(err)
		}
		want, err := entries.visible()
		if err != nil {
			t.Fatal(err)
		}
		_, taken := h.seen()
		var got []uint64
		for _, d := range taken {
			got = append(got, d.seq)
			if !strings.HasPrefix(d.authorization, "Bearer of-") {
				t.Errorf("Authorization %q", d.authorization)
			}
		}
		if !slices.Equal(got, want) || entries.State != lifecycle.Completed {
			t.Errorf("the receiver took the updates %v, callers see %v", got, want)
		}
		if h == late && !h.ids[taken[0].id] {
			t.Errorf("the first update was refused under %v and taken under %s", h.ids, taken[0].id)
		}
	}
}
