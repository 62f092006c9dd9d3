package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/local/watch"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// silence is a pause in the timeline that gets a line of its own.
const silence = time.Minute

// show prints what an operator wants to know of a task.
func show(ctx context.Context, args []string, out, logs io.Writer) error {
	o, err := parseOrigin("show", "Shows a task as operators see it: state, lease, timeline, what was refused, effects, webhooks. exit code: 0; 1 when something is broken or not there.", args, logs, true)
	if err != nil {
		return err
	}
	p, report, err := o.read(ctx)
	if err != nil {
		return err
	}
	s := sheet{out: out, now: p.Header.ExportedAt, task: p}
	s.top()
	s.timeline()
	s.pauses()
	s.artifacts()
	s.effects()
	s.refused()
	s.acts()
	s.endpoints()
	if s.task.Settlement != nil {
		s.settlement()
	}
	if report.Manifest != "" {
		s.title("receipt")
		s.line("entry %d, digest %s, manifest %s", report.Seq, report.Chain, report.Manifest)
	}
	s.title("check")
	if err := broken("the task", report, indented{out}); err != nil {
		return err
	}
	s.line("nothing is broken in %d entries", report.Counts.Entry)
	return nil
}

// sheet prints a task.
type sheet struct {
	out  io.Writer
	now  time.Time // when it was exported
	task *export.Replayed
}

// line prints a line without what a terminal would obey.
func (s sheet) line(format string, args ...any) {
	fmt.Fprintln(s.out, "  "+strings.TrimRight(printable(fmt.Sprintf(format, args...)), " "))
}

func (s sheet) title(name string) { fmt.Fprintln(s.out, "\n"+name) }

func (s sheet) field(name, format string, args ...any) {
	s.line("%-10s "+format, append([]any{name}, args...)...)
}

func (s sheet) top() {
	h := s.task.Head
	fmt.Fprintln(s.out, "task "+printable(string(s.task.Header.Task)))
	s.field("agent", "%s@%d under policy %s, context %s", h.Agent, h.AgentVersion, h.Policy, h.ContextID)
	age := s.now.Sub(h.AcceptedAt)
	if h.State.Terminal() {
		age = h.StatusAt.Sub(h.AcceptedAt)
	}
	s.field("state", "%s since %s; accepted %s, %s old", watch.StateName(h.State), instant(h.StatusAt), instant(h.AcceptedAt), span(age))
	s.field("step", "%s, visit %d, %d failed attempts", h.Step, h.Visit, h.Attempt)
	if h.Holder == "" {
		s.field("lease", "nobody holds it; fence %d, generation %d", h.Fence, h.Generation)
	} else {
		s.field("lease", "%s until %s; fence %d, generation %d, %d grants without an entry", h.Holder, instant(h.LeaseUntil), h.Fence, h.Generation, h.Grants)
	}
	s.field("sequence", "%d, chain %s", h.Seq, h.Chain)
	if !h.NextAt.IsZero() {
		s.field("next", "not before %s", instant(h.NextAt))
	}
	if !h.DueAt.IsZero() {
		s.field("due", "%s; ends by %s", instant(h.DueAt), instant(h.LifeEndsAt))
	}
	if !h.ExpiresAt.IsZero() {
		s.field("expires", "%s", instant(h.ExpiresAt))
	}
	if !h.AckedAt.IsZero() {
		s.field("exported", "acknowledged %s", instant(h.AckedAt))
	}
	if h.Cancel != nil {
		s.field("cancel", "requested %s, not met yet", instant(h.Cancel.At))
	}
	if c := h.Counts; c != nil {
		s.field("counters", "%d rejections, of which %d incidents; %d lookup hits; %d quarantined", c.Rejections, c.Incidents, c.Hits, c.Quarantined)
	}
	if m := h.Moved; m != nil {
		s.field("moving", "it went on while it was read: entry %d, fence %d", m.Seq, m.Fence)
	}
}

func (s sheet) timeline() {
	s.title("timeline")
	var last time.Time
	for _, e := range s.task.Entries {
		if gap := e.AcceptedAt.Sub(last); !last.IsZero() && gap >= silence {
			s.line("      -- %s of silence --", span(gap))
		}
		last = e.AcceptedAt
		by := e.Producer
		if e.Fence > 0 {
			by = fmt.Sprintf("%s, fence %d", e.Holder, e.Fence)
		}
		ev, err := e.Event()
		if err != nil {
			s.line("%5d %s %-16s %v", e.Seq, e.AcceptedAt.UTC().Format("15:04:05.000"), e.Type, err)
			continue
		}
		s.line("%5d %s %-16s %-15s %s", e.Seq, e.AcceptedAt.UTC().Format("15:04:05.000"), e.Type, watch.StateName(ev.State), strings.Join(append(facts(ev), "by "+by), ", "))
	}
}

