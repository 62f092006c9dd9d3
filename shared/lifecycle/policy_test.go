package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const day = 24 * time.Hour

// terms say something of everything.
func terms() *lifecycle.Terms {
	const daySeconds = int64(day / time.Second)
	return &lifecycle.Terms{
		Digest: lifecycle.DigestBytes([]byte("document")),
		Seconds: lifecycle.Spans{
			Lease: 45, Pause: 2 * daySeconds, Failed: 90 * daySeconds, Canceled: 5 * daySeconds, Rejected: 4 * daySeconds, Exported: daySeconds,
		},
		Billing: lifecycle.Billing{Basis: lifecycle.BillEffects, Units: 3},
		Effects: map[string]lifecycle.EffectTerms{"revoke-*": {By: "the system's owner", Units: 1}},
	}
}

// under is a task that was accepted under terms, and is worked on.
func under(t testing.TB, terms *lifecycle.Terms) *book {
	t.Helper()
	b, c := newBook("t-1"), submit()
	c.Policy.Terms = terms
	b.must(t, c, start)
	b.must(t, grant("a", 1), start)
	return b
}

// endAs ends a task.
func (b *book) endAs(t testing.TB, state a2a.TaskState, at time.Time) {
	t.Helper()
	switch state {
	case lifecycle.Canceled:
		b.must(t, b.report(lifecycle.VerbContinue), at)
		b.must(t, lifecycle.RequestCancel{}, at)
	default:
		verb := map[a2a.TaskState]lifecycle.Verb{lifecycle.Completed: lifecycle.VerbComplete, lifecycle.Failed: lifecycle.VerbFail, lifecycle.Rejected: lifecycle.VerbReject}[state]
		b.must(t, b.report(verb), at)
	}
	if b.task.State != state {
		t.Fatalf("the task ended as %s, want %s", b.task.State, state)
	}
}

var outcomes = []a2a.TaskState{lifecycle.Completed, lifecycle.Failed, lifecycle.Canceled, lifecycle.Rejected}

// TestTermsAreRecorded: the submission says all that its policy says, and reads back.
func TestTermsAreRecorded(t *testing.T) {
	for what, want := range map[string]*lifecycle.Terms{"all": terms(), "the digest alone": {Digest: "d"}, "none": nil} {
		b := under(t, want)
		ev, err := b.entries[0].Event()
		if err != nil || !reflect.DeepEqual(ev.Submission.Terms, want) {
			t.Errorf("%s: recorded %+v (%v), want %+v", what, ev.Submission.Terms, err, want)
		}
		if there := strings.Contains(string(b.entries[0].Payload), `"terms"`); there != (want != nil) {
			t.Errorf("%s: the submission is %s", what, b.entries[0].Payload)
		}
	}
}

// TestRetentionPerOutcome: how long an ended task is kept is what its policy says of such an end; without a word about it,
// as of a completed one.
func TestRetentionPerOutcome(t *testing.T) {
	general := lifecycle.DefaultRetention
	for _, c := range []struct {
		what  string
		terms *lifecycle.Terms
		want  [4]time.Duration // completed, failed, canceled, rejected
	}{
		{"an old submission", nil, [4]time.Duration{general, general, general, general}},
		{"a document that says nothing of it", &lifecycle.Terms{Digest: "d"}, [4]time.Duration{general, general, general, general}},
		{"a document that says it of each", terms(), [4]time.Duration{general, 90 * day, 5 * day, 4 * day}},
		{"a document that says it of one", &lifecycle.Terms{Digest: "d", Seconds: lifecycle.Spans{Rejected: 3600}}, [4]time.Duration{general, general, general, time.Hour}},
	} {
		for i, state := range outcomes {
			b, at := under(t, c.terms), start.Add(time.Minute)
			b.endAs(t, state, at)
			if got := b.task.ExpiresAt.Sub(at); got != c.want[i] {
				t.Errorf("%s, %s: kept for %s, want %s", c.what, name(state), got, c.want[i])
			}
			if b.task.Expired(b.task.ExpiresAt.Add(-time.Millisecond)) || !b.task.Expired(b.task.ExpiresAt) {
				t.Errorf("%s, %s: does not expire at %s", c.what, name(state), b.task.ExpiresAt)
			}
		}
	}
}

