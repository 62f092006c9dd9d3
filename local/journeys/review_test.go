package journeys_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/local/inprocess"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/local/systems"
	"github.com/holdfast-a2a/holdfast/shared/catalog/accessreview"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Real in the review's journeys: node, door, state machine, agent, the SQLite
// ledger (with synchronous=OFF, in these runs only), the blob folder and the
// systems' server. In memory: the network. Fake: the time.

// script is how a review is driven.
type script struct {
	name   string
	answer func(number int) string // the reply's text; nil: nobody answers
	after  time.Duration           // how long the question waits
	sweep  time.Duration
}

func scripts() []script {
	all := func(int) string { return "approve all" }
	return []script{
		{name: "answered", answer: all, after: 2 * time.Second, sweep: time.Minute},
		{name: "answered a day late", answer: all, after: 24 * time.Hour, sweep: 6 * time.Hour},
		{name: "never answered", sweep: 24 * time.Hour},
	}
}

// reviewed is how a review ended.
type reviewed struct {
	state    a2a.TaskState
	report   lifecycle.Digest
	counters counters
	calls    []string // ledger, blob and outside calls of the first process
	fence    uint64
}

type counters struct {
	Fetches     map[string]int `json:"fetches"`
	Revocations map[string]struct {
		Applied int `json:"applied"`
		Repeats int `json:"repeats"`
	} `json:"revocations"`
}

// review runs one review to its end, with a crash of the first process where the
// given Crash says.
func review(t *testing.T, s script, crash *ledgertest.Crash) reviewed {
	var out reviewed
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		book, err := sqlite.Open(dir, sqlite.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = book.Close() }()
		blobs, err := sqlite.OpenBlobs(dir, sqlite.Options{NoSync: true})
		if err != nil {
			t.Fatal(err)
		}
		outside, err := systems.New(events.AccessReviewCSV)
		if err != nil {
			t.Fatal(err)
		}
		network := &crashing{inner: inprocess.Transport(func() http.Handler { return outside }), crash: crash}
		w := &world{t: t, ledger: book, blobs: blobs, sweep: s.sweep}
		w.agents = append(accessreview.New(accessreview.HTTP{BaseURL: "http://systems", Client: &http.Client{Transport: network}}), hello.Agent)
		r := &reviewer{world: w, script: s, crash: crash, network: network}
		r.first()
		task := r.drive()
		w.stop(w.node)
		out = reviewed{state: task.Status.State, report: reportDigest(t, task), calls: crash.Names(), fence: w.verify(task.ID).Fence}
		rec := httptest.NewRecorder()
		outside.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/counters", http.NoBody))
		if err := json.Unmarshal(rec.Body.Bytes(), &out.counters); err != nil {
			t.Fatal(err)
		}
	})
	return out
}

// reviewer is a patient client: it repeats what was not answered.
type reviewer struct {
	*world
	script  script
	crash   *ledgertest.Crash
	network *crashing
	second  bool
}

// first starts the process that may die.
func (r *reviewer) first() {
	faults := &ledgertest.Faults{Crash: r.crash}
	n, err := r.tryProcess(faults.Ledger(r.ledger), faults.Blobs(r.blobs))
	if err != nil && !r.crash.Crashed() {
		r.t.Fatal(err)
	}
	r.node = n
}

// next starts the process after the dead one.
func (r *reviewer) next() {
	if r.second || !r.crash.Crashed() {
		return
	}
	r.second = true
	r.stop(r.node)
	<-time.NewTimer(time.Second).C
	r.network.crash = &ledgertest.Crash{}
	r.process()
}

// patiently repeats a request until it is answered as wanted.
func (r *reviewer) patiently(method, path, body string, into any, patience time.Duration, ok func() bool) {
	r.t.Helper()
	end := time.Now().Add(patience)
	for pause := 2 * time.Second; ; pause = min(2*pause, 10*time.Minute) {
		r.next()
		status, err := r.call(method, path, body, into)
		if err == nil && status == http.StatusOK && ok() {
			return
		}
		if time.Now().After(end) {
			r.t.Fatalf("after %s: %s %s: %d %v", patience, method, path, status, err)
		}
		<-time.NewTimer(pause).C
	}
}

func (r *reviewer) drive() a2a.Task {
	var s sent
	r.patiently(http.MethodPost, "/message:send", submission(), &s, time.Hour, func() bool { return s.Task.ID != "" })
	path := "/tasks/" + string(s.Task.ID)
	var task a2a.Task
	paused := in(a2a.TaskStateInputRequired)
	r.patiently(http.MethodGet, path, "", &task, time.Hour, func() bool { return paused(task) })
	ended := func() bool { return task.Status.State.Terminal() }
	if r.script.answer == nil {
		r.wait(7*24*time.Hour + time.Minute)
		r.patiently(http.MethodGet, path, "", &task, 48*time.Hour, ended)
		return task
	}
	r.wait(r.script.after)
	number := pauseOf(task)
	body := send("answer", r.script.answer(number), fmt.Sprintf(`,"taskId":%q,"metadata":{%q:{"pause":%d}}`, task.ID, lifecycle.ExtensionURI, number))
	r.patiently(http.MethodPost, "/message:send", body, nil, time.Hour, func() bool { return true })
	r.patiently(http.MethodGet, path, "", &task, 24*time.Hour, ended)
	return task
}

// wait lets time pass, and starts the next process when the first one dies in it.
func (r *reviewer) wait(d time.Duration) {
	long := time.NewTimer(d)
	defer long.Stop()
	if !r.second {
		select {
		case <-long.C:
			return
		case <-r.crash.Done():
			r.next()
		}
	}
	<-long.C
}

func pauseOf(t a2a.Task) int {
	own, _ := t.Metadata[lifecycle.ExtensionURI].(map[string]any)
	n, _ := own["pause"].(float64)
	return int(n)
}

// submission is the shipped file, padded with a column that nobody reads so that
// it goes through the blob store.
func submission() string {
	padded := bytes.ReplaceAll(events.AccessReviewCSV, []byte("\n"), []byte(",ignored-by-everybody\n"))
	return fmt.Sprintf(`{"message":{"messageId":"q3","role":"ROLE_USER","parts":[{"text":"Review access for Q3 2026"},{"raw":%q,"mediaType":"text/csv","filename":"grants.csv"}]},"configuration":{"returnImmediately":true}}`,
		base64.StdEncoding.EncodeToString(padded))
}

// reportDigest is the digest of what the report says.
func reportDigest(t *testing.T, task a2a.Task) lifecycle.Digest {
	t.Helper()
	var parts [][]byte
	for _, a := range task.Artifacts {
		for _, p := range a.Parts {
			content, err := lifecycle.PartContent(p)
			if err != nil {
				t.Fatal(err)
			}
			parts = append(parts, []byte(a.ID), content)
		}
	}
	return lifecycle.DigestBytes(bytes.Join(parts, []byte{0}))
}

// crashing lets a process die before and after each call of the outside world.
type crashing struct {
	inner http.RoundTripper
	crash *ledgertest.Crash
}

// RoundTrip implements http.RoundTripper.
func (c *crashing) RoundTrip(r *http.Request) (*http.Response, error) {
	crash := c.crash
	if err := crash.Point("before " + r.Method); err != nil {
		return nil, err
	}
	resp, err := c.inner.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if dead := crash.Point("after " + r.Method); dead != nil {
		return nil, dead
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, err
}
