package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// stream is one SubscribeToTask connection with all that came over it.
type stream struct{ *driver.Stream[frame] }

// frame is one server-sent event: the task, or an update of it.
type frame struct {
	id uint64 // 0: none

	Task   *task `json:"task"`
	Status *struct {
		Status   status   `json:"status"`
		Metadata metadata `json:"metadata"`
	} `json:"statusUpdate"`
	Artifact *struct {
		Artifact  artifact `json:"artifact"`
		Append    bool     `json:"append"`
		LastChunk bool     `json:"lastChunk"`
		Metadata  metadata `json:"metadata"`
	} `json:"artifactUpdate"`
}

// own is what the product says of a frame.
func (f frame) own() metadata {
	switch {
	case f.Task != nil:
		return f.Task.Metadata
	case f.Status != nil:
		return f.Status.Metadata
	case f.Artifact != nil:
		return f.Artifact.Metadata
	}
	return metadata{}
}

// subscribe opens a stream. What the caller says that it has is its cursor; nil says
// that it has nothing.
func (d door) subscribe(ctx context.Context, id string, has object) (*stream, error) {
	var body any
	if has != nil {
		body = object{"metadata": object{extensionURI: has}}
	}
	s, err := driver.Follow(ctx, d.Client, d.url+"/tasks/"+id+":subscribe", body, nil, parseFrame)
	return &stream{s}, err
}

func parseFrame(id, data string) (frame, error) {
	var one frame
	if err := json.Unmarshal([]byte(data), &one); err != nil {
		return frame{}, fmt.Errorf("a frame of the stream: %w", err)
	}
	if one.Task == nil && one.Status == nil && one.Artifact == nil {
		return frame{}, fmt.Errorf("a frame of the stream is no StreamResponse: %.200s", data)
	}
	if id == "" {
		return one, nil
	}
	var err error
	if one.id, err = strconv.ParseUint(id, 10, 64); err != nil || one.id == 0 || one.id != one.own().Own.Sequence {
		return frame{}, fmt.Errorf("a frame of sequence %d has the id %q", one.own().Own.Sequence, id)
	}
	return one, nil
}

// ids lists the sequences of the updates that have come, behind the task with which
// the stream began. They must ascend.
func (s *stream) ids() ([]uint64, error) {
	frames := s.Kept()
	if len(frames) == 0 || frames[0].Task == nil {
		return nil, errors.New("a stream did not begin with the task")
	}
	ids := []uint64{}
	last := uint64(0)
	for _, f := range frames[1:] {
		if f.Task != nil || f.id <= last {
			return nil, fmt.Errorf("id %d came after %d", f.id, last)
		}
		last = f.id
		ids = append(ids, f.id)
	}
	return ids, nil
}

// last is the sequence of the last frame.
func (s *stream) last() uint64 {
	frames := s.Kept()
	if len(frames) == 0 {
		return 0
	}
	return frames[len(frames)-1].own().Own.Sequence
}

// reaches waits until an update has come.
func (s *stream) reaches(ctx context.Context, seq uint64, needs *process) error {
	return until(ctx, fmt.Sprintf("a stream brings update %d", seq), needs, func(context.Context) (bool, error) {
		if s.Ended() {
			return s.last() >= seq, errors.Join(fmt.Errorf("it ended at %d", s.last()), s.Err)
		}
		return s.last() >= seq, fmt.Errorf("it is at %d", s.last())
	})
}

// ends waits until the server ends the stream.
func (s *stream) ends(ctx context.Context, needs *process) error {
	err := until(ctx, "a stream ends", needs, func(context.Context) (bool, error) {
		return s.Ended(), fmt.Errorf("it is open and at %d", s.last())
	})
	if err == nil && s.Err != nil {
		err = fmt.Errorf("a stream broke: %w", s.Err)
	}
	return err
}