// TestLongestPause: a pause that is asked for longer than the policy has it is cut, for the agent cannot know the policy;
// one beyond the limit of the product is refused, for that it can know.
func TestLongestPause(t *testing.T) {
	for _, c := range []struct {
		what        string
		longest     int64
		asked, want time.Duration
	}{
		{"shorter than the policy's", 7200, time.Hour, time.Hour},
		{"as long", 7200, 2 * time.Hour, 2 * time.Hour},
		{"longer", 7200, 3 * time.Hour, 2 * time.Hour},
		{"longer, and as long as there is", 7200, lifecycle.MaxPause, 2 * time.Hour},
		{"none asked for", 7200, 0, 2 * time.Hour},
		{"none asked for, and a generous policy", int64(20 * day / time.Second), 0, lifecycle.DefaultPause},
		{"no policy on it", 0, lifecycle.MaxPause, lifecycle.MaxPause},
		{"a policy beyond the product's limit", int64(400 * day / time.Second), lifecycle.MaxPause, lifecycle.MaxPause},
	} {
		for _, state := range []a2a.TaskState{lifecycle.InputRequired, lifecycle.AuthRequired} {
			b := under(t, &lifecycle.Terms{Digest: "d", Seconds: lifecycle.Spans{Pause: c.longest}})
			r := b.report(lifecycle.VerbPause)
			r.Pause = &lifecycle.PauseTerms{State: state, Timeout: c.asked}
			if state == lifecycle.AuthRequired {
				r.Pause.Challenge = &lifecycle.Challenge{Action: "act"}
			}
			b.must(t, r, start)
			if got := b.task.Pause.DeadlineAt.Sub(start); got != c.want {
				t.Errorf("%s, %s: %s, want %s", c.what, name(state), got, c.want)
			}
			if ch := b.task.Challenge; ch != nil && !ch.ExpiresAt.Equal(b.task.Pause.DeadlineAt) {
				t.Errorf("%s: the challenge is open until %s, the pause until %s", c.what, ch.ExpiresAt, b.task.Pause.DeadlineAt)
			}
		}
	}
	b := under(t, &lifecycle.Terms{Digest: "d", Seconds: lifecycle.Spans{Pause: 7200}})
	r := b.report(lifecycle.VerbPause)
	r.Pause = &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: lifecycle.MaxPause + 1}
	b.refused(t, r, start, lifecycle.LimitReached)
}

// TestLease: a lease lasts as the policy says, and where it says nothing as its holder is configured.
func TestLease(t *testing.T) {
	for _, c := range []struct {
		terms *lifecycle.Terms
		want  time.Duration
	}{{nil, time.Minute}, {&lifecycle.Terms{Digest: "d"}, time.Minute}, {terms(), 45 * time.Second}} {
		if got := under(t, c.terms).task.Lease(time.Minute); got != c.want {
			t.Errorf("%+v: a lease of %s, want %s", c.terms, got, c.want)
		}
	}
}

// TestPolicyIsBounded: what a policy says is in the first entry of every task.
func TestPolicyIsBounded(t *testing.T) {
	long := strings.Repeat("n", lifecycle.MaxIDBytes)
	for what, change := range map[string]func(*lifecycle.Terms){
		"a lease below zero":     func(t *lifecycle.Terms) { t.Seconds.Lease = -1 },
		"a retention below zero": func(t *lifecycle.Terms) { t.Seconds.Exported = -1 },
		"units below zero":       func(t *lifecycle.Terms) { t.Billing.Units = -1 },
		"an effect's units":      func(t *lifecycle.Terms) { t.Effects["pay"] = lifecycle.EffectTerms{Units: -1} },
		"an effect's name":       func(t *lifecycle.Terms) { t.Effects[long] = lifecycle.EffectTerms{} },
		"who undoes it":          func(t *lifecycle.Terms) { t.Effects["pay"] = lifecycle.EffectTerms{By: long} },
		"effects": func(t *lifecycle.Terms) {
			for i := range lifecycle.MaxEffectTerms {
				t.Effects[fmt.Sprint("pay-", i)] = lifecycle.EffectTerms{}
			}
		},
	} {
		c := submit()
		c.Policy.Terms = terms()
		newBook("t-1").must(t, c, start)
		change(c.Policy.Terms)
		t.Run(what, func(t *testing.T) { newBook("t-1").refused(t, c, start, lifecycle.LimitReached) })
	}
}

// TestTermsStayJSON: the names that are recorded do not change; old entries are read for ever.
func TestTermsStayJSON(t *testing.T) {
	got, err := lifecycle.Canonical(terms())
	want := `{"billing":{"basis":"effects","units":3},"digest":"` + string(lifecycle.DigestBytes([]byte("document"))) + `","effects":{"revoke-*":{"by":"the system's owner","units":1}},` +
		`"seconds":{"canceled":432000,"exported":86400,"failed":7776000,"lease":45,"pause":172800,"rejected":345600}}`
	if err != nil || string(got) != want {
		t.Errorf("recorded as\n%s\nwant\n%s (%v)", got, want, err)
	}
	var back lifecycle.Terms
	if err := json.Unmarshal([]byte(want), &back); err != nil || !reflect.DeepEqual(&back, terms()) {
		t.Errorf("read back as %+v (%v)", back, err)
	}
}
