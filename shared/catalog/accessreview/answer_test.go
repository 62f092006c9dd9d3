package accessreview

import (
	"fmt"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/events"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

func TestAnswers(t *testing.T) {
	user := func(parts ...*a2a.Part) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, parts...) }
	text := func(s string) *a2a.Message { return user(a2a.NewTextPart(s)) }
	list := func(v ...any) map[string]any { return map[string]any{"approve": v} }
	for _, c := range []struct {
		m    *a2a.Message
		want []int
		bad  bool
	}{
		{m: text("approve all"), want: []int{1, 2, 3, 4, 5}},
		{m: text("Approve ALL."), want: []int{1, 2, 3, 4, 5}},
		{m: text("  approve\n\tnone  ")},
		{m: text("approve 1,2,5"), want: []int{1, 2, 5}},
		{m: text("APPROVE 5 , 1,1 2"), want: []int{1, 2, 5}},
		{m: text("approve 3"), want: []int{3}},
		{m: data(map[string]any{"approve": "all"}), want: []int{1, 2, 3, 4, 5}},
		{m: data(map[string]any{"approve": "None", "by": "Olga"})},
		{m: data(list(2.0, 1.0)), want: []int{1, 2}},
		{m: data(list())},
		{m: user(a2a.NewTextPart("approve all"), a2a.NewDataPart(list(4.0))), want: []int{4}},

		{m: text(""), bad: true},
		{m: text("yes"), bad: true},
		{m: text("all"), bad: true},
		{m: text("approve"), bad: true},
		{m: text("approved all"), bad: true},
		{m: text("approve all but 3"), bad: true},
		{m: text("approve 1,6"), bad: true},
		{m: text("approve 0"), bad: true},
		{m: text("approve -1"), bad: true},
		{m: text("approve 1.5"), bad: true},
		{m: text("approve 1-3"), bad: true},
		{m: text("approve 99999999999999999999"), bad: true},
		{m: text("do not approve all"), bad: true},
		{m: text("approve all\napprove none"), bad: true},
		{m: data("approve all"), bad: true},
		{m: data(map[string]any{}), bad: true},
		{m: data(map[string]any{"approve": true}), bad: true},
		{m: data(map[string]any{"approve": "some"}), bad: true},
		{m: data(list(1.5)), bad: true},
		{m: data(list("1")), bad: true},
		{m: data(list(6.0)), bad: true},
		{m: data(list(1e300)), bad: true},
		{m: user(a2a.NewTextPart("approve all"), a2a.NewDataPart(map[string]any{"approve": "some"})), bad: true},
		{m: user(a2a.NewDataPart(list(1.0)), a2a.NewDataPart(list(2.0))), bad: true},
	} {
		got, err := readAnswer(c.m, 5)
		if (err != nil) != c.bad || !slices.Equal(got, c.want) {
			t.Errorf("answer %q %v: approves %v, error %v; want %v, an error: %v", agent.Text(c.m), c.m.Parts[len(c.m.Parts)-1].Data(), got, err, c.want, c.bad)
		}
	}
}

func TestUnreadableAnswerIsAskedAgain(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	r := start(t, build(w, 1)).WantPause("Revoke 14 …").
		Reply("looks fine to me").
		WantPause("That answer could not be read: it does not begin with \"approve\" and say what. Nothing was revoked.\n\nRevoke 14 …").
		CrashBeforeCommit("answer").
		Reply("approve 15").
		WantPause("That answer could not be read: there is no proposal 15, they go from 1 to 14. …").
		Reply("approve 1,2").
		WantCompleted("…2 revoked, 12 kept.")
	w.wantOnce(t, 2)
	s := reported(t, r)
	for i, p := range s.Proposals {
		want := "kept"
		if i < 2 {
			want = "revoked"
		}
		if p.Decision != want {
			t.Errorf("proposal %d was %s, want %s", p.ID, p.Decision, want)
		}
	}
}

func TestApproveNone(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	start(t, build(w, 1)).ReplyWith(data(map[string]any{"approve": "none"})).WantCompleted("…0 revoked, 14 kept.")
	w.wantOnce(t, 0)
}

func TestTooManyUnreadableAnswers(t *testing.T) {
	w := newWorld(t, events.AccessReviewCSV)
	r := start(t, build(w, 1))
	for i := range maxUnread {
		r.Reply(fmt.Sprint("what? ", i))
	}
	r.WantRejected("5 answers could not be read, …Nothing was revoked. …")
	w.wantOnce(t, 0)
}
