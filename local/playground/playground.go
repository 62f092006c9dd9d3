package playground

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/events/receiver"
)

// Config is what a playground is made of.
type Config struct {
	Keys  *receiver.Keys
	Store receiver.Store
	Token string
	Now   func() time.Time
	// Tell hears of every request before it is answered.
	Tell func(r Request)
}

// Request is what became of one request.
type Request struct {
	At time.Time `json:"at"`
	// Of what was verified.
	ID       string           `json:"id,omitempty"`
	Task     string           `json:"task,omitempty"`
	Sequence uint64           `json:"sequence,omitempty"`
	Kind     string           `json:"kind,omitempty"`
	State    string           `json:"state,omitempty"`
	Outcome  receiver.Outcome `json:"outcome,omitempty"`
	// Refused is why it was not taken; Told is the word by which it was made to fail.
	Refused string `json:"refused,omitempty"`
	Told    string `json:"told,omitempty"`
}

// Playground is an http.Handler, safe for concurrent use.
type Playground struct {
	config Config
	mux    *http.ServeMux
	plan   plan

	mu       sync.Mutex
	received []Request
}

// New makes a playground.
func New(c Config) *Playground {
	p := &Playground{config: c, mux: http.NewServeMux(), received: []Request{}}
	p.mux.HandleFunc("POST /fail", p.fail)
	p.mux.HandleFunc("GET /received", p.list)
	p.mux.HandleFunc("POST /", p.receive)
	return p
}

// ServeHTTP implements http.Handler.
func (p *Playground) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// Fail plans what becomes of the next requests, as POST /fail does.
func (p *Playground) Fail(words string) (planned int, err error) { return p.plan.add(words) }

func (p *Playground) fail(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxPlanBytes))
	planned := 0
	if err == nil {
		planned, err = p.Fail(string(text))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, "{\"planned\":%d}\n", planned)
}

func (p *Playground) list(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text, err := json.Marshal(struct {
		Received []Request `json:"received"`
	}{p.received})
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(text, '\n')) // whoever asked may have gone
}

// receive lets one request succeed, or fail as it was told to.
func (p *Playground) receive(w http.ResponseWriter, r *http.Request) {
	next := p.plan.next()
	switch next.kind {
	case wordTake:
		p.take(w, r)
		return
	case wordLost:
		p.take(nobody{}, r)
		reset(w)
		return
	}
	told := next.kind
	if told == "" {
		told = strconv.Itoa(next.status)
	}
	p.note(Request{Told: told})
	_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, maxBodyBytes)) // or its end would not be seen
	switch next.kind {
	case wordHang:
		<-r.Context().Done()
	case wordReset:
		reset(w)
	default:
		if next.retryAfter != "" {
			w.Header().Set("Retry-After", next.retryAfter)
		}
		if next.status/100 == 3 {
			w.Header().Set("Location", "/moved")
		}
		w.WriteHeader(next.status)
	}
}

func (p *Playground) take(w http.ResponseWriter, r *http.Request) {
	v := receiver.Receiver{Keys: p.config.Keys, Store: p.config.Store, Token: p.config.Token, Told: func(u receiver.Update, o receiver.Outcome, refused error) {
		one := Request{ID: u.ID, Task: u.Task, Sequence: u.Sequence, Kind: u.Kind, State: u.State, Outcome: o}
		if refused != nil {
			one.Refused = refused.Error()
		}
		p.note(one)
	}}
	v.ServeHTTP(w, r)
}

// nobody is answered.
type nobody struct{}

// Header implements http.ResponseWriter.
func (nobody) Header() http.Header { return http.Header{} }

// Write implements http.ResponseWriter.
func (nobody) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements http.ResponseWriter.
func (nobody) WriteHeader(int) {}

func (p *Playground) note(one Request) {
	one.At = p.config.Now()
	p.mu.Lock()
	if p.received = append(p.received, one); len(p.received) > maxReceived {
		p.received = p.received[1:]
	}
	p.mu.Unlock()
	p.config.Tell(one)
}

// reset ends the connection with RST, so that its other end sees no clean close.
func reset(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // HTTP/2 resets the stream
	}
	if tcp, is := c.(*net.TCPConn); is {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}
