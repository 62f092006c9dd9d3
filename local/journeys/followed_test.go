package journeys_test

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// The clients of a random task: the one that has been there from the start and
// answers, those that are cut, and those that know nothing of cursors.

// attend reads the stream from the start, is the person who answers, and resumes when
// the stream ends because the task waits.
func (f *followed) attend(s *subscriber, created frame) []frame {
	got := []frame{created}
	pauses, canceling := f.plan.pauses(), f.plan.cancelAfter
	for pause := 0; ; {
		last := got[len(got)-1]
		state := last.state()
		if state.Terminal() {
			s.cut()
			return got
		}
		if canceling > 0 && len(got) >= canceling {
			canceling = 0
			if err := f.second.cancel(f.world, f.ref.Task); err != nil && !f.over() {
				f.t.Errorf("cancel: %v", err)
			}
		} else if lifecycle.Interrupted(state) {
			if pause++; pause <= len(pauses) {
				f.settle(state, pause, pauses[pause-1])
			}
		}
		next, err := s.update()
		for drained(err) {
			backOff()
			id := last.id
			if s, err = f.reach(f.first, &id); err != nil {
				break
			}
			if next, err = s.update(); err == nil && next.id == 0 {
				f.keep(next)
				next, err = s.update()
			}
		}
		if err != nil {
			f.t.Errorf("the stream from the start broke: %v", err)
			return got
		}
		got = append(got, next)
	}
}

// backOff is a client whose stream had nothing: the task waits for somebody, and a
// resumed stream of it ends at once.
func backOff() { <-time.NewTimer(5 * time.Second).C }

// over says whether the task has ended.
func (f *followed) over() bool {
	h, err := f.ledger.Head(f.t.Context(), f.ref)
	return err == nil && h.Terminal()
}

// settle does to a pause what the plan says.
func (f *followed) settle(state a2a.TaskState, number int, end outcome) {
	<-time.NewTimer(f.plan.wait).C
	var err error
	switch {
	case end == expired:
	case end == canceled:
		err = f.first.cancel(f.world, f.ref.Task)
	case state == a2a.TaskStateInputRequired:
		err = f.second.reply(f.world, f.ref.Task, fmt.Sprintf("reply-%d", number))
	default:
		err = f.authorize()
	}
	if err != nil && !f.over() { // the caller may have canceled before it read of the pause
		f.t.Errorf("pause %d, %s: %v", number, end, err)
	}
}

// authorize closes the open challenge, as whoever has verified a receipt does.
func (f *followed) authorize() error {
	ctx := f.t.Context()
	t, err := f.node.Authority.Load(ctx, f.ref)
	if err != nil {
		return err
	}
	if t.Challenge == nil {
		return fmt.Errorf("the task in %s has no challenge", t.State)
	}
	res, err := f.node.Authority.Do(ctx, t, lifecycle.Authorize{Receipt: lifecycle.ReceiptRef{
		Challenge: t.Challenge.Number, Issuer: "bank", KeyID: "k", JTI: fmt.Sprint(t.Challenge.Number), Digest: lifecycle.DigestBytes([]byte("receipt")),
	}}, lifecycle.Source{Producer: "bank"}, ledger.Extra{})
	if err != nil {
		return err
	}
	return f.node.Dispatcher.Answered(ctx, res.Task.Head, res.Answered)
}

// reach opens a stream of the task, which may have ended.
func (f *followed) reach(b binding, cursor *uint64) (*subscriber, error) {
	s, err := b.subscribe(f.world, f.ref.Task, cursor)
	if ended(err) {
		return b.submit(f.world, "go", cursor)
	}
	return s, err
}

// caught follows the task from 0, with a cursor; a patient one reads each stream to
// its end, any other cuts after every update and gets the task in between.
func (f *followed) caught(b binding, patient bool) []frame {
	var got []frame
	var last uint64
	for range maxStreams {
		s, err := f.reach(b, &last)
		if err != nil {
			f.t.Errorf("%s behind %d: %v", b.name, last, err)
			return got
		}
		for {
			next, err := s.update()
			if drained(err) {
				backOff()
				break
			}
			if err != nil {
				f.t.Errorf("%s behind %d: %v", b.name, last, err)
				return got
			}
			if next.id == 0 {
				f.keep(next)
				continue
			}
			got, last = append(got, next), next.id
			if next.state().Terminal() {
				s.cut()
				return got
			}
			if !patient {
				break
			}
		}
		s.cut()
		f.look(b)
	}
	f.t.Errorf("%s: after %d streams the task has not ended", b.name, maxStreams)
	return got
}

// plain is a client that knows nothing of cursors: it takes the task of each stream as
// it is and folds one update into it, before its connection is cut.
func (f *followed) plain(b binding) []frame {
	for range maxStreams {
		s, err := b.subscribe(f.world, f.ref.Task, nil)
		if ended(err) {
			return nil
		}
		if err != nil {
			f.t.Errorf("%s: %v", b.name, err)
			return nil
		}
		snapshot, err := s.update()
		if err == nil {
			f.keep(snapshot)
			next, err := s.update()
			if err == nil {
				c := fold([]frame{snapshot, next})
				f.keepAt(next.id, c.status, c.artifacts)
			}
		}
		s.cut()
	}
	f.t.Errorf("%s: after %d streams the task has not ended", b.name, maxStreams)
	return nil
}

// look gets the task.
func (f *followed) look(b binding) {
	text, err := b.get(f.world, f.ref.Task)
	var task a2a.Task
	if err == nil {
		err = json.Unmarshal(text, &task)
	}
	if err != nil {
		f.t.Errorf("GetTask, %s: %v", b.name, err)
		return
	}
	f.keep(frame{event: &task})
}
