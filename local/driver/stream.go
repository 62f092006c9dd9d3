package driver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Stream is one connection that brings server-sent events, with all that came over it.
type Stream[F any] struct {
	Done chan struct{}
	Err  error // why it ended; nil when the server ended it. Once Done is closed

	parse  func(id, data string) (F, error)
	cut    context.CancelFunc
	mu     sync.Mutex
	frames []F
}

// Follow opens a stream and keeps what comes. What cannot be parsed ends it.
func Follow[F any](ctx context.Context, c *Client, url string, body any, headers map[string]string, parse func(id, data string) (F, error)) (*Stream[F], error) {
	ctx, cut := context.WithCancel(ctx)
	all := map[string]string{"Accept": "text/event-stream"}
	maps.Copy(all, headers)
	resp, err := c.Open(ctx, http.MethodPost, url, body, all) //nolint:bodyclose // read on in the background, and closed there
	if err != nil {
		cut()
		return nil, err
	}
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
		cut()
		return nil, errors.Join(fmt.Errorf("subscribing: %s", Answer{resp.StatusCode, text}), err, resp.Body.Close())
	}
	s := &Stream[F]{Done: make(chan struct{}), parse: parse, cut: cut}
	go func() {
		defer close(s.Done)
		defer func() { _ = resp.Body.Close() }()
		s.Err = s.read(resp.Body)
	}()
	return s, nil
}

// Recorded is a stream that has brought what is given.
func Recorded[F any](body io.Reader, parse func(id, data string) (F, error)) *Stream[F] {
	s := &Stream[F]{Done: make(chan struct{}), parse: parse, cut: func() {}}
	s.Err = s.read(body)
	close(s.Done)
	return s
}

// Cut ends the connection from this side, and waits until nothing comes any more.
func (s *Stream[F]) Cut() {
	s.cut()
	<-s.Done
}

// Kept is what has come so far.
func (s *Stream[F]) Kept() []F {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]F(nil), s.frames...)
}

// Ended says whether the stream has.
func (s *Stream[F]) Ended() bool {
	select {
	case <-s.Done:
		return true
	default:
		return false
	}
}

// read keeps frames until the stream ends. A frame that was cut is none.
func (s *Stream[F]) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxAnswerBytes)
	var id, data string
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() != "" && name == "id":
			id = value
		case lines.Text() != "" && name == "data":
			data += value
		case lines.Text() == "" && data != "":
			one, err := s.parse(id, data)
			if err != nil {
				return err
			}
			s.mu.Lock()
			s.frames = append(s.frames, one)
			s.mu.Unlock()
			id, data = "", ""
		}
	}
	return lines.Err()
}
