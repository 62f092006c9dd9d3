package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// hookToken is what the webhook is configured with.
const hookToken = "demo-0123456789"

// maxNoticeBytes bounds a webhook.
const maxNoticeBytes = 1 << 20

// hook takes the task's webhooks. It is the driver's own and outlives every kill.
type hook struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	notices []notice
}

// notice is one webhook as it came.
type notice struct {
	header http.Header
	body   []byte
}

func openHook(ctx context.Context) (*hook, error) {
	listener, err := driver.Listen(ctx)
	if err != nil {
		return nil, err
	}
	h := &hook{url: "http://" + listener.Addr().String() + "/review"}
	h.server = &http.Server{Handler: h, ReadHeaderTimeout: waitTime}
	go func() { _ = h.server.Serve(listener) }() // until it is closed
	return h, nil
}

// ServeHTTP takes everything, and looks at it in the end.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxNoticeBytes))
	if err != nil { // its sender was killed
		return
	}
	h.mu.Lock()
	h.notices = append(h.notices, notice{r.Header.Clone(), body})
	h.mu.Unlock()
	w.WriteHeader(http.StatusNoContent)
}

func (h *hook) kept() []notice {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.notices)
}

// has says whether an update has come.
func (h *hook) has(seq uint64) bool {
	return slices.ContainsFunc(h.kept(), func(n notice) bool { return n.header.Get("Holdfast-Sequence") == strconv.FormatUint(seq, 10) })
}

// hooked adds the webhook to the message that submits.
func hooked(submission []byte, url string) ([]byte, error) {
	type object = map[string]any
	var message object
	if err := json.Unmarshal(submission, &message); err != nil {
		return nil, err
	}
	configuration, is := message["configuration"].(object)
	if !is {
		return nil, errors.New("the submission has no configuration")
	}
	configuration["taskPushNotificationConfig"] = object{"url": url, "token": hookToken}
	return json.Marshal(message)
}

// hookKeys are the keys with which the product signs.
func (p product) hookKeys(ctx context.Context) ([]ed25519.PublicKey, error) {
	var published struct {
		Keys []string `json:"keys"`
	}
	if err := caller.Get(ctx, string(p)+"/.well-known/webhook-keys.json", &published); err != nil {
		return nil, err
	}
	var keys []ed25519.PublicKey
	for _, text := range published.Keys {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whpk_"))
		if err != nil || len(key) != ed25519.PublicKeySize {
			return nil, fmt.Errorf("the published key %q is none", text)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// told is a webhook when it was looked at.
type told struct {
	seq   uint64
	id    string
	state string // of a status update
}

// read verifies a webhook: signature (Standard Webhooks, v1a), time, token, and that its
// headers say what its body does.
func (n notice) read(keys []ed25519.PublicKey, now time.Time) (told, error) {
	get := n.header.Get
	seq, err := strconv.ParseUint(get("Holdfast-Sequence"), 10, 64)
	if err != nil {
		return told{}, fmt.Errorf("a webhook has the sequence %q", get("Holdfast-Sequence"))
	}
	t := told{seq: seq, id: get("Webhook-Id")}
	seconds, err := strconv.ParseInt(get("Webhook-Timestamp"), 10, 64)
	if age := now.Sub(time.Unix(seconds, 0)); err != nil || age < -time.Second || age > playTime {
		return t, fmt.Errorf("the webhook of %d is of %q", seq, get("Webhook-Timestamp"))
	}
	if get("A2a-Notification-Token") != hookToken || get("Content-Type") != "application/a2a+json" {
		return t, fmt.Errorf("the webhook of %d has the wrong token or type", seq)
	}
	signed := append([]byte(t.id+"."+get("Webhook-Timestamp")+"."), n.body...)
	if !slices.ContainsFunc(strings.Fields(get("Webhook-Signature")), func(part string) bool {
		signature, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(part, "v1a,"))
		return err == nil && slices.ContainsFunc(keys, func(key ed25519.PublicKey) bool { return ed25519.Verify(key, signed, signature) })
	}) {
		return t, fmt.Errorf("the webhook of %d is signed by nobody", seq)
	}
	var body map[string]struct {
		Status struct {
			State string `json:"state"`
		} `json:"status"`
		Metadata metadata `json:"metadata"`
	}
	if err := json.Unmarshal(n.body, &body); err != nil || len(body) != 1 {
		return t, fmt.Errorf("the webhook of %d is no StreamResponse: %.200q", seq, n.body)
	}
	for _, one := range body {
		t.state = one.Status.State
		if one.Metadata.Own.Sequence != seq {
			return t, fmt.Errorf("the webhook of %d brings the update %d", seq, one.Metadata.Own.Sequence)
		}
	}
	return t, nil
}

// readAll verifies all webhooks that came.
func (h *hook) readAll(keys []ed25519.PublicKey, now time.Time) ([]told, error) {
	var out []told
	var failed []error
	for _, n := range h.kept() {
		t, err := n.read(keys, now)
		failed = append(failed, err)
		out = append(out, t)
	}
	return out, errors.Join(failed...)
}
