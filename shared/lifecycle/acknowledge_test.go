package lifecycle_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestAcknowledge: from an acknowledgement on the shorter retention counts, never a longer one, and while a webhook is owed
// something none that its deliveries would outlive.
func TestAcknowledge(t *testing.T) {
	const retention = lifecycle.DefaultRetention
	end := start.Add(time.Minute)
	for _, c := range []struct {
		what      string
		exported  time.Duration
		owed      bool
		after     time.Duration // the end
		wantAfter time.Duration // the end
	}{
		{"the policy says nothing of it", 0, false, time.Hour, retention},
		{"sooner", 5 * day, false, time.Hour, 5*day + time.Hour},
		{"sooner, and a webhook is owed something", 5 * day, true, time.Hour, 5*day + time.Hour},
		{"much sooner", time.Hour, false, time.Hour, 2 * time.Hour},
		{"much sooner, and a webhook is owed something", time.Hour, true, time.Hour, lifecycle.MinRetention},
		{"a webhook is owed something for very long", time.Hour, true, 20 * day, 20*day + time.Hour},
		{"late, and never longer", 5 * day, false, 29 * day, retention},
		{"late, a webhook is owed something, and never longer", time.Hour, true, retention - time.Minute, retention},
		{"longer than without", 60 * day, false, time.Hour, retention},
	} {
		b := under(t, &lifecycle.Terms{Digest: "d", Seconds: lifecycle.Spans{Exported: int64(c.exported / time.Second)}})
		b.endAs(t, lifecycle.Completed, end)
		before, at := b.task.Head, end.Add(c.after)
		h, err := lifecycle.Acknowledge(before, before.TerminalReceipt(), c.owed, at)
		if err != nil || !h.AckedAt.Equal(at) || !h.ExpiresAt.Equal(end.Add(c.wantAfter)) {
			t.Errorf("%s: acknowledged %s, kept for %s (%v), want %s", c.what, h.AckedAt, h.ExpiresAt.Sub(end), err, c.wantAfter)
		}
		if !reflect.DeepEqual(h.Folded(), before.Folded()) {
			t.Errorf("%s: the acknowledgement is folded (I1):\n%+v\n%+v", c.what, h.Folded(), before.Folded())
		}
		if broken := lifecycle.Check(lifecycle.Task{Head: h}); len(broken) > 0 {
			t.Errorf("%s: %v", c.what, broken)
		}
		again, err := lifecycle.Acknowledge(h, h.TerminalReceipt(), false, at.Add(time.Hour))
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Errorf("%s: the second time it is %+v (%v)", c.what, again, err)
		}
	}
}

// TestAcknowledgeRefused: only the terminal receipt of a task that has ended is acknowledged, and a wrong one changes
// nothing, also later.
func TestAcknowledgeRefused(t *testing.T) {
	b := under(t, terms())
	live := b.task.Head
	if h, err := lifecycle.Acknowledge(live, live.TerminalReceipt(), false, start); !lifecycle.RejectedFor(err, lifecycle.NotDue) || !reflect.DeepEqual(h, live) {
		t.Errorf("a live task: %v", err)
	}
	b.endAs(t, lifecycle.Failed, start)
	ended := b.task.Head
	acked, err := lifecycle.Acknowledge(ended, ended.TerminalReceipt(), false, start)
	if err != nil {
		t.Fatal(err)
	}
	for what, receipt := range map[string]lifecycle.TerminalReceipt{
		"another digest": {Seq: ended.Seq, Chain: live.Chain}, "another sequence": {Seq: live.Seq, Chain: ended.Chain}, "an earlier entry": live.TerminalReceipt(), "none": {},
	} {
		for _, h := range []lifecycle.Head{ended, acked} {
			if got, err := lifecycle.Acknowledge(h, receipt, false, start); !lifecycle.RejectedFor(err, lifecycle.ReceiptMismatch) || !reflect.DeepEqual(got, h) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

// TestAcknowledgedIsChecked: a mark that no acknowledgement makes is found.
func TestAcknowledgedIsChecked(t *testing.T) {
	b := under(t, terms())
	live := b.task
	b.endAs(t, lifecycle.Completed, start)
	for what, change := range map[string]func(*lifecycle.Head){
		"kept longer":               func(h *lifecycle.Head) { h.ExpiresAt = h.ExpiresAt.Add(60 * day) },
		"kept shorter":              func(h *lifecycle.Head) { h.ExpiresAt = h.ExpiresAt.Add(-time.Millisecond) },
		"acknowledged too early":    func(h *lifecycle.Head) { h.AckedAt = h.StatusAt.Add(-time.Millisecond) },
		"a live task, acknowledged": func(h *lifecycle.Head) { *h = live.Head; h.AckedAt = start },
	} {
		h, err := lifecycle.Acknowledge(b.task.Head, b.task.TerminalReceipt(), false, start.Add(time.Hour))
		if err != nil || len(lifecycle.Check(lifecycle.Task{Head: h})) > 0 {
			t.Fatal(err)
		}
		change(&h)
		if len(lifecycle.Check(lifecycle.Task{Head: h})) == 0 {
			t.Errorf("%s: not found", what)
		}
	}
}

// TestAcknowledgeMovesWhatIsDue: whoever purges looks when the task expires, not before and not later.
func TestAcknowledgeMovesWhatIsDue(t *testing.T) {
	b := under(t, terms())
	b.endAs(t, lifecycle.Completed, start)
	h := b.task.Head
	h.DueAt = h.ExpiresAt
	acked, err := lifecycle.Acknowledge(h, h.TerminalReceipt(), false, start.Add(time.Hour))
	if err != nil || !acked.ExpiresAt.Before(h.ExpiresAt) || !acked.DueAt.Equal(acked.ExpiresAt) {
		t.Errorf("expires at %s, due at %s (%v)", acked.ExpiresAt, acked.DueAt, err)
	}
}
