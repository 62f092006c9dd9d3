package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

func TestLedger(t *testing.T) {
	runSuite(t, Options{})
}

// TestLedgerForgets runs the suite with a memory for one head: nearly every head
// comes from the file. Not in short: under the race detector TestLedger runs the same code.
func TestLedgerForgets(t *testing.T) {
	if testing.Short() {
		return
	}
	runSuite(t, Options{NoSync: true, Heads: 1})
}

func runSuite(t *testing.T, o Options) {
	t.Helper()
	ledgertest.Run(t, func(t *testing.T) ledger.Ledger {
		t.Helper()
		return open(t, t.TempDir(), o)
	})
}

// open opens a ledger and closes it at the end of the test.
func open(t testing.TB, dir string, o Options) *Ledger {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return l
}

// TestReadsSeeAnswers: whoever was answered finds what was written, in memory or
// in the file, while others write.
func TestReadsSeeAnswers(t *testing.T) {
	l := open(t, t.TempDir(), Options{NoSync: true, Heads: 2})
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c := benchTask(lifecycle.Ref{Tenant: "local", Task: a2a.NewTaskID()})
			if err := l.Create(t.Context(), c); err != nil {
				t.Error(err)
				return
			}
			seen := c.Head
			for range 50 {
				next := benchNext(seen)
				if err := l.Commit(t.Context(), next); err != nil {
					t.Error(err)
					return
				}
				seen = next.Head
				h, err := l.Head(t.Context(), seen.Ref())
				if err != nil || h.Seq != seen.Seq {
					t.Errorf("the head is at %d (%v) after %d was answered", h.Seq, err, seen.Seq)
				}
				entries, err := l.Entries(t.Context(), seen.Ref(), seen.Seq-1, 0)
				if err != nil || len(entries) != 1 {
					t.Errorf("entry %d was answered and is not read: %v", seen.Seq, err)
				}
			}
		})
	}
	all.Wait()
	if n := l.Stats().Heads; n > 2 {
		t.Errorf("%d heads are in memory, the limit is 2", n)
	}
}

// TestHeadsForget: what has ended is forgotten first, then what was not used.
func TestHeadsForget(t *testing.T) {
	h := newHeads(2)
	head := func(name string, state a2a.TaskState) stored {
		return stored{head: lifecycle.Head{Tenant: "t", Task: a2a.TaskID(name), State: state}}
	}
	for _, step := range []struct {
		put, get, want string
		state          a2a.TaskState
	}{
		{put: "a", state: lifecycle.Working, want: "a"},
		{put: "b", state: lifecycle.Working, want: "a b"},
		{get: "a", want: "a b"},
		{put: "c", state: lifecycle.Working, want: "a c"},
		{put: "c", state: lifecycle.Completed, want: "a c"},
		{get: "c", want: "a c"},
		{put: "d", state: lifecycle.Working, want: "a d"},
		{put: "e", state: lifecycle.Failed, want: "d e"},
	} {
		if step.put != "" {
			h.put(head(step.put, step.state))
		} else {
			h.get(head(step.get, "").head.Ref())
		}
		var kept []string
		for name := range strings.FieldsSeq("a b c d e") {
			if _, ok := h.byRef[head(name, "").head.Ref()]; ok {
				kept = append(kept, name)
			}
		}
		if got := strings.Join(kept, " "); got != step.want || h.order.Len() != len(kept) {
			t.Errorf("after %+v: %q are kept", step, got)
		}
	}
}

// TestPlainHead: a head from memory cannot be told from one that was read from
// the file, whatever field is added to it.
func TestPlainHead(t *testing.T) {
	var h lifecycle.Head
	fill(reflect.ValueOf(&h).Elem(), time.Now())
	got := plain(h)
	encoded, err := encodeHead(got)
	if err != nil {
		t.Fatal(err)
	}
	var want lifecycle.Head
	if err := json.Unmarshal(encoded, &want); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("in memory %+v, from the file %+v", got, want)
	}
	if got.Pause == h.Pause || got.Pause.Challenge == h.Pause.Challenge || got.Challenge == h.Challenge || got.Cancel == h.Cancel {
		t.Error("the head shares memory with the one that was handed in")
	}
}

// fill sets every field to something that is not zero.
func fill(v reflect.Value, now time.Time) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), now)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(now))
			return
		}
		for _, field := range v.Fields() {
			fill(field, now)
		}
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Uint64:
		v.SetUint(7)
	default:
		v.SetInt(7)
	}
}

