package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/local/systems"
)

// grantCount is how many grants a review of the shipped file finds and revokes.
const grantCount = 14

// outside is the systems under review, on loopback.
type outside struct {
	url string

	mu    sync.Mutex
	now   http.Handler
	every func(r *http.Request, act func()) bool // decides about each request; false breaks its connection
}

func newOutside(t *testing.T) *outside {
	t.Helper()
	o := &outside{every: func(_ *http.Request, act func()) bool { act(); return true }}
	o.renew(t)
	server := httptest.NewServer(o)
	t.Cleanup(server.Close)
	o.url = server.URL
	return o
}

// renew forgets all that the systems were asked so far.
func (o *outside) renew(t *testing.T) {
	t.Helper()
	fresh, err := systems.New(events.AccessReviewCSV)
	if err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = fresh
}

// meet lets every decide about each request from now on.
func (o *outside) meet(every func(r *http.Request, act func()) bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.every = every
}

// ServeHTTP implements http.Handler.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	now, every := o.now, o.every
	o.mu.Unlock()
	kept := httptest.NewRecorder()
	if !every(r, func() { now.ServeHTTP(kept, r) }) {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), kept.Header())
	w.WriteHeader(kept.Code)
	_, _ = w.Write(kept.Body.Bytes())
}

// counters is what the systems say that they were asked and did.
type counters struct {
	Fetches     map[string]int `json:"fetches"`
	Revocations map[string]struct {
		Applied int `json:"applied"`
		Repeats int `json:"repeats"`
	} `json:"revocations"`
	Totals struct {
		Fetches   int `json:"fetches"`
		Revokes   int `json:"revokes"`
		Applied   int `json:"applied"`
		Repeats   int `json:"repeats"`
		Conflicts int `json:"conflicts"`
	} `json:"totals"`
}

func (o *outside) counters() (c counters, err error) {
	o.mu.Lock()
	now := o.now
	o.mu.Unlock()
	kept := httptest.NewRecorder()
	now.ServeHTTP(kept, httptest.NewRequest(http.MethodGet, "/counters", http.NoBody))
	return c, json.Unmarshal(kept.Body.Bytes(), &c)
}

// once says what is wrong if not every revocation was applied exactly once.
func (c counters) once() error {
	var wrong []string
	for grant, n := range c.Revocations {
		if n.Applied != 1 {
			wrong = append(wrong, fmt.Sprintf("%s was applied %d times", grant, n.Applied))
		}
	}
	if len(c.Revocations) != grantCount || c.Totals.Applied != grantCount || c.Totals.Conflicts != 0 {
		wrong = append(wrong, fmt.Sprintf("%d grants revoked, %d applied, %d conflicts; want %d, %d and none", len(c.Revocations), c.Totals.Applied, c.Totals.Conflicts, grantCount, grantCount))
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}
