package main

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// sender is a deployment of the driver's own, which publishes keys and sends what it
// likes to a receiver that is attacked.
type sender struct {
	url     string // where its keys are
	server  *http.Server
	private []ed25519.PrivateKey // the first one is its own at first, the second one its next

	mu        sync.Mutex
	published []ed25519.PrivateKey
	away      bool
	fetches   int
}

func openSender(ctx context.Context) (*sender, error) {
	s := &sender{}
	for range 3 {
		_, key, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			return nil, err
		}
		s.private = append(s.private, key)
	}
	s.published = s.private[:1]
	listener, err := driver.Listen(ctx)
	if err != nil {
		return nil, err
	}
	s.url = "http://" + listener.Addr().String()
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: requestTime}
	go func() { _ = s.server.Serve(listener) }() // until it is closed
	return s, nil
}

// publish says which keys may be known from now on, and whether they can be had.
func (s *sender) publish(away bool, keys ...ed25519.PrivateKey) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away, s.published = away, keys
}

func (s *sender) fetched() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetches
}

// ServeHTTP publishes the keys.
func (s *sender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetches++
	if s.away || r.URL.Path != "/.well-known/webhook-keys.json" {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	texts := []string{}
	for _, k := range s.published {
		public, _ := k.Public().(ed25519.PublicKey)
		texts = append(texts, "whpk_"+base64.StdEncoding.EncodeToString(public))
	}
	text, err := json.Marshal(driver.Object{"keys": texts})
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = w.Write(text)
}

// message is one webhook, before it is spoiled.
type message struct {
	method string
	header http.Header
	body   []byte
	cut    int // so many bytes of the body are kept back, and the connection is closed
}

// update is what is sent for an entry of a task, signed with keys; the first one, if none
// are named.
func (s *sender) update(task string, seq uint64, keys ...ed25519.PrivateKey) message {
	body := fmt.Sprintf(`{"statusUpdate":{"taskId":%q,"contextId":"c","status":{"state":%q},"metadata":{"urn:holdfast:a2a:durable-task:v1":{"sequence":%d}}}}`, task, stateWorking, seq)
	return s.signed(fmt.Sprintf("msg_%s-%d", task, seq), seq, []byte(body), time.Now(), keys...)
}

func (s *sender) signed(id string, seq uint64, body []byte, at time.Time, keys ...ed25519.PrivateKey) message {
	if len(keys) == 0 {
		keys = s.private[:1]
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	var signatures []string
	for _, k := range keys {
		signatures = append(signatures, "v1a,"+base64.StdEncoding.EncodeToString(ed25519.Sign(k, append([]byte(id+"."+stamp+"."), body...))))
	}
	m := message{method: http.MethodPost, header: http.Header{}, body: body}
	for name, value := range map[string]string{
		"Content-Type": "application/a2a+json", "A2A-Notification-Token": token, "Holdfast-Sequence": strconv.FormatUint(seq, 10),
		"Webhook-Id": id, "Webhook-Timestamp": stamp, "Webhook-Signature": strings.Join(signatures, " "),
	} {
		m.header.Set(name, value)
	}
	return m
}

// begin sends a message over a connection of its own, and leaves the answer unread.
func (m message) begin(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: requestTime}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	_ = conn.SetDeadline(time.Now().Add(requestTime))
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s /hook HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nConnection: close\r\n", m.method, address, len(m.body))
	_ = m.header.Write(&text)
	text.WriteString("\r\n")
	text.Write(m.body[:len(m.body)-m.cut])
	if _, err = conn.Write(text.Bytes()); err == nil && m.cut > 0 {
		if tcp, is := conn.(*net.TCPConn); is {
			err = tcp.CloseWrite()
		}
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// send sends a message and returns the status of its answer: "204", or "" if there was
// none.
func (m message) send(ctx context.Context, address string) (string, error) {
	conn, err := m.begin(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	answer, err := io.ReadAll(io.LimitReader(conn, maxBodyBytes))
	fields := strings.Fields(string(answer))
	if len(fields) < 2 {
		return "", err
	}
	return fields[1], nil
}
