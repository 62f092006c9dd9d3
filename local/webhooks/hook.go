package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// try is one attempt, as its receiver saw it.
type try struct {
	at     time.Time
	seq    uint64
	id     string
	state  string // of a status update
	answer string // what became of it
	taken  bool   // it was answered with success
}

// hook is a receiver of webhooks, the driver's own.
type hook struct {
	url      string
	listener net.Listener
	server   *http.Server
	keys     []ed25519.PublicKey
	// script says what becomes of the first requests; all others are taken.
	script []fate

	mu    sync.Mutex
	tries []try
	open  int // requests that are not answered yet
	most  int // the most that were open at once
	wrong []error
}

// fate is what becomes of one request: it answers, or does not, and says what it did.
type fate func(w http.ResponseWriter, r *http.Request) (answer string, taken bool)

// openHook opens a receiver of what somebody sends who signs with these keys.
func openHook(ctx context.Context, keys []ed25519.PublicKey, script ...fate) (*hook, error) {
	listener, err := driver.Listen(ctx)
	if err != nil {
		return nil, err
	}
	h := &hook{url: "http://" + listener.Addr().String() + "/hook", listener: listener, keys: keys, script: script}
	h.serve()
	return h, nil
}

func (h *hook) serve() {
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: requestTime}
	go func() { _ = h.server.Serve(h.listener) }() // until it is closed
}

// shut stops listening; reopen listens again, where it was.
func (h *hook) shut() { _ = h.server.Close() }

func (h *hook) reopen(ctx context.Context) (err error) {
	if h.listener, err = new(net.ListenConfig).Listen(ctx, "tcp", h.listener.Addr().String()); err == nil {
		h.serve()
	}
	return err
}

// ServeHTTP implements http.Handler.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBodyBytes))
	if err != nil {
		return // its sender was killed
	}
	one := try{at: time.Now()}
	one.seq, one.id, one.state, err = read(r.Header, body, h.keys, one.at)
	h.mu.Lock()
	n := len(h.tries)
	h.tries = append(h.tries, one)
	h.wrong = append(h.wrong, err)
	h.open++
	h.most = max(h.most, h.open)
	h.mu.Unlock()
	next := status(http.StatusOK)
	if n < len(h.script) {
		next = h.script[n]
	}
	answer, taken := next(w, r)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tries[n].answer, h.tries[n].taken = answer, taken
	h.open--
}

func (h *hook) seen() []try {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.tries)
}

// has says whether so many attempts were made.
func (h *hook) has(n int) bool { return len(h.seen()) >= n }

// ended says whether the task's end was taken.
func (h *hook) ended() bool {
	return slices.ContainsFunc(h.seen(), func(t try) bool { return t.taken && t.state == stateCompleted })
}

// sound is an error about attempts that prove nothing, or came side by side.
func (h *hook) sound() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.most > 1 {
		return fmt.Errorf("%d attempts were open at once", h.most)
	}
	return errors.Join(h.wrong...)
}

// read verifies a webhook: signature (Standard Webhooks, v1a), time and token, and that
// its headers say what its body does.
func read(header http.Header, body []byte, keys []ed25519.PublicKey, now time.Time) (seq uint64, id, state string, err error) {
	id = header.Get("Webhook-Id")
	stamp := header.Get("Webhook-Timestamp")
	if seq, err = strconv.ParseUint(header.Get("Holdfast-Sequence"), 10, 64); err != nil {
		return seq, id, "", fmt.Errorf("a webhook without a sequence: %v", header)
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if off := now.Sub(time.Unix(seconds, 0)); err != nil || off < -2*time.Second || off > requestTime {
		return seq, id, "", fmt.Errorf("the webhook of %d was signed at %q", seq, stamp)
	}
	if header.Get("A2A-Notification-Token") != token || header.Get("Content-Type") != "application/a2a+json" {
		return seq, id, "", fmt.Errorf("the webhook of %d has another token or type: %v", seq, header)
	}
	if !signedBy(keys, id, stamp, header.Get("Webhook-Signature"), body) {
		return seq, id, "", fmt.Errorf("the webhook of %d is signed by nobody", seq)
	}
	var update map[string]struct {
		Status struct {
			State string `json:"state"`
		} `json:"status"`
		Metadata struct {
			Own struct {
				Sequence uint64 `json:"sequence"`
			} `json:"urn:holdfast:a2a:durable-task:v1"` //nolint:tagliatelle // the extension's URI
		} `json:"metadata"`
	}
	if err := json.Unmarshal(body, &update); err != nil || len(update) != 1 {
		return seq, id, "", fmt.Errorf("the webhook of %d is no update: %.200q", seq, body)
	}
	for _, one := range update {
		state = one.Status.State
		if one.Metadata.Own.Sequence != seq {
			return seq, id, state, fmt.Errorf("the webhook of %d brings update %d", seq, one.Metadata.Own.Sequence)
		}
	}
	return seq, id, state, nil
}

func signedBy(keys []ed25519.PublicKey, id, stamp, signatures string, body []byte) bool {
	signed := append([]byte(id+"."+stamp+"."), body...)
	return slices.ContainsFunc(strings.Fields(signatures), func(part string) bool {
		signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part, "v1a,"))
		return err == nil && slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, signed, signature) })
	})
}
