package receiver_test

// The receiver is real, with its file and its HTTP client; the sender signs as Holdfast
// does, and time is a variable. What may be asserted: the answers, and what is stored.

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/events/receiver"
)

// Whatever is not signed by the deployment, now, for us, is refused and not stored.
func TestRefuses(t *testing.T) {
	d := newDeployment(t)
	reseal := func(s sent, text string) sent { return d.signed(s.Header.Get("webhook-id"), 7, []byte(text)) }
	for _, c := range []struct {
		name  string
		want  int
		spoil func(s sent) sent
	}{
		{"another key", 401, func(sent) sent { return d.update("T", 7, key(9)) }},
		{"another body", 401, func(s sent) sent { s.body[20]++; return s }},
		{"half a body", 401, func(s sent) sent { s.body = s.body[:len(s.body)/2]; return s }},
		{"no body", 401, func(s sent) sent { s.body = nil; return s }},
		{"another id", 401, func(s sent) sent { s.Header.Set("webhook-id", "msg_other"); return s }},
		{"another time", 401, func(s sent) sent { s.Header.Set("webhook-timestamp", fmt.Sprint(began.Unix()+1)); return s }},
		{"signed too long ago", 401, func(s sent) sent { return d.at(-receiver.Tolerance - time.Second) }},
		{"signed ahead", 401, func(s sent) sent { return d.at(receiver.Tolerance + time.Second) }},
		{"no time", 401, func(s sent) sent { s.Header.Set("webhook-timestamp", "now"); return s }},
		{"the end of time", 401, func(s sent) sent { s.Header.Set("webhook-timestamp", "9223372036854775807"); return s }},
		{"no signature", 401, func(s sent) sent { s.Header.Del("webhook-signature"); return s }},
		{"no id", 401, func(s sent) sent { s.Header.Del("webhook-id"); return s }},
		{"two ids", 401, func(s sent) sent { s.Header.Add("webhook-id", "msg_other"); return s }},
		{"two times", 401, func(s sent) sent { s.Header.Add("webhook-timestamp", s.Header.Get("webhook-timestamp")); return s }},
		{"an id with a dot", 401, func(s sent) sent { return d.signed("msg.7", 7, s.body) }},
		{"a long id", 401, func(s sent) sent { return d.signed(strings.Repeat("m", 257), 7, s.body) }},
		{"the symmetric kind", 401, func(s sent) sent {
			s.Header.Set("webhook-signature", "v1"+strings.TrimPrefix(s.Header.Get("webhook-signature"), "v1a"))
			return s
		}},
		{"half a signature", 401, func(s sent) sent {
			v := s.Header.Get("webhook-signature")
			s.Header.Set("webhook-signature", v[:len(v)-8])
			return s
		}},
		{"too many signatures", 401, func(s sent) sent {
			other := "v1a," + base64.StdEncoding.EncodeToString(make([]byte, ed25519.SignatureSize)) + " "
			s.Header.Set("webhook-signature", strings.Repeat(other, 8)+s.Header.Get("webhook-signature"))
			return s
		}},
		{"another token", 401, func(s sent) sent { s.Header.Set("A2A-Notification-Token", token+"x"); return s }},
		{"no token", 401, func(s sent) sent { s.Header.Del("A2A-Notification-Token"); return s }},
		{"another sequence beside what is signed", 400, func(s sent) sent { s.Header.Set("Holdfast-Sequence", "99"); return s }},
		{"no sequence beside it", 400, func(s sent) sent { s.Header.Del("Holdfast-Sequence"); return s }},
		{"signed, and no JSON", 400, func(s sent) sent { return reseal(s, "hello") }},
		{"signed, and no update", 400, func(s sent) sent { return reseal(s, `{}`) }},
		{"signed, and no sequence", 400, func(sent) sent { return d.signed("msg_0", 0, []byte(`{"statusUpdate":{"taskId":"T"}}`)) }},
		{"signed, and no task", 400, func(s sent) sent { return reseal(s, strings.ReplaceAll(string(s.body), "taskId", "id")) }},
		{"signed, and two updates", 400, func(s sent) sent {
			return reseal(s, strings.TrimSuffix(string(s.body), "}")+strings.Replace(string(s.body), `{"statusUpdate"`, `,"artifactUpdate"`, 1))
		}},
		{"more than an update", 413, func(s sent) sent { s.body = make([]byte, 1<<20+1); return s }},
		{"a GET", 405, func(s sent) sent { s.Method = http.MethodGet; return s }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := d.send(c.spoil(d.update("T", 7))); got != c.want {
				t.Errorf("answered %d, want %d", got, c.want)
			}
		})
	}
	d.wantStored("")
	d.want(d.update("T", 7), 204)
	d.wantStored("T:7")
}

