package journeys_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// acts is where TestWebhookActs writes what came of each act, for local/webhooks.
var acts = flag.String("acts", "", "folder for records of the webhook acts")

// The webhooks of these tests go over real connections to a server that stands outside
// the bubble: while a request is on the wire, the bubble's time stands still.

// tried is one attempt, as a receiver saw it.
type tried struct {
	At     int64  `json:"at"` // seconds since the task was submitted, by webhook-timestamp
	Seq    uint64 `json:"seq"`
	ID     string `json:"id"`
	Status int    `json:"status"`

	state string // of a status update
}

// listener is a receiver of webhooks that can be away.
type listener struct {
	t       *testing.T
	address string
	server  *http.Server
	// answer is what the nth request (from 1) gets; nil: 200.
	answer func(n int, w http.ResponseWriter) int
	// opening has it opened by somebody outside the bubble, in which time would stand still
	// while it waits for a connection; opened is when it is.
	opening, opened chan struct{}

	mu    sync.Mutex
	tries []tried
}

func newListener(t *testing.T, answer func(int, http.ResponseWriter) int) *listener {
	v := &listener{t: t, answer: answer, opening: make(chan struct{}), opened: make(chan struct{})}
	go func() {
		for range v.opening {
			v.open()
			v.opened <- struct{}{}
		}
	}()
	t.Cleanup(func() {
		close(v.opening)
		_ = v.server.Close()
	})
	v.open()
	return v
}

// reopen opens it from within a bubble.
func (v *listener) reopen() {
	v.opening <- struct{}{}
	<-v.opened
}

func (v *listener) open() {
	v.t.Helper()
	address := v.address
	if address == "" {
		address = "127.0.0.1:0"
	}
	l, err := (&net.ListenConfig{}).Listen(v.t.Context(), "tcp", address)
	if err != nil {
		v.t.Fatal(err)
	}
	v.address = l.Addr().String()
	v.server = &http.Server{Handler: v, ReadHeaderTimeout: time.Minute}
	go func(s *http.Server) { _ = s.Serve(l) }(v.server)
}

// ServeHTTP implements http.Handler.
func (v *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		StatusUpdate struct{ Status struct{ State string } }
	}
	err := json.NewDecoder(r.Body).Decode(&body)
	seq, noSeq := strconv.ParseUint(r.Header.Get("Holdfast-Sequence"), 10, 64)
	at, noTime := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
	v.mu.Lock()
	defer v.mu.Unlock()
	if err != nil || noSeq != nil || noTime != nil {
		v.t.Errorf("a request with the headers %v: %v", r.Header, err)
	}
	one := tried{At: at, Seq: seq, ID: r.Header.Get("Webhook-Id"), Status: http.StatusOK, state: body.StatusUpdate.Status.State}
	if v.answer != nil {
		one.Status = v.answer(len(v.tries)+1, w)
	}
	v.tries = append(v.tries, one)
	w.WriteHeader(one.Status)
}

func (v *listener) seen() []tried {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.tries)
}

// answers gives these statuses, then 200.
func answers(codes ...int) func(int, http.ResponseWriter) int {
	return func(n int, w http.ResponseWriter) int {
		if n > len(codes) {
			return http.StatusOK
		}
		if code := codes[n-1]; code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7200")
		}
		return codes[n-1]
	}
}

// webhookAct is a story of a task with one webhook.
type webhookAct struct {
	name   string
	answer func(int, http.ResponseWriter) int
	// away: nobody listens when the task begins, until the story says otherwise.
	away  bool
	story func(a *staged)
	// want is what became of the attempts, in order; shows is the state of the endpoint.
	want  []int
	shows ledger.DeliveryState
	// most is within how long after the task was submitted everything has happened.
	least, most time.Duration
}

// staged is an act that is played.
type staged struct {
	*world
	*listener

	began time.Time
	task  a2a.TaskID
}

// deliveredTo waits until the endpoint has everything, or takes no more.
func (a *staged) deliveredTo(patience time.Duration) ledger.Delivery {
	a.world.t.Helper()
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: a.task}
	for began := time.Now(); ; {
		e, err := a.ledger.Endpoint(a.world.t.Context(), ref, "hook")
		if err != nil {
			a.world.t.Fatal(err)
		}
		h, err := a.ledger.Head(a.world.t.Context(), ref)
		if err != nil {
			a.world.t.Fatal(err)
		}
		if d := e.Delivery; d.State != ledger.DeliveryActive || h.Terminal() && d.Idle() && d.Cursor == h.Seq {
			return d
		}
		passed := time.Since(began)
		if passed > patience {
			a.world.t.Fatalf("after %s the endpoint is %+v", passed, e.Delivery)
		}
		<-time.NewTimer(max(time.Second, passed/100)).C
	}
}

const day = 24 * time.Hour

