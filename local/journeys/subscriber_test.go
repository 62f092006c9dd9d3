package journeys_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// frame is what a stream carries: an event, with its id, or a comment.
type frame struct {
	id      uint64 // 0: none
	event   a2a.Event
	comment string
	at      time.Time
}

// state is the task's state after the frame, empty for an artifact update.
func (f frame) state() a2a.TaskState {
	switch ev := f.event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		return ev.Status.State
	case *a2a.Task:
		return ev.Status.State
	}
	return ""
}

// own is what our extension says in the frame's metadata.
func (f frame) own() map[string]any { return ownOf(f.event) }

func ownOf(m a2a.MetadataCarrier) map[string]any {
	own, _ := m.Meta()[lifecycle.ExtensionURI].(map[string]any)
	return own
}

// content is what the frame says, whether it is a replay or not.
func (f frame) content() string {
	delete(f.own(), "replay")
	text, err := json.Marshal(f.event)
	return fmt.Sprintf("%d %T %s %v", f.id, f.event, text, err)
}

// errRefused is an answer in place of a stream.
type errRefused struct {
	status int
	header http.Header
	body   []byte
}

// Error implements error.
func (e *errRefused) Error() string { return fmt.Sprintf("%d %s", e.status, e.body) }

// subscriber reads one stream.
type subscriber struct {
	body   io.Closer
	lines  *bufio.Reader
	cancel context.CancelFunc
}

// try opens a stream; an answer that is none is an *errRefused.
func (w *world) try(method, path, body string, headers ...string) (*subscriber, error) {
	ctx, cancel := context.WithCancel(w.t.Context())
	r, err := http.NewRequestWithContext(ctx, method, base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("A2A-Version", "1.0")
	if body != "" {
		r.Header.Set("Content-Type", "application/a2a+json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.client.Do(r)
	if err != nil {
		cancel()
		return nil, err
	}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		defer cancel()
		answer, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		return nil, &errRefused{resp.StatusCode, resp.Header, answer}
	}
	return &subscriber{body: resp.Body, lines: bufio.NewReader(resp.Body), cancel: cancel}, nil
}

// stream opens a stream that must open.
func (w *world) stream(method, path, body string, headers ...string) *subscriber {
	w.t.Helper()
	s, err := w.try(method, path, body, headers...)
	if err != nil {
		w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return s
}

// subscribe opens a stream of a task that is under way; after 0 is no resumption.
func (w *world) subscribe(id a2a.TaskID, after uint64) *subscriber {
	w.t.Helper()
	if after == 0 {
		return w.stream(http.MethodGet, "/tasks/"+string(id)+":subscribe", "")
	}
	return w.stream(http.MethodGet, "/tasks/"+string(id)+":subscribe", "", lastID(after)...)
}

func lastID(after uint64) []string {
	return []string{"Last-Event-ID", strconv.FormatUint(after, 10)}
}

// next reads a frame. io.EOF is a stream that ended in an orderly way, anything
// else one that broke.
func (s *subscriber) next() (frame, error) {
	var f frame
	for {
		line, err := s.lines.ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return f, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n" && (f.event != nil || f.comment != ""):
			f.at = time.Now()
			return f, nil
		case name == "" && value != "":
			f.comment = value
		case name == "id":
			if f.id, err = strconv.ParseUint(value, 10, 64); err != nil || f.id == 0 {
				return f, fmt.Errorf("an id is no sequence: %q", value)
			}
		case name == "data":
			var response a2a.StreamResponse
			if err := json.Unmarshal([]byte(value), &response); err != nil {
				return f, err
			}
			f.event = response.Event
		}
	}
}

// update is the next frame that is no comment.
func (s *subscriber) update() (frame, error) {
	for {
		f, err := s.next()
		if err != nil || f.comment == "" {
			return f, err
		}
	}
}

// rest reads to the end, without comments.
func (s *subscriber) rest() ([]frame, error) {
	var all []frame
	for {
		f, err := s.update()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, f)
	}
}

// cut is a client that goes away without a word.
func (s *subscriber) cut() {
	s.cancel()
	_ = s.body.Close()
}

// first and all are update and rest of streams that must not break.
func (w *world) first(s *subscriber) frame {
	w.t.Helper()
	f, err := s.update()
	if err != nil {
		w.t.Fatalf("the stream broke: %v", err)
	}
	return f
}

func (w *world) all(s *subscriber) []frame {
	w.t.Helper()
	all, err := s.rest()
	if err != nil {
		w.t.Fatalf("the stream broke: %v", err)
	}
	return all
}

// ids are the ids of frames; a snapshot without one is left out.
func ids(frames []frame) []uint64 {
	var out []uint64
	for _, f := range frames {
		if f.id != 0 {
			out = append(out, f.id)
		}
	}
	return out
}

// visible are the updates of a task that callers see, as the ledger has them.
func (w *world) visible(ref lifecycle.Ref) []uint64 {
	w.t.Helper()
	entries, err := w.ledger.Entries(context.Background(), ref, 0, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	view := lifecycle.NewView(ref, func(lifecycle.Digest) string { return "" })
	var out []uint64
	for _, e := range entries {
		update, err := view.Add(e)
		if err != nil {
			w.t.Fatal(err)
		}
		if update != nil {
			out = append(out, e.Seq)
		}
	}
	return out
}

// committed holds a frame against the ledger at this moment: what it shows is
// there already, under the same digest (I4).
func (w *world) committed(ref lifecycle.Ref, f frame) {
	w.t.Helper()
	seq := f.id
	if seq == 0 {
		seq = uint64(f.own()["sequence"].(float64))
	}
	entries, err := w.ledger.Entries(context.Background(), ref, seq-1, 1)
	if err != nil || len(entries) != 1 {
		w.t.Errorf("I4: entry %d was seen and is not in the ledger (%v)", seq, err)
		return
	}
	if got := f.own()["digest"]; got != string(entries[0].Chain) {
		w.t.Errorf("I4: entry %d was seen with digest %v, in the ledger it has %s", seq, got, entries[0].Chain)
	}
}