// at is an update that was signed then.
func (d *deployment) at(off time.Duration) sent {
	d.pass(off)
	defer d.pass(-off)
	return d.update("T", 7)
}

// Case 51: an update is stored once, however often it is sent. Case 52: the updates of
// a task are stored in order, also when somebody sends them in another one.
func TestOnceAndInOrder(t *testing.T) {
	d := newDeployment(t)
	for _, seq := range []uint64{1, 1, 2, 5, 2, 1, 5, 4, 6} { // 3 is an entry that callers do not see
		d.want(d.update("T", seq), 204)
	}
	d.want(d.update("U", 2), 204)
	again := d.signed("msg_of-another-endpoint", 6, d.update("T", 6).body) // of the same task
	d.want(again, 204)
	d.wantStored("T:1 T:2 T:5 T:6 U:2")
	d.open()
	d.want(d.update("T", 6), 204)
	d.want(d.update("T", 7), 204)
	d.want(d.update("U", 1), 204)
	d.wantStored("T:1 T:2 T:5 T:6 U:2 T:7")
}

func TestTold(t *testing.T) {
	d := newDeployment(t)
	var told []string
	d.handler.Told = func(u receiver.Update, o receiver.Outcome, err error) {
		told = append(told, fmt.Sprintf("%s %d %s %s %v", u.Task, u.Sequence, u.State, o, err != nil))
	}
	d.send(d.update("T", 2))
	d.send(d.update("T", 2))
	d.send(d.update("T", 1))
	d.send(d.update("T", 3, key(9)))
	want := []string{"T 2 TASK_STATE_WORKING taken false", "T 2 TASK_STATE_WORKING repeat false", "T 1 TASK_STATE_WORKING late false", " 0   true"}
	if fmt.Sprint(told) != fmt.Sprint(want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// The same update, many times at once: one is stored, all are acknowledged.
func TestAtOnce(t *testing.T) {
	d := newDeployment(t)
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			if code := d.send(d.update("T", 1)); code != 204 {
				t.Errorf("answered %d", code)
			}
		})
	}
	all.Wait()
	d.wantStored("T:1")
	if n := d.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// storing is a Store that wants to be left its time.
type storing func(ctx context.Context) error

// Take implements receiver.Store.
func (s storing) Take(ctx context.Context, _ receiver.Update) (receiver.Outcome, error) {
	return receiver.Taken, s(ctx)
}

// A sender that has gone away meanwhile does not break off what is being stored.
func TestSenderGoesAway(t *testing.T) {
	d := newDeployment(t)
	ctx, stop := context.WithCancel(t.Context())
	d.handler.Store = storing(func(ctx context.Context) error {
		stop()
		return ctx.Err()
	})
	s := d.update("T", 1)
	r := s.Clone(ctx)
	r.Body = io.NopCloser(bytes.NewReader(s.body))
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if ctx.Err() == nil || w.Code != http.StatusNoContent {
		t.Errorf("answered %d", w.Code)
	}
}

// A body that is cut off on the wire.
func TestCutOff(t *testing.T) {
	d := newDeployment(t)
	server := httptest.NewServer(d.handler)
	defer server.Close()
	s := d.update("T", 1)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	var head strings.Builder
	_ = s.Header.Write(&head)
	fmt.Fprintf(conn, "POST /hook HTTP/1.1\r\nHost: a\r\n%sContent-Length: %d\r\n\r\n%s", head.String(), len(s.body), s.body[:len(s.body)-1])
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(answer), " 400 ") {
		t.Errorf("answered %q, %v", answer, err)
	}
	d.wantStored("")
}

