package lifecycle_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Real in these tests: everything of this package. Faked: the ledger, which is a slice of entries, and the clock,
// which is an argument. What may be asserted is exact: there is no randomness and no waiting anywhere.

var update = flag.Bool("update", false, "write the golden files anew")

// start is when every test begins.
var start = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

const (
	lease = 30 * time.Second
	grace = 30 * time.Second
)

// book is one task with its history, kept like a ledger keeps it.
type book struct {
	task    lifecycle.Task
	entries []lifecycle.Entry
	view    *lifecycle.View
	updates []a2a.Event // what a stream from the start has carried, nil for entries that callers do not see
	commits int
	// folded is folded entry by entry, and held against the head after every commit; fold does it from the start.
	folded lifecycle.Task
	quick  bool // leave folding from the start to the caller
}

func newBook(id a2a.TaskID) *book {
	ref := lifecycle.Ref{Tenant: "acme", Task: id}
	empty := lifecycle.Task{Head: lifecycle.Head{Tenant: ref.Tenant, Task: ref.Task}}
	return &book{task: empty, folded: empty, view: lifecycle.NewView(ref, blobURL)}
}

func blobURL(d lifecycle.Digest) string { return "https://agent.example/blobs/" + string(d) }

// do decides, seals and keeps, and tests what must hold after every commit. The rejection of the command is
// returned; anything that breaks an invariant is broken.
func (b *book) do(cmd lifecycle.Command, src lifecycle.Source, now time.Time) (entries []lifecycle.Entry, rejection *lifecycle.Rejection, broken error) {
	before := b.task
	d, err := lifecycle.Decide(b.task, cmd, now)
	rejection, isRejection := errors.AsType[*lifecycle.Rejection](err)
	if err != nil && !isRejection {
		return nil, nil, fmt.Errorf("%T: not a rejection: %w", cmd, err)
	}
	if rejection != nil && len(d.Events) == 0 {
		if !reflect.DeepEqual(d, lifecycle.Decision{}) {
			return nil, rejection, fmt.Errorf("%T: a rejection without events that changes the head: %+v", cmd, d)
		}
		return nil, rejection, nil
	}
	if d.Mark != nil {
		if len(d.Events) > 0 || !reflect.DeepEqual(d.After, before.Head) {
			return nil, rejection, fmt.Errorf("a mark that changes more than the mark")
		}
		b.task.Cancel = d.Mark
		return nil, rejection, b.check(before)
	}
	b.commits++
	next, entries, err := lifecycle.Seal(b.task, d, src, "op"+strconv.Itoa(b.commits), now)
	if err != nil {
		if r, refused := errors.AsType[*lifecycle.Rejection](err); refused && r.Reason == lifecycle.InvalidContent || lifecycle.RejectedFor(err, lifecycle.LimitReached) {
			return nil, r, nil
		}
		return nil, rejection, fmt.Errorf("%T: decided, and cannot be sealed: %w", cmd, err)
	}
	b.task, b.entries = next, append(b.entries, entries...)
	for _, e := range entries {
		u, err := b.view.Add(e)
		if err != nil {
			return entries, rejection, fmt.Errorf("view: %w", err)
		}
		b.updates = append(b.updates, u)
		if b.folded, err = lifecycle.Apply(b.folded, e); err != nil {
			return entries, rejection, fmt.Errorf("I1: %w", err)
		}
	}
	return entries, rejection, b.check(before)
}

// check is everything that must hold between two commits.
func (b *book) check(before lifecycle.Task) error {
	for _, broken := range lifecycle.Check(b.task) {
		return broken
	}
	after := b.task
	switch {
	case after.Seq != uint64(len(b.entries)) || after.Seq < before.Seq:
		return fmt.Errorf("I1: sequence %d after %d, %d entries", after.Seq, before.Seq, len(b.entries))
	case before.Terminal():
		return fmt.Errorf("I2: something was accepted after %s", before.State)
	case after.Fence < before.Fence || after.Fence > before.Fence+1:
		return fmt.Errorf("I3: fence %d after %d", after.Fence, before.Fence)
	case after.Holder != "" && after.Holder != before.Holder && after.Fence == before.Fence:
		return fmt.Errorf("I3: a lease for %s under the fence of %s", after.Holder, before.Holder)
	case !after.Terminal() && after.DueAt.IsZero():
		return fmt.Errorf("I8: a live task that is never due")
	case after.Seq == before.Seq && !reflect.DeepEqual(after.Folded(), before.Folded()):
		return fmt.Errorf("I1: folded state changed without an entry")
	case before.Seq > 0 && (after.State == before.State) != after.StatusAt.Equal(before.StatusAt) && after.State == before.State:
		return fmt.Errorf("status.timestamp changed without the state")
	case after.Generation < before.Generation:
		return fmt.Errorf("generation %d after %d", after.Generation, before.Generation)
	}
	if err := b.same(b.folded); err != nil || b.quick {
		return err
	}
	return b.fold()
}

