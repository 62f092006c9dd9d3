package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// view is a task as somebody knows it: who asks for it, or who folds a stream.
type view struct {
	State     string
	Says      string
	Artifacts map[string][]string // the texts of their parts
	Receipt   receipt
}

// viewOf is a task that was asked for, or with which a stream began.
func viewOf(t task) view {
	v := view{Artifacts: map[string][]string{}}
	v.stand(t.Status, t.Metadata)
	for _, a := range t.Artifacts {
		v.Artifacts[a.ID] = texts(a.Parts)
	}
	return v
}

// copied is the view apart from the one that is folded further.
func (v view) copied() view {
	all := maps.Clone(v.Artifacts)
	for id := range all {
		all[id] = slices.Clone(all[id])
	}
	v.Artifacts = all
	return v
}

func (v *view) stand(s status, m metadata) {
	v.State, v.Says = s.State, ""
	if s.Message != nil {
		v.Says = strings.Join(texts(s.Message.Parts), "\n")
	}
	if m.Own.Receipt != nil {
		v.Receipt = *m.Own.Receipt
	}
}

// fold takes an update in.
func (v *view) fold(f frame) error {
	switch {
	case f.Status != nil:
		v.stand(f.Status.Status, f.Status.Metadata)
	case f.Artifact != nil:
		id, more := f.Artifact.Artifact.ID, texts(f.Artifact.Artifact.Parts)
		have := v.Artifacts[id]
		if !f.Artifact.Append {
			have = nil
		}
		if own := f.Artifact.Metadata.Own; own.Number != len(have)+1 || len(more) != 1 || own.Checksum != digestOf([]byte(more[0])) {
			return fmt.Errorf("update %d is chunk %d of %q, of which there are %d, with the checksum %s", f.id, own.Number, id, len(have), own.Checksum)
		}
		v.Artifacts[id] = append(have, more...)
	default:
		return fmt.Errorf("the task came in the middle of a stream, at %d", f.own().Own.Sequence)
	}
	return nil
}

// fromNothing folds a stream from the task with which it began.
func fromNothing(frames []frame) (view, error) {
	if len(frames) == 0 || frames[0].Task == nil {
		return view{}, fmt.Errorf("a stream of %d frames did not begin with the task", len(frames))
	}
	v := viewOf(*frames[0].Task)
	for _, f := range frames[1:] {
		if f.own().Own.Replay {
			continue
		}
		if err := v.fold(f); err != nil {
			return v, err
		}
	}
	return v, nil
}

// onward folds a resumed stream into what the caller had, without a look at the task
// with which it began.
func (v view) onward(frames []frame) (view, error) {
	v = v.copied()
	for _, f := range frames[min(1, len(frames)):] {
		if err := v.fold(f); err != nil {
			return v, err
		}
	}
	return v, nil
}

// same is an error unless somebody knows the task as it is.
func (v view) same(who string, is view) error {
	if !reflect.DeepEqual(v, is) {
		return fmt.Errorf("%s sees %+v, the task is %+v", who, v, is)
	}
	return nil
}

func texts(parts []part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.Text)
	}
	return out
}