// TestPositionsNeverRepeat: also when the last entries were purged.
func TestPositionsNeverRepeat(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{NoSync: true})
	created(t, l)
	created(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	conn, err := openConn(filepath.Join(dir, fileName), sqlite3.OPEN_READWRITE)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Exec("DELETE FROM entries; DELETE FROM tasks"); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	l = open(t, dir, Options{NoSync: true})
	created(t, l)
	changes, err := l.Changes(t.Context(), "", 0)
	if err != nil || len(changes) != 1 || changes[0].Position != "3" {
		t.Errorf("the feed goes on with %+v (%v), want position 3", changes, err)
	}
}

// TestIndexes: the queries that grow with the ledger use the index made for them.
func TestIndexes(t *testing.T) {
	l := open(t, t.TempDir(), Options{NoSync: true})
	all := ledger.ListQuery{Tenant: "local", Agent: "a", State: lifecycle.Working, Since: benchAt, Now: benchAt}
	everywhere, ofAgent := all, ledger.ListQuery{Tenant: "local", Agent: "a", Now: benchAt}
	everywhere.Agent, everywhere.State = "", ""
	ofVersion := ofAgent
	ofVersion.AgentVersion = 2
	_, gone := counted(ofAgent)
	inContext := all
	inContext.ContextID = "c"
	for _, q := range []struct{ sql, want string }{
		{"SELECT head FROM " + tasksFor(everywhere) + " WHERE " + text(filter(everywhere)) + " ORDER BY status_at DESC, task DESC", "USING INDEX tasks_status (tenant=? AND status_at>?)"},
		{"SELECT head FROM " + tasksFor(ofAgent) + " WHERE " + text(filter(ofAgent)) + " ORDER BY status_at DESC, task DESC", "USING INDEX tasks_agent (tenant=? AND agent=?)"},
		{"SELECT head FROM " + tasksFor(all) + " WHERE " + text(filter(all)) + " ORDER BY status_at DESC, task DESC", "USING INDEX tasks_state (tenant=? AND agent=? AND state=? AND status_at>?)"},
		{"SELECT count(*) FROM " + tasksFor(all) + " WHERE " + text(filter(all)), "USING COVERING INDEX tasks_state"},
		{"SELECT count(*) FROM " + tasksFor(ofVersion) + " WHERE " + text(filter(ofVersion)), "USING COVERING INDEX tasks_agent (tenant=? AND agent=?)"},
		{"SELECT count(*) FROM tasks INDEXED BY tasks_expiry WHERE " + text(gone), "USING COVERING INDEX tasks_expiry (expires_at<?)"},
		{"SELECT head FROM " + tasksFor(inContext) + " WHERE " + text(filter(inContext)) + " ORDER BY status_at DESC, task DESC", "USING INDEX tasks_context (tenant=? AND context=? AND status_at>?)"},
		{"SELECT head FROM tasks WHERE due_at <= ? AND (due_at, tenant, task) > (?, ?, ?) ORDER BY due_at, tenant, task", "USING INDEX tasks_due"},
		{dueDeliveries(conditions{parts: []string{"due_at <= ?", "(due_at, tenant, task, id) > (?, ?, ?, ?)"}}), "USING COVERING INDEX endpoints_due"},
		{"SELECT " + endpointColumns + " FROM endpoints WHERE tenant = ? AND task = ? ORDER BY id", "USING INDEX endpoints_name (tenant=? AND task=?)"},
		{expiredTasks(conditions{parts: []string{"expires_at <= ?", "(expires_at, tenant, task) > (?, ?, ?)"}}), "USING COVERING INDEX tasks_expiry"},
		{"SELECT tenant, hash FROM keys WHERE forget_at <= ? ORDER BY forget_at LIMIT ?", "INDEX keys_forget"},
	} {
		var plan []string
		err := l.pool.query(context.Background(), "EXPLAIN QUERY PLAN "+q.sql, func(row *sqlite3.Stmt) error {
			plan = append(plan, row.ColumnText(3))
			return nil
		})
		if got := fmt.Sprint(plan); err != nil || !strings.Contains(got, q.want) || strings.Contains(got, "TEMP B-TREE") {
			t.Errorf("%s: %s (%v), want %s and no sorting", q.sql, got, err, q.want)
		}
	}
}

func text(c conditions) string { return c.text() }
