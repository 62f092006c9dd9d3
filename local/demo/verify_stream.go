package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// checkStreams: over all connections every visible entry came once, in order, and
// each resumed stream began with the task and without an id.
func checkStreams(f facts) (string, error) {
	if len(f.streams) == 0 || len(f.streams[0]) == 0 || !f.cursors[0].fresh {
		return "", errors.New("no stream was opened from the start")
	}
	for i, frames := range f.streams {
		if err := checkConnection(f.cursors[i], frames); err != nil {
			return "", fmt.Errorf("connection %d: %w", i+1, err)
		}
	}
	got := f.seen()
	if err := ascending(got); err != nil {
		return "", err
	}
	want := slices.DeleteFunc(visible(f.entries), func(seq uint64) bool { return seq <= f.streams[0][0].id })
	if lost, extra := without(want, got), without(got, want); len(lost)+len(extra) > 0 {
		return "", fmt.Errorf("callers see the entries %v and they were not streamed, %v were streamed and callers do not see them", lost, extra)
	}
	return fmt.Sprintf("%d ids over %d connections, each once and ascending, none missing", len(got), len(f.streams)), nil
}

// checkConnection looks at one connection by itself.
func checkConnection(c cursor, frames []frame) error {
	if len(frames) == 0 || !frames[0].task {
		return errors.New("it did not begin with the task")
	}
	if c.fresh != (frames[0].id > 0) {
		return fmt.Errorf("its snapshot has the id %d", frames[0].id)
	}
	after := max(c.after, frames[0].id)
	for _, one := range frames[1:] {
		if one.task || one.id == 0 {
			return errors.New("an update came without an id")
		}
		if one.id <= after {
			return fmt.Errorf("id %d came after %d", one.id, after)
		}
		after = one.id
	}
	return nil
}

// without lists the ids that are not among others.
func without(ids, others []uint64) []uint64 {
	return slices.DeleteFunc(slices.Clone(ids), func(id uint64) bool { return slices.Contains(others, id) })
}

func ascending(ids []uint64) error {
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			return fmt.Errorf("id %d came after %d", ids[i], ids[i-1])
		}
	}
	return nil
}

// visible lists the entries that callers see.
func visible(entries []entry) []uint64 {
	var v driver.Visible
	for _, e := range entries {
		v.Add(e.Seq, e.Type, e.Payload.State, e.Payload.Message != nil)
	}
	return v.Seqs
}

// checkWatch: holdfast watch followed the task over both kills by itself.
func checkWatch(f facts) (string, error) {
	if f.watchErr != nil {
		return "", f.watchErr
	}
	if err := ascending(f.watched); err != nil {
		return "", err
	}
	if n := len(f.watched); n == 0 || f.watched[n-1] != f.head.Seq {
		return "", fmt.Errorf("it printed %v and the task ended at %d", f.watched, f.head.Seq)
	}
	return fmt.Sprintf("holdfast watch printed %d updates over both kills, each once and ascending, and exited with 0", len(f.watched)), nil
}
