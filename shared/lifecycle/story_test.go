package lifecycle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestStories plays testdata/*.txt: a command, then exactly what came of it. A file is one story. -update writes
// the outputs anew; before committing the difference, ask whether the story still ends as its name says.
//
// Instants are written as time since the story began (+1m30s). After every command the invariants are checked; a
// broken one ends the test, whatever the file says.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d stories, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			script, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Base(file), play(t, string(script)))
		})
	}
}

// play runs a script and returns it with what came out.
func play(t *testing.T, script string) string {
	t.Helper()
	s := &story{t: t, book: newBook("t-1"), now: start, fences: map[string]uint64{}, effects: map[string]*lifecycle.Effect{}, places: map[string]uint64{}}
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(script, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if strings.HasPrefix(line, "#") || line == "" {
			out.WriteString(line + "\n")
			continue
		}
		fmt.Fprintf(&out, "%s\n----\n%s", line, s.run(line))
		for i+1 < len(lines) && lines[i+1] != "" { // the recorded output
			i++
		}
	}
	return out.String()
}

// story is the state of one script.
type story struct {
	t *testing.T
	*book
	now     time.Time
	fences  map[string]uint64 // what each holder believes
	effects map[string]*lifecycle.Effect
	places  map[string]uint64 // the last report of each outside producer that was accepted
}

// words are a command's arguments: words, and key=value pairs by key.
type words struct {
	plain []string
	named map[string][]string
}

func (w words) at(i int) string {
	if i < len(w.plain) {
		return w.plain[i]
	}
	return ""
}

func (w words) get(key, otherwise string) string {
	if v := w.named[key]; len(v) > 0 {
		return v[0]
	}
	return otherwise
}

func (w words) flag(name string) bool {
	return slices.Contains(w.plain, name)
}

// split cuts a line at spaces outside quotation marks.
func split(line string) words {
	w := words{named: map[string][]string{}}
	quoted := false
	fields := strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
	for _, f := range fields {
		key, value, pair := strings.Cut(f, "=")
		if pair && !strings.HasPrefix(f, `"`) {
			w.named[key] = append(w.named[key], strings.ReplaceAll(value, `"`, ""))
		} else {
			w.plain = append(w.plain, strings.ReplaceAll(f, `"`, ""))
		}
	}
	return w
}

func (s *story) run(line string) string {
	w := split(line)
	switch w.at(0) {
	case "task":
		s.book, s.fences, s.effects = newBook(a2a.TaskID(w.at(1))), map[string]uint64{}, map[string]*lifecycle.Effect{}
		s.places = map[string]uint64{}
		return "nothing is known of " + w.at(1) + "\n"
	case "advance":
		s.now = s.now.Add(s.duration(w.at(1)))
		return s.instant(s.now) + "\n"
	case "effect":
		return s.effect(w)
	case "show":
		return s.show()
	case "head":
		return s.head() + "\n"
	case "check":
		if broken := lifecycle.Check(s.task); len(broken) > 0 {
			return broken[0].Error() + "\n"
		}
		return "nothing is broken\n"
	case "fold":
		if err := s.fold(); err != nil {
			return err.Error() + "\n"
		}
		return fmt.Sprintf("%d entries fold to the head\n", len(s.entries))
	}
	cmd, src := s.command(w)
	answered := s.task.Pause
	entries, rejection, broken := s.do(cmd, src, s.now)
	if broken != nil {
		s.t.Fatalf("%s: %v", line, broken)
	}
	if g, ok := cmd.(lifecycle.Grant); ok && rejection == nil && s.task.Holder == g.Holder {
		s.fences[g.Holder] = s.task.Fence
	}
	if r, ok := cmd.(lifecycle.Report); ok && rejection == nil && r.Place != nil {
		s.places[r.Holder] = r.Place.Seq
	}
	var out strings.Builder
	for _, e := range entries {
		out.WriteString(s.entry(e) + "\n")
	}
	if answered != nil && s.task.Pause == nil {
		fmt.Fprintf(&out, "pause %d is answered\n", answered.Number)
	}
	if rejection != nil {
		fmt.Fprintf(&out, "refused %s\n", s.relative(rejection.Error()))
	}
	if rejection == nil || len(entries) > 0 {
		out.WriteString(s.head() + "\n")
	}
	return out.String()
}

// head is the task in one line.
func (s *story) head() string {
	h := s.task.Head
	out := fmt.Sprintf("= %s seq=%d step=%s visit=%d", name(h.State), h.Seq, h.Step, h.Visit)
	add := func(when bool, format string, args ...any) {
		if when {
			out += fmt.Sprintf(" "+format, args...)
		}
	}
	add(h.Fence > 0, "fence=%d", h.Fence)
	add(h.Holder != "", "holder=%s until=%s", h.Holder, s.instant(h.LeaseUntil))
	add(h.Generation > 1, "generation=%d", h.Generation)
	add(h.Grants > 0, "grants=%d", h.Grants)
	add(h.Attempt > 0, "failed=%d", h.Attempt)
	add(!h.NextAt.IsZero(), "next=%s", s.instant(h.NextAt))
	if h.Pause != nil {
		add(true, "pause=%d deadline=%s outcome=%s", h.Pause.Number, s.instant(h.Pause.DeadlineAt), name(h.Pause.Outcome))
		add(h.Pause.Named, "named")
	}
	if h.Challenge != nil {
		add(true, "challenge=%d", h.Challenge.Number)
	}
	add(h.Cancel != nil, "cancel-requested")
	add(h.Artifacts > 0, "artifacts=%d open=%d", h.Artifacts, h.Unsealed)
	add(!h.DueAt.IsZero(), "due=%s", s.instant(h.DueAt))
	add(!h.ExpiresAt.IsZero(), "expires=%s", s.instant(h.ExpiresAt))
	return out
}

// entry is an entry in one line.
func (s *story) entry(e lifecycle.Entry) string {
	ev, err := e.Event()
	if err != nil {
		s.t.Fatal(err)
	}
	out := fmt.Sprintf("%d %s", e.Seq, e.Type)
	add := func(when bool, format string, args ...any) {
		if when {
			out += fmt.Sprintf(" "+format, args...)
		}
	}
	add(ev.State != "", "-> %s", name(ev.State))
	add(ev.Message != nil, "%q", text(ev.Message))
	if c := ev.Checkpoint; c != nil {
		add(true, "checkpoint(%s visit %d)", c.Step, c.Visit)
	}
	if c := ev.Chunk; c != nil {
		add(true, "%s/%d/%d %q", c.Artifact, c.Revision, c.Number, c.Part.Text())
		add(c.Last, "last")
	}
	if p := ev.Pause; p != nil {
		add(true, "pause(%d until %s)", p.Number, s.instant(p.DeadlineAt))
		add(p.Challenge != nil, "challenge")
	}
	if w := ev.Wait; w != nil {
		add(true, "wait(until %s, failed %d)", s.instant(w.Until), w.Attempt)
		add(w.Reason != "", "%q", w.Reason)
	}
	if r := ev.Receipt; r != nil {
		add(true, "receipt(%s by %s)", r.JTI, r.Issuer)
	}
	add(ev.Cancel != nil, "requested")
	if end := ev.Ending; end != nil {
		add(end.Reason != "", "(%s)", end.Reason)
		for _, a := range end.Manifest {
			add(true, "[%s/%d %d chunks %d bytes]", a.ID, a.Revision, a.Chunks, a.Bytes)
		}
	}
	add(e.Fence > 0, "by %s under fence %d", e.Holder, e.Fence)
	add(!strings.HasPrefix(e.EventID, e.OpID), "as %s", e.EventID)
	return out
}

func text(m *a2a.Message) string {
	out := ""
	if m == nil {
		return out
	}
	for _, p := range m.Parts {
		out += p.Text()
	}
	return out
}

// show is the task as a caller reads it.
func (s *story) show() string {
	t := s.view.Task()
	var out strings.Builder
	out.WriteString("status " + name(t.Status.State) + " since " + s.instant(*t.Status.Timestamp))
	if t.Status.Message != nil {
		fmt.Fprintf(&out, " %q", text(t.Status.Message))
	}
	for _, m := range t.History {
		fmt.Fprintf(&out, "\nhistory %s %s %q", strings.ToLower(strings.TrimPrefix(string(m.Role), "ROLE_")), m.ID, text(m))
	}
	for _, a := range t.Artifacts {
		fmt.Fprintf(&out, "\nartifact %s", a.ID)
		for _, p := range a.Parts {
			fmt.Fprintf(&out, " %q", p.Text())
		}
	}
	return out.String() + "\n"
}

func (s *story) instant(t time.Time) string { return "+" + t.Sub(start).String() }

// relative writes the instants of a sentence as time since the beginning.
func (s *story) relative(sentence string) string {
	fields := strings.Fields(sentence)
	for i, f := range fields {
		if t, err := time.Parse(time.RFC3339Nano, f); err == nil {
			fields[i] = s.instant(t)
		}
	}
	return strings.Join(fields, " ")
}

func (s *story) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func (s *story) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}
