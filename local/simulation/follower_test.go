package simulation_test

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

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// follower streams a task, is cut and resumes, until the task has ended. What it has
// collected is then what there was to see, each update once.
type follower struct {
	*client

	errand *errand
	got    []uint64 // sequences of updates, as they came
	start  uint64   // it was not there before
	last   uint64   // the cursor
	opened bool
	whole  bool // it has seen the end
}

// frame is an event of a stream.
type frame struct {
	id   uint64
	task *shown
	said *shown // a status or an artifact update
}

// frames reads a stream; io.EOF is an orderly end.
type frames struct{ lines *bufio.Reader }

func (f frames) next() (frame, []byte, error) {
	var out frame
	for {
		line, err := f.lines.ReadString('\n')
		if err != nil {
			if line != "" {
				err = io.ErrUnexpectedEOF
			}
			return out, nil, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		switch value = strings.TrimPrefix(value, " "); name {
		case "id":
			if out.id, err = strconv.ParseUint(value, 10, 64); err != nil {
				return out, nil, err
			}
		case "data":
			var u struct{ Task, StatusUpdate, ArtifactUpdate *shown }
			if err := json.Unmarshal([]byte(value), &u); err != nil {
				return out, nil, err
			}
			out.task, out.said = u.Task, u.StatusUpdate
			if u.ArtifactUpdate != nil {
				out.said = u.ArtifactUpdate
			}
			return out, []byte(value), nil
		}
	}
}

func (f *follower) run() {
	for range 80 {
		if f.whole {
			return
		}
		f.pause(20 * time.Second)
		f.follow()
		if f.errand.over() && f.dice.IntN(20) == 0 {
			return // lost interest
		}
	}
}

// open opens a stream behind what the follower has.
func (f *follower) open(ctx context.Context) (*http.Response, *http.Request, error) {
	e := f.errand
	var headers []string
	path, body := e.path(":subscribe"), "{}"
	if f.opened {
		if f.dice.IntN(2) == 0 {
			headers = []string{"Last-Event-ID", strconv.FormatUint(f.last, 10)}
		} else {
			body = fmt.Sprintf(`{"metadata":{%q:{"after":%d}}}`, lifecycle.ExtensionURI, f.last)
		}
	}
	r, err := f.request(ctx, http.MethodPost, path, body, headers...)
	if err != nil {
		return nil, nil, err
	}
	resp, err := (&network{f.w}).RoundTrip(r)
	if err != nil || resp.StatusCode == http.StatusOK {
		return resp, r, err
	}
	refused, err := f.read(r, resp)
	if err != nil {
		return nil, nil, err
	}
	f.refusedAs(refused, "a subscription", "UNSUPPORTED_OPERATION")
	if refused.reason != "UNSUPPORTED_OPERATION" {
		return nil, nil, errNetwork
	}
	// The task has ended: whoever submitted it gets what is missing by submitting again.
	headers = append([]string{"Last-Event-ID", strconv.FormatUint(f.last, 10)}, e.header...)
	if r, err = f.request(ctx, http.MethodPost, e.prefix+"/message:stream", e.body, headers...); err != nil {
		return nil, nil, err
	}
	resp, err = (&network{f.w}).RoundTrip(r)
	if err != nil || resp.StatusCode == http.StatusOK {
		if !f.opened {
			f.opened = true // from the beginning
		}
		return resp, r, err
	}
	refused, err = f.read(r, resp)
	if err == nil {
		f.refusedAs(refused, "a submission again")
	}
	return nil, nil, errNetwork
}

// follow reads one stream, to its end or until it is cut.
func (f *follower) follow() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(1+f.dice.Int64N(int64(6*time.Minute))))
	defer cancel()
	resp, r, err := f.open(ctx)
	if err != nil {
		return
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		f.w.broken("api", "%s: a stream that is none", f.who)
		return
	}
	resumed, first := f.opened, true
	in, cut := frames{bufio.NewReader(resp.Body)}, 1+f.dice.IntN(12)
	for range cut {
		got, raw, err := in.next()
		if err != nil {
			if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && ctx.Err() == nil && !errors.Is(err, context.Canceled) && !errors.Is(err, io.ErrClosedPipe) {
				f.w.broken("api", "%s: a stream that cannot be read: %v", f.who, err)
			}
			return
		}
		f.w.foreign(f.mark, raw, "stream "+r.URL.Path)
		f.take(got, resumed, first)
		first = false
		if f.whole {
			return
		}
	}
}

// take takes one event.
func (f *follower) take(got frame, resumed, first bool) {
	ref := f.errand.ref
	switch {
	case first != (got.task != nil):
		f.w.broken("api", "%s: a stream of task %s has the task not first, or not alone first", f.who, ref)
	case got.task != nil:
		f.client.task(ref, *got.task, &f.errand.known, 0)
		if resumed && got.id != 0 || !resumed && got.id != got.task.own().Sequence {
			f.w.broken("api", "%s: a stream (resumed: %t) of task %s begins with id %d at entry %d", f.who, resumed, ref, got.id, got.task.own().Sequence)
		}
		if !resumed {
			f.opened, f.start, f.last = true, got.id, got.id
			f.whole = got.task.Status.State.Terminal()
		}
	case got.said != nil:
		o := got.said.own()
		state := f.w.committed(ref, o.Sequence, o.Digest)
		if got.id != o.Sequence || got.id <= f.last || got.said.Task != ref.Task {
			f.w.broken("api", "%s: update %d of task %s under id %d after %d", f.who, o.Sequence, ref, got.id, f.last)
		}
		f.got, f.last = append(f.got, got.id), got.id
		f.whole = state.Terminal()
	}
}

// check is for the end: the follower has had all there was to see while it followed,
// each once and in order.
func (f *follower) check(visible []uint64) {
	var want []uint64
	for _, v := range visible {
		if v > f.start && v <= f.last {
			want = append(want, v)
		}
	}
	if fmt.Sprint(want) != fmt.Sprint(f.got) {
		f.w.broken("I4", "%s was sent %v of task %s behind entry %d, there was %v to see", f.who, f.got, f.errand.ref, f.start, want)
	}
}