// facts are what an entry says, in short.
func facts(ev lifecycle.Event) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c := ev.Chunk; c != nil {
		add("%s/%d/%d of %d bytes", c.Artifact, c.Revision, c.Number, c.Bytes)
	}
	if c := ev.Checkpoint; c != nil {
		add("checkpoint %s, visit %d", c.Step, c.Visit)
	}
	if p := ev.Pause; p != nil {
		add("pause %d until %s", p.Number, instant(p.DeadlineAt))
	}
	if w := ev.Wait; w != nil {
		add("until %s", instant(w.Until))
		if w.Reason != "" {
			add("attempt %d: %s", w.Attempt, w.Reason)
		}
	}
	if r := ev.Receipt; r != nil {
		add("receipt %s of %s for challenge %d", r.JTI, r.Issuer, r.Challenge)
	}
	if e := ev.Ending; e != nil && e.Reason != "" {
		add("%s", e.Reason)
	}
	return out
}

func (s sheet) pauses() {
	var open *lifecycle.Pause
	for _, e := range s.task.Entries {
		ev, err := e.Event()
		switch {
		case err != nil:
			return
		case ev.Pause != nil:
			if ev.Pause.Number == 1 {
				s.title("pauses")
			}
			open = ev.Pause
			s.line("%d  %s, asked %s, deadline %s, then %s", open.Number, watch.StateName(ev.State), instant(e.AcceptedAt), instant(open.DeadlineAt), watch.StateName(open.Outcome))
			if c := open.Challenge; c != nil {
				s.line("   challenge %d: %s", c.Number, c.Action)
			}
		case open != nil && ev.State != "":
			s.line("   left by entry %d (%s) %s", e.Seq, e.Type, instant(e.AcceptedAt))
			open = nil
		}
	}
	if open != nil {
		s.line("   open, %s left", span(open.DeadlineAt.Sub(s.now)))
	}
}

func (s sheet) artifacts() {
	if len(s.task.Artifacts) > 0 {
		s.title("artifacts")
	}
	for _, a := range s.task.Artifacts {
		sealed := "open"
		if a.Sealed {
			sealed = "sealed"
		}
		s.line("%s  revision %d, %d chunks, %d bytes, %s, digest %s", a.ID, a.Revision, a.Chunks, a.Bytes, sealed, a.Digest)
	}
}

func (s sheet) effects() {
	if len(s.task.Effects) > 0 {
		s.title("effects")
	}
	for _, e := range s.task.Effects {
		s.line("%-9s %s  visit %d, %d calls, fence %d, %s; %s", e.State, e.Name, e.Visit, e.Calls, e.Fence, e.Evidence, undone(s.task.Terms, e.Name))
	}
}

func (s sheet) refused() {
	if len(s.task.Rejected) > 0 {
		s.title("refused")
	}
	for _, r := range s.task.Rejected {
		what := string(r.Reason)
		if r.Reason == lifecycle.ConflictingContent {
			what += " (incident)"
		}
		s.line("%s %s  %s %s: %s", instant(r.At), what, r.Producer, r.EventID, r.Detail)
	}
	if len(s.task.Late) > 0 {
		s.title("quarantined")
	}
	for _, q := range s.task.Late {
		s.line("%s %s %s  %d bytes, digest %s", instant(q.At), q.Producer, q.EventID, q.Bytes, q.Digest)
	}
}

// acts are what operators did, and who.
func (s sheet) acts() {
	if len(s.task.Acts) > 0 {
		s.title("operators")
	}
	for _, a := range s.task.Acts {
		s.line("%s %s  by %s  %s", instant(a.At), a.Action, a.By, a.Detail)
		if a.Refused != "" {
			s.line("   refused: %s", a.Refused)
		}
	}
}

func (s sheet) endpoints() {
	if len(s.task.Endpoints) > 0 {
		s.title("webhooks")
	}
	for _, e := range s.task.Endpoints {
		s.line("%s  %s, %s, has %d of %d, %d delivered, %d failures in a row", e.ID, e.Origin, cmp.Or(string(e.State), "active"), e.Cursor, max(e.Wanted, s.task.Head.Seq), e.Delivered, e.Failures)
		for _, a := range e.Attempts {
			s.line("   %s entry %d, attempt %d: %d %s in %d ms", instant(a.At), a.Seq, a.Number, a.Status, a.Error, a.Millis)
		}
		if !e.NextAt.IsZero() {
			s.line("   next attempt %s", instant(e.NextAt))
		}
		if e.State != ledger.DeliveryActive {
			s.line("   nothing more is sent, until it is configured again or: local redeliver %s --endpoint %s", s.task.Header.Task, e.ID)
		}
	}
}

// indented writes each line as a sheet's.
type indented struct{ out io.Writer }

// Write implements io.Writer.
func (w indented) Write(b []byte) (int, error) {
	if _, err := w.out.Write(append([]byte("  "), b...)); err != nil {
		return 0, err
	}
	return len(b), nil
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// span is a duration for people.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= 2*day {
		return fmt.Sprintf("%d days", d/day)
	}
	return d.Round(time.Second).String()
}
