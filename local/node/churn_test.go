package node

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestChurn: the streams of a task are read back from the log, which may be gone, cut, or
// too long to be read whole.
func TestChurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "connections.ndjson")
	of := func(task string) lifecycle.Ref { return lifecycle.Ref{Tenant: Tenant, Task: a2a.TaskID(task)} }
	in := func(tenant, id, event, task, rest string) string {
		return fmt.Sprintf(`{"at":"2026-03-01T12:00:00Z","id":%q,"event":%q,"kind":"SubscribeToTask","tenant":%q,"task":%q,"from":1,"to":%s}`+"\n", id, event, tenant, task, rest)
	}
	record := func(id, event, task, rest string) string { return in(Tenant, id, event, task, rest) }
	read := func(task string) (ids string, more bool) {
		t.Helper()
		list, more, err := Churn(path)(t.Context(), of(task))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			ids += fmt.Sprintf("%s:%d:%s:%v ", c.ID, c.To, c.Reason, !c.ClosedAt.IsZero())
		}
		return ids, more
	}
	if ids, more := read("t-1"); ids != "" || more {
		t.Errorf("of no log: %q %v", ids, more)
	}
	// Another tenant may have a task of that name, and none of its streams are shown (I10).
	log := in("other", "o", "open", "t-1", "0") + record("a", "open", "t-1", "0") + record("b", "open", "t-2", "0") + record("c", "open", "t-1", "0") + record("a", "close", "t-1", `7,"reason":"terminal"`) + "{\"id\":\"t-1\n" + `{"at":`
	if err := os.WriteFile(path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, more := read("t-1"); ids != "a:7:terminal:true c:0::false " || more {
		t.Errorf("%q %v", ids, more)
	}
	var many strings.Builder
	many.WriteString(strings.Repeat(record("x", "open", "t-9", "0"), churnBytes/100))
	for i := range churnConnections + 5 {
		many.WriteString(record(fmt.Sprint(i), "open", "t-3", "0"))
	}
	if err := os.WriteFile(path, []byte(log+"\n"+many.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if ids, more := read("t-3"); !more || !strings.HasPrefix(ids, "5:") || strings.Count(ids, " ") != churnConnections {
		t.Errorf("%.40q %v", ids, more)
	}
	if ids, more := read("t-1"); ids != "" || !more {
		t.Errorf("what is before the end is read: %q %v", ids, more)
	}
}