// fold holds the head and the view against the entries alone (I1).
func (b *book) fold() error {
	folded, err := lifecycle.Fold(b.task.Ref(), b.entries)
	if err != nil {
		return fmt.Errorf("I1: %w", err)
	}
	if err := b.same(folded); err != nil {
		return err
	}
	if b.task.Seq > 0 {
		line, err := json.Marshal(b.task.Head)
		if err != nil {
			return err
		}
		var back lifecycle.Head
		if err := json.Unmarshal(line, &back); err != nil || !reflect.DeepEqual(back, b.task.Head) {
			return fmt.Errorf("the head does not survive its JSON (%w):\n%+v\n%+v", err, b.task.Head, back)
		}
	}
	seen, err := lifecycle.Seen(b.task.Ref(), b.entries, blobURL)
	if err != nil {
		return err
	}
	if !reflect.DeepEqual(seen.Task(), b.view.Task()) {
		return fmt.Errorf("case 43: the view differs from the fold of its entries")
	}
	return nil
}

// same holds what was folded against the head.
func (b *book) same(folded lifecycle.Task) error {
	if want := b.task.Folded(); !reflect.DeepEqual(folded.Head.Folded(), want) {
		return fmt.Errorf("I1: folded\n%+v\nthe head says\n%+v", folded.Head.Folded(), want)
	}
	if !reflect.DeepEqual(folded.Arts, b.task.Arts) {
		return fmt.Errorf("I1: folded artifacts %+v, the head's %+v", folded.Arts, b.task.Arts)
	}
	return nil
}

// must is do for commands that are accepted.
func (b *book) must(t testing.TB, cmd lifecycle.Command, now time.Time) {
	t.Helper()
	src := lifecycle.Source{Producer: "test"}
	if r, ok := cmd.(lifecycle.Report); ok {
		src.Holder, src.Fence = r.Holder, r.Fence
	}
	if _, rejection, broken := b.do(cmd, src, now); rejection != nil || broken != nil {
		t.Fatalf("%T: rejected %v, broken %v", cmd, rejection, broken)
	}
}

// refused wants a rejection for a reason, without events.
func (b *book) refused(t testing.TB, cmd lifecycle.Command, now time.Time, reason lifecycle.Reason) {
	t.Helper()
	entries, rejection, broken := b.do(cmd, lifecycle.Source{Producer: "test"}, now)
	if broken != nil || rejection == nil || rejection.Reason != reason || len(entries) > 0 {
		t.Fatalf("%T: rejected %v with %d entries, broken %v; want %s", cmd, rejection, len(entries), broken, reason)
	}
}

func submit() lifecycle.Submit {
	return lifecycle.Submit{
		ContextID: "ctx-1", Agent: "review", AgentVersion: 1, Step: "plan", Message: user("m-1", "Review the access, please."),
		Principal: "p-hash", RequestDigest: "r7", Policy: lifecycle.DefaultPolicy(),
	}
}

func grant(holder string, generation uint64) lifecycle.Grant {
	return lifecycle.Grant{Holder: holder, Generation: generation, Lease: lease, Grace: grace}
}

// started is a task that holder "a" works on.
func started(t testing.TB) *book {
	t.Helper()
	b := newBook("t-1")
	b.must(t, submit(), start)
	b.must(t, grant("a", 1), start)
	return b
}

func (b *book) report(verb lifecycle.Verb) lifecycle.Report {
	return lifecycle.Report{Holder: b.task.Holder, Fence: b.task.Fence, Verb: verb, Next: "next", State: []byte(`{"n":1}`), Grace: grace}
}

func user(id, text string) *a2a.Message {
	return &a2a.Message{ID: id, Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

func say(text string) *a2a.Message {
	return &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

// chunk is a piece of text of an artifact.
func chunk(id a2a.ArtifactID, text string, last bool) *lifecycle.Chunk {
	return &lifecycle.Chunk{
		Artifact: id, Name: strings.ToUpper(string(id)), Last: last, Part: a2a.NewTextPart(text),
		Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text)),
	}
}

// name is a state's short name.
func name(s a2a.TaskState) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(s.String(), "TASK_STATE_")), "_", "-")
}

// golden compares a file of testdata with what was got, or writes it.
func golden(t *testing.T, file, got string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == got {
		return
	}
	w, g := strings.Split(string(want), "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			t.Fatalf("%s, line %d:\n got %s\nwant %s\n(go test ./shared/lifecycle -update, and read the difference)", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d (go test ./shared/lifecycle -update, and read the difference)", path, len(g), len(w))
}