// webhookActs take more time than a test has. A task of "count 2" has five updates.
var webhookActs = []webhookAct{
	{
		name: "500, 500, 200", answer: answers(500, 500),
		want: []int{500, 500, 200, 200, 200, 200, 200}, least: 32 * time.Second, most: 67 * time.Second,
	}, {
		name: "429 with Retry-After: 7200", answer: answers(429),
		want: []int{429, 200, 200, 200, 200, 200}, least: 2 * time.Hour, most: 2*time.Hour + 13*time.Minute,
	}, {
		name: "410", answer: answers(410),
		want: []int{410}, shows: ledger.DeliveryDisabled, most: 10 * time.Second,
	}, {
		name: "down for a day", away: true,
		story: func(a *staged) {
			<-time.NewTimer(day).C
			a.reopen()
		},
		want: []int{200, 200, 200, 200, 200}, least: day, most: 2 * day,
	}, {
		name: "down for ever, given up", away: true,
		want: nil, shows: ledger.DeliveryGivenUp, least: 30 * time.Hour, most: 72 * time.Hour,
	}, {
		name: "given up, then configured anew", away: true,
		story: func(a *staged) {
			if d := a.deliveredTo(4 * day); d.State != ledger.DeliveryGivenUp {
				a.world.t.Errorf("after the ladder: %+v", d)
			}
			a.reopen()
			a.must(http.MethodPost, "/tasks/"+string(a.task)+"/pushNotificationConfigs", fmt.Sprintf(`{"id":"hook","url":"http://%s/"}`, a.address), nil)
			<-time.NewTimer(time.Minute).C
		},
		want: []int{200, 200, 200, 200, 200}, least: 30 * time.Hour, most: 72 * time.Hour,
	}, {
		name: "given up, then replayed by an operator", away: true,
		story: func(a *staged) {
			a.deliveredTo(4 * day)
			a.reopen()
			a.must(http.MethodPost, "/tasks/"+string(a.task)+"/pushNotificationConfigs/hook/replay", "{}", nil)
			<-time.NewTimer(time.Minute).C
		},
		want: []int{200, 200, 200, 200, 200}, least: 30 * time.Hour, most: 72 * time.Hour,
	}, {
		name: "the server is gone for a day", answer: answers(500),
		story: func(a *staged) {
			<-time.NewTimer(time.Second).C // with one failed attempt
			a.stop(a.node)
			<-time.NewTimer(day).C
			a.process()
		},
		want: []int{500, 200, 200, 200, 200, 200}, least: day, most: day + 20*time.Second,
	},
}

// Cases 51, 52, 59: what becomes of a receiver that fails, for as long as it takes.
// Fake is the time; real are the server with all its parts, and the connections.
func TestWebhookActs(t *testing.T) {
	for _, one := range webhookActs {
		t.Run(one.name, func(t *testing.T) {
			v := newListener(t, one.answer)
			if one.away {
				_ = v.server.Close()
			}
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, hello.Agent)
				w.guard = webhook.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowHTTP: true}
				w.ring = keyring.New(&keyring.Memory{})
				w.process()
				defer func() { w.stop(w.node) }()
				a := &staged{world: w, listener: v, began: time.Now()}
				var s sent
				w.must(http.MethodPost, "/message:send", fmt.Sprintf(`{"message":{"messageId":"m","role":"ROLE_USER","parts":[{"text":"count 2"}]},"configuration":{"returnImmediately":true,
					"taskPushNotificationConfig":{"id":"hook","url":"http://%s/"}}}`, v.address), &s)
				a.task = s.Task.ID
				if one.story != nil {
					one.story(a)
				}
				d := a.deliveredTo(4 * day)
				w.until("", a.task, time.Hour, in(a2a.TaskStateCompleted))
				a.check(one, d)
			})
		})
	}
}

// check holds what came of an act against what was wanted, and writes it down.
func (a *staged) check(one webhookAct, d ledger.Delivery) {
	t := a.world.t
	tries, last := a.seen(), time.Since(a.began)
	var statuses []int
	var taken []uint64
	ids := map[uint64]string{}
	for i := range tries {
		r := &tries[i]
		r.At -= a.began.Unix()
		statuses = append(statuses, r.Status)
		if r.Status == http.StatusOK {
			taken = append(taken, r.Seq)
		}
		if id := ids[r.Seq]; id != "" && id != r.ID {
			t.Errorf("update %d came under %s and %s", r.Seq, id, r.ID)
		}
		ids[r.Seq] = r.ID
	}
	visible := a.visible(lifecycle.Ref{Tenant: node.Tenant, Task: a.task})
	if !slices.Equal(statuses, one.want) || d.State != one.shows || last < one.least || last > one.most {
		t.Errorf("answered %v in %s, and is %q; want %v in %s to %s, and %q", statuses, last, d.State, one.want, one.least, one.most, one.shows)
	}
	if one.shows == ledger.DeliveryActive && !slices.Equal(taken, visible) {
		t.Errorf("took %v, callers see %v", taken, visible)
	}
	if *acts == "" {
		return
	}
	exported := a.exported(a.task)
	record, err := json.Marshal(struct {
		Name    string   `json:"name"`
		Tries   []tried  `json:"tries"`
		Visible []uint64 `json:"visible"`
		Shows   string   `json:"shows"`
	}{one.name, tries, visible, string(one.shows)})
	if err != nil {
		t.Fatal(err)
	}
	for end, content := range map[string][]byte{".json": record, ".ndjson": exported} {
		if err := os.WriteFile(filepath.Join(*acts, string(a.task)+end), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// exported is what an operator is given of a task.
func (w *world) exported(id a2a.TaskID) []byte {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodGet, base+"/tasks/"+string(id)+"/export", http.NoBody)
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		w.t.Fatalf("%d %s %v", resp.StatusCode, text, err)
	}
	return text
}
