package sqlite

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestCountIsWhatListGives: what is kept count of is what walking would find, after
// tasks were made, have moved between states and expired, under every filter.
func TestCountIsWhatListGives(t *testing.T) {
	l := open(t, t.TempDir(), Options{NoSync: true})
	dice := rand.New(rand.NewPCG(1, 2))
	states := []a2a.TaskState{lifecycle.Submitted, lifecycle.Working, lifecycle.InputRequired, lifecycle.Completed, lifecycle.Failed}
	var heads []lifecycle.Head
	for i := range 60 {
		h := lifecycle.Head{
			Tenant: fmt.Sprintf("tenant-%d", i%2), Task: a2a.TaskID(fmt.Sprintf("task-%d", i)), Agent: fmt.Sprintf("agent-%d", i%3),
			State: lifecycle.Submitted, Seq: 1, AcceptedAt: benchAt, StatusAt: benchAt, LifeEndsAt: benchAt.Add(time.Hour),
		}
		if err := l.Create(t.Context(), ledger.Creation{Head: h, Entries: []lifecycle.Entry{entryOf(h)}}); err != nil {
			t.Fatal(err)
		}
		heads = append(heads, h)
	}
	for range 200 {
		i := dice.IntN(len(heads))
		h := heads[i]
		if h.Terminal() {
			continue
		}
		h.Seq++
		h.State, h.StatusAt = states[dice.IntN(len(states))], h.StatusAt.Add(time.Second)
		if h.Terminal() {
			h.ExpiresAt = benchAt.Add(time.Duration(dice.IntN(20)) * time.Minute)
		}
		if err := l.Commit(t.Context(), ledger.Commit{Seen: heads[i], Head: h, Entries: []lifecycle.Entry{entryOf(h)}}); err != nil {
			t.Fatal(err)
		}
		heads[i] = h
	}
	some := 0
	for _, agent := range []string{"", "agent-0", "agent-2", "nobody"} {
		for _, state := range append([]a2a.TaskState{""}, states...) {
			for _, now := range []time.Time{{}, benchAt, benchAt.Add(10 * time.Minute), benchAt.Add(time.Hour)} {
				q := ledger.ListQuery{Tenant: "tenant-1", Agent: agent, State: state, Now: now}
				page, err := l.List(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				n, err := l.Count(t.Context(), q)
				if err != nil || n.Tasks != len(page.Heads) || n.More {
					t.Errorf("%+v: counted %+v (%v), %d are listed", q, n, err, len(page.Heads))
				}
				some += n.Tasks
			}
		}
	}
	if some == 0 {
		t.Error("nothing was counted")
	}
}

func entryOf(h lifecycle.Head) lifecycle.Entry {
	payload := []byte(`{}`)
	return lifecycle.Entry{Task: h.Task, Seq: h.Seq, Type: lifecycle.TypeCheckpoint, TypeVersion: 1, Payload: payload, PayloadDigest: lifecycle.DigestBytes(payload), OpID: fmt.Sprint(h.Seq), AcceptedAt: benchAt}
}

// TestDueThatCannotBeRead: a head that is damaged keeps nobody from the others that are
// due, on whatever page it is.
func TestDueThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{NoSync: true})
	var want []lifecycle.Ref
	for range 5 {
		want = append(want, created(t, l).Head.Ref())
	}
	bad := want[2]
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	spoil(t, dir, `UPDATE tasks SET head = 'x' WHERE task = '`+string(bad.Task)+`'`)
	l = open(t, dir, Options{NoSync: true})
	for _, limit := range []int{0, 1, 2, 3} {
		var got, unread []lifecycle.Ref
		var after *ledger.DueCursor
		for {
			page, err := l.Due(t.Context(), benchAt.Add(24*time.Hour), after, limit)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range page.Heads {
				got = append(got, h.Ref())
			}
			for _, u := range page.Unread {
				unread = append(unread, u.Ref)
			}
			if after = page.Next; after == nil {
				break
			}
		}
		if len(got) != 4 || slices.Contains(got, bad) || !slices.Equal(unread, []lifecycle.Ref{bad}) {
			t.Errorf("in pages of %d: %v, unread %v", limit, got, unread)
		}
	}
}