// A key is replaced in three steps: the next one is published, both sign, the old one is
// dropped. No update is refused meanwhile, and the old key is not believed for ever.
func TestRotation(t *testing.T) {
	d := newDeployment(t)
	d.want(d.update("T", 1), 204)
	d.publish(false, key(1), key(2))
	d.want(d.update("T", 2), 204)
	d.want(d.update("T", 3, key(1), key(2)), 204)
	d.want(d.update("T", 4, key(2), key(1)), 204)
	if n := d.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times before one was missing", n)
	}
	d.publish(false, key(2))
	d.pass(time.Minute)
	d.want(d.update("T", 5, key(2)), 204) // not known yet
	if n := d.fetched(); n != 2 {
		t.Errorf("the keys were fetched %d times, want once more", n)
	}
	d.want(d.update("T", 6, key(1)), 401)
	d.wantStored("T:1 T:2 T:3 T:4 T:5")
}

// A key that is withdrawn is believed for an hour at most.
func TestWithdrawnKey(t *testing.T) {
	d := newDeployment(t)
	d.want(d.update("T", 1), 204)
	d.publish(false, key(2))
	d.pass(59 * time.Minute)
	d.want(d.update("T", 2), 204)
	d.pass(time.Minute)
	d.want(d.update("T", 3), 401)
}

// Strangers who send nonsense do not make us call, and do not keep the others out.
func TestNonsense(t *testing.T) {
	d := newDeployment(t)
	d.want(d.update("T", 1), 204)
	d.pass(time.Minute)
	for range 1000 {
		d.want(d.update("T", 2, key(9)), 401)
	}
	if n := d.fetched(); n != 2 {
		t.Errorf("the keys were fetched %d times", n)
	}
	d.want(d.update("T", 2), 204)
}

// While the keys cannot be had nothing is believed and nothing refused for good.
func TestKeysAway(t *testing.T) {
	d := newDeployment(t)
	d.publish(true, key(1))
	for range 10 {
		d.want(d.update("T", 1), 503)
	}
	if n := d.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times in no time", n)
	}
	d.publish(false) // none of the published ones can be used
	d.pass(2 * time.Second)
	d.want(d.update("T", 1), 503)
	d.publish(false, key(1))
	d.pass(2 * time.Second)
	d.want(d.update("T", 1), 204)
	d.publish(true, key(1))
	d.pass(30 * time.Minute)
	d.want(d.update("T", 2), 204) // known already
	d.want(d.update("T", 3, key(2)), 503)
	d.pass(30 * time.Minute)
	d.want(d.update("T", 3), 503)
	d.wantStored("T:1 T:2")
}

// Whoever can change the keys on their way can sign.
func TestKeysAt(t *testing.T) {
	for address, good := range map[string]bool{
		"https://a.example/.well-known/webhook-keys.json": true, "http://127.0.0.1:8080/k": true, "http://localhost/k": true, "http://[::1]:1/k": true,
		"http://a.example/k": false, "http://10.0.0.1/k": false, "ftp://127.0.0.1/k": false, "/k": false, "https://": false, "https://exa mple/": false,
	} {
		if _, err := receiver.KeysAt(address, time.Now); (err == nil) != good {
			t.Errorf("%s: %v", address, err)
		}
	}
	inner := newDeployment(t)
	other := httptest.NewServer(inner)
	defer other.Close()
	elsewhere := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer elsewhere.Close()
	d := newDeployment(t)
	var err error
	if d.handler.Keys, err = receiver.KeysAt(elsewhere.URL, d.clock); err != nil {
		t.Fatal(err)
	}
	d.want(d.update("T", 1), 503)
	if n := inner.fetched(); n != 0 {
		t.Errorf("a redirect was followed %d times", n)
	}
}
