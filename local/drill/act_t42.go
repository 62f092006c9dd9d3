package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// playT42 tells the story of T-42 with everything that goes wrong in it.
func (d *drill) playT42(ctx context.Context) (string, error) {
	t := d.newTrace("T-42")
	first, err := d.t42Asked(ctx, &t)
	if err != nil {
		return "", err
	}
	if err := d.t42Authorized(ctx, &t, first); err != nil {
		return "", err
	}
	last, err := d.t42Cut(ctx, &t)
	if err != nil {
		return "", err
	}
	if err := d.t42Ended(ctx, &t, last); err != nil {
		return "", err
	}
	var whole page
	if d.t42s, whole, err = pictureOf(ctx, t.door, t.task); err != nil {
		return "", err
	}
	d.rest(t.door, t.task, whole.Head)
	d.t42 = t
	if err := d.beginTwin(ctx); err != nil {
		return "", fmt.Errorf("its twin: %w", err)
	}
	c := whole.Head.Counts
	d.note("T-42 in %d entries under fence %d", whole.Head.Seq, whole.Head.Fence)
	return fmt.Sprintf("%d entries, fence %d, %d lookup hits, %d refusals kept, 3 streams cut and resumed, manifest M9 %.12s…",
		whole.Head.Seq, whole.Head.Fence, c.Hits, c.Rejections, d.t42s.Manifest), nil
}

// t42Asked brings the task to E2, with a stream open, and shows that nothing but a
// receipt leads on from there.
func (d *drill) t42Asked(ctx context.Context, t *trace) (*stream, error) {
	if err := t.tellAll(ctx, nil, untilInput[:3]); err != nil {
		return nil, err
	}
	s, err := t.subscribe(ctx, t.task, nil)
	if err != nil {
		return nil, err
	}
	one, err := t.report(ctx, e2)
	if err != nil {
		return nil, err
	}
	two, err := t.report(ctx, e2)
	if err != nil {
		return nil, err
	}
	if one.State != stateAuth || one.Hits != 0 || two.Hits != 1 || two.Sequence != one.Sequence {
		return nil, fmt.Errorf("E2 was answered with %+v, and again with %+v: want %s and a lookup hit", one, two, stateAuth)
	}
	before, err := t.ledger(ctx, t.task, 0)
	if err != nil {
		return nil, err
	}
	if err := d.unauthorized(ctx, t); err != nil {
		return nil, err
	}
	after, err := t.ledger(ctx, t.task, 0)
	if err == nil && (after.Head.Seq != before.Head.Seq || after.Head.State != stateAuth) {
		err = fmt.Errorf("without a receipt the task went from %+v to %+v", before.Head, after.Head)
	}
	return s, err
}

// unauthorized tries to get on without a receipt that holds: by going on, by a claim,
// with no receipt, with a forged one, and with one for another challenge.
func (d *drill) unauthorized(ctx context.Context, t *trace) error {
	resumed := e3
	resumed.id, resumed.fence = "E3 unauthorized", e2.fence
	if err := t.refused(ctx, resumed, fenceLost); err != nil {
		return err
	}
	if err := t.refused(ctx, t.claiming(), illegalMove); err != nil {
		return err
	}
	is, err := t.door.task(ctx, t.task)
	if err != nil {
		return err
	}
	if c := is.Metadata.Own.Challenge; c == nil || c.Action != action {
		return fmt.Errorf("the task shows the challenge %+v, want the action %s", c, action)
	}
	nobody, err := stranger()
	if err != nil {
		return err
	}
	forged, err := nobody.give(is, receiptID)
	if err != nil {
		return err
	}
	is.Metadata.Own.Challenge.Number = replyTo
	other, err := t.approver.give(is, "A3")
	if err != nil {
		return err
	}
	for _, wrong := range []struct{ about, receipt, reason string }{
		{"no receipt", "", receiptRequired}, {"a forged receipt", forged, receiptInvalid}, {"a receipt for another challenge", other, receiptInvalid},
	} {
		a, err := t.authorize(ctx, t.task, wrong.receipt)
		if err != nil {
			return err
		}
		if err := a.RefusedFor(wrong.about, wrong.reason); err != nil {
			return err
		}
	}
	return nil
}

// t42Authorized presents A4, twice, and brings the task to E4, where the stream ends.
func (d *drill) t42Authorized(ctx context.Context, t *trace, s *stream) error {
	for range 2 {
		if err := accepted(receiptID, (*trace).authorization).tell(t, ctx); err != nil {
			return err
		}
	}
	if err := t.tellAll(ctx, nil, untilInput[5:]); err != nil {
		return err
	}
	if err := s.ends(ctx, d.running.product); err != nil {
		return err
	}
	all, err := t.ledger(ctx, t.task, 0)
	if err != nil {
		return err
	}
	if n := kinds(all, "authorized"); n != 1 || all.Head.State != stateInput {
		return fmt.Errorf("a receipt that came twice is in %d entries, and the task is %s", n, all.Head.State)
	}
	// submitted 1, started 2, E1 3 (the snapshot), E2 4, authorized 5, E3 6, E4 7
	if err := brought(s, 4, 5, 6, 7); err != nil {
		return err
	}
	d.t42v, err = fromNothing(s.Kept())
	return err
}

