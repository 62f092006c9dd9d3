package playground_test

// The playground and its store are real, the requests go over HTTP; the sender is the
// test, which signs as Holdfast does.

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/events/receiver"
	"github.com/holdfast-a2a/holdfast/local/playground"
)

var signing = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

type world struct {
	t     *testing.T
	url   string
	inbox *receiver.Inbox
	came  chan struct{} // one for each request

	mu   sync.Mutex
	told []string
}

func open(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, came: make(chan struct{}, 1000)}
	publisher := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		public, _ := signing.Public().(ed25519.PublicKey)
		_, _ = fmt.Fprintf(w, `{"keys":["whpk_%s"]}`, base64.StdEncoding.EncodeToString(public))
	}))
	t.Cleanup(publisher.Close)
	keys, err := receiver.KeysAt(publisher.URL, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	if w.inbox, err = receiver.OpenInbox(t.TempDir() + "/inbox.ndjson"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.inbox.Close() })
	server := httptest.NewServer(playground.New(playground.Config{Keys: keys, Store: w.inbox, Now: time.Now, Tell: w.tell}))
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

func (w *world) tell(r playground.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, line, _ := strings.Cut(playground.Line(r), "  ")
	w.told = append(w.told, line)
	w.came <- struct{}{}
}

func (w *world) last() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.told[len(w.told)-1]
}

// send is an attempt at an update of task T.
func (w *world) send(ctx context.Context, seq int) (*http.Response, error) {
	body := fmt.Sprintf(`{"statusUpdate":{"taskId":"T","status":{"state":"TASK_STATE_WORKING"},"metadata":{"urn:holdfast:a2a:durable-task:v1":{"sequence":%d}}}}`, seq)
	id, stamp := fmt.Sprint("msg_", seq), strconv.FormatInt(time.Now().Unix(), 10)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url+"/hook", strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	for name, value := range map[string]string{
		"webhook-id": id, "webhook-timestamp": stamp, "Holdfast-Sequence": strconv.Itoa(seq),
		"webhook-signature": "v1a," + base64.StdEncoding.EncodeToString(ed25519.Sign(signing, []byte(id+"."+stamp+"."+body))),
	} {
		r.Header.Set(name, value)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	if err == nil {
		_ = resp.Body.Close()
	}
	return resp, err
}

func (w *world) status(seq int) int {
	w.t.Helper()
	resp, err := w.send(w.t.Context(), seq)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = resp.Body.Close()
	return resp.StatusCode
}

func (w *world) ask(method, path, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.url+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func (w *world) fail(words string) {
	w.t.Helper()
	if code, text := w.ask(http.MethodPost, "/fail", words); code != http.StatusOK {
		w.t.Fatalf("%q: %d %s", words, code, text)
	}
}

func (w *world) stored() int {
	w.t.Helper()
	list, err := w.inbox.Updates()
	if err != nil {
		w.t.Fatal(err)
	}
	return len(list)
}

// Each word is what becomes of one request, and of that one alone.
func TestWords(t *testing.T) {
	w := open(t)
	w.fail("500 429/30 302\nok")
	for i, want := range []struct {
		status              int
		retry, where, about string
	}{
		{500, "", "", "webhook made to fail: 500"}, {429, "30", "", "webhook made to fail: 429"}, {302, "", "/moved", "webhook made to fail: 302"},
		{204, "", "", "webhook T    1  working          taken"}, {204, "", "", "webhook T    1  working          repeat, stored before under msg_1"},
	} {
		resp, err := w.send(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		h := resp.Header
		if resp.StatusCode != want.status || h.Get("Retry-After") != want.retry || h.Get("Location") != want.where || w.last() != want.about {
			t.Errorf("request %d: %d %v, told %q", i+1, resp.StatusCode, h, w.last())
		}
	}
	if n := w.stored(); n != 1 {
		t.Errorf("%d updates are stored", n)
	}
}

// No answer, a broken connection, and a lost answer, after which the update is there.
func TestNoAnswer(t *testing.T) {
	w := open(t)
	w.fail("hang reset lost")
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-w.came // it hangs
		stop()
	}()
	if _, err := w.send(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("hang: %v", err)
	}
	for _, word := range []string{"reset", "lost"} {
		if _, err := w.send(t.Context(), 1); err == nil {
			t.Errorf("%s: an answer", word)
		}
		if n := w.stored(); (n == 1) != (word == "lost") {
			t.Errorf("%s: %d updates are stored", word, n)
		}
	}
	if code := w.status(1); code != http.StatusNoContent || !strings.Contains(w.last(), "repeat") {
		t.Errorf("again: %d, %s", code, w.last())
	}
}

func TestPlan(t *testing.T) {
	w := open(t)
	for _, words := range []string{"600", "199", "x", "500/x", "500/-1", "500/99999999999", "500 hang stop", strings.Repeat("500 ", 1001), strings.Repeat("5", 20_000)} {
		if code, _ := w.ask(http.MethodPost, "/fail", words); code != http.StatusBadRequest {
			t.Errorf("%.20q: %d", words, code)
		}
	}
	w.fail("500 500")
	if _, text := w.ask(http.MethodPost, "/fail", "reset"); text != "{\"planned\":3}\n" {
		t.Errorf("planned %s", text)
	}
	if _, text := w.ask(http.MethodPost, "/fail", ""); text != "{\"planned\":0}\n" {
		t.Errorf("forgotten %s", text)
	}
	if code := w.status(2); code != http.StatusNoContent {
		t.Errorf("a forgotten word was kept: %d", code)
	}
	if code, _ := w.ask(http.MethodGet, "/hook", ""); code != http.StatusMethodNotAllowed {
		t.Errorf("a GET: %d", code)
	}
}

// What was received is remembered, also what was refused, and not without end.
func TestReceived(t *testing.T) {
	w := open(t)
	received := func() (out []playground.Request) {
		_, text := w.ask(http.MethodGet, "/received", "")
		var list struct{ Received []playground.Request }
		if err := json.Unmarshal([]byte(text), &list); err != nil || list.Received == nil {
			t.Fatalf("%s: %v", text, err)
		}
		return list.Received
	}
	if n := len(received()); n != 0 {
		t.Errorf("%d requests before the first", n)
	}
	w.status(2)
	w.status(1)
	if code, _ := w.ask(http.MethodPost, "/hook", "{}"); code != http.StatusUnauthorized {
		t.Errorf("an unsigned request: %d", code)
	}
	got := received()
	if len(got) != 3 || got[0].Task != "T" || got[0].Outcome != receiver.Taken || got[1].Outcome != receiver.Late || got[2].Refused == "" {
		t.Errorf("received %+v", got)
	}
	for range 250 {
		w.status(1)
	}
	if got := received(); len(got) != 200 || got[0].Outcome != receiver.Late {
		t.Errorf("%d requests are remembered", len(got))
	}
}