// t42Cut answers the question and cuts the stream behind two chunks; what is missing
// comes on a stream with the cursors E4 and draft/0, and the submission again changes
// nothing.
func (d *drill) t42Cut(ctx context.Context, t *trace) (*stream, error) {
	if err := t.tellAll(ctx, nil, untilDraft[:1]); err != nil {
		return nil, err
	}
	s, err := t.subscribe(ctx, t.task, object{"after": e4.id})
	if err != nil {
		return nil, err
	}
	if err := t.tellAll(ctx, nil, untilDraft[1:]); err != nil {
		return nil, err
	}
	if err := s.reaches(ctx, 11, d.running.product); err != nil { // reply 8, E5 9, chunks 10 and 11
		return nil, err
	}
	s.Cut()
	if err := brought(s, 8, 9, 10, 11); err != nil {
		return nil, err
	}
	for _, c := range []struct {
		has  object
		want []uint64
	}{
		{object{"after": 11, "artifacts": []string{draft + "/0"}}, []uint64{10, 11}},
		{object{"after": e4.id, "artifacts": []string{draft + "/1"}}, []uint64{8, 9, 11}},
	} {
		if s, err = t.subscribe(ctx, t.task, c.has); err != nil {
			return nil, err
		}
		if err := s.reaches(ctx, c.want[len(c.want)-1], d.running.product); err != nil {
			return nil, err
		}
		s.Cut()
		if err := brought(s, c.want...); err != nil {
			return nil, fmt.Errorf("behind %v: %w", c.has, err)
		}
	}
	if err := untilEnd[0].tell(t, ctx); err != nil { // nobody follows
		return nil, err
	}
	if err := d.resubmitted(ctx, t); err != nil {
		return nil, err
	}
	return t.subscribe(ctx, t.task, object{"after": e4.id, "artifacts": []string{draft + "/0"}})
}

// resubmitted submits the story again, and something else under the same key.
func (d *drill) resubmitted(ctx context.Context, t *trace) error {
	if err := t.submission(ctx); err != nil {
		return err
	}
	a, err := t.submit(ctx, t.message, "Something else.")
	if err != nil {
		return err
	}
	return a.RefusedFor("another request under the same key", submissionOther)
}

// t42Ended completes the task, refuses what comes late, and compares what callers see.
func (d *drill) t42Ended(ctx context.Context, t *trace, s *stream) error {
	done, err := t.report(ctx, e6)
	if err != nil {
		return err
	}
	if err := s.ends(ctx, d.running.product); err != nil {
		return err
	}
	if err := brought(s, 8, 9, 10, 11, 12, 13); err != nil {
		return err
	}
	before, err := t.ledger(ctx, t.task, 0)
	if err != nil {
		return err
	}
	for range 2 {
		if err := t.refused(ctx, e7, postTerminal); err != nil {
			return err
		}
	}
	if err := t.submission(ctx); err != nil {
		return err
	}
	after, err := t.ledger(ctx, t.task, 0)
	if err != nil {
		return err
	}
	if done.State != stateCompleted || after.Head.Seq != 13 || after.Head.Chain != before.Head.Chain || after.Head.State != stateCompleted {
		return fmt.Errorf("E6 was answered with %+v; E7 led from %+v to %+v", done, before.Head, after.Head)
	}
	is, err := t.door.task(ctx, t.task)
	if err != nil {
		return err
	}
	if want := []string{draftBefore, draftMiddle, draftLast}; !slices.Equal(viewOf(is).Artifacts[draft], want) {
		return fmt.Errorf("the draft is %q, want %q", viewOf(is).Artifacts[draft], want)
	}
	return d.seeTheSame(is, s, d.t42v)
}

// seeTheSame holds who folds a resumed stream from nothing, and who folds it into what
// he had, against the task.
func (d *drill) seeTheSame(is task, s *stream, had view) error {
	fresh, err := fromNothing(s.Kept())
	if err != nil {
		return err
	}
	resumed, err := had.onward(s.Kept())
	if err != nil {
		return err
	}
	return errors.Join(fresh.same("who started from nothing", viewOf(is)), resumed.same("who presented cursors", viewOf(is)))
}

// brought is an error unless a stream brought these updates, and no others.
func brought(s *stream, want ...uint64) error {
	got, err := s.ids()
	if err == nil && !slices.Equal(got, want) {
		err = fmt.Errorf("a stream brought %v, want %v", got, want)
	}
	return err
}

// kinds counts the entries of a kind.
func kinds(all page, kind string) (n int) {
	for _, e := range all.Entries {
		if e.Type == kind {
			n++
		}
	}
	return n
}

// beginTwin brings another task as far as the second chunk of its draft, where it
// stays until the end: it is at work through every restart.
func (d *drill) beginTwin(ctx context.Context) error {
	d.twin = d.newTrace("T-42's twin")
	if err := d.twin.tellAll(ctx, nil, untilInput); err != nil {
		return err
	}
	is, err := d.twin.door.task(ctx, d.twin.task)
	if err != nil {
		return err
	}
	d.seen = viewOf(is)
	return d.twin.tellAll(ctx, nil, untilDraft)
}
