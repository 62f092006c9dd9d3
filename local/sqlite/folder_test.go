package sqlite

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/ncruces/go-sqlite3"
)

// contents reads all files of a folder but the lock.
func contents(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range files(t, dir) {
		if name == "lock" {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(b)
	}
	return out
}

func lay(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

const logName = fileName + "-wal"

// crashed is what a killed process leaves: the files as they are while the
// ledger is open. The last commits are in the log alone.
func crashed(t testing.TB, tasks int) (map[string]string, []lifecycle.Ref) {
	t.Helper()
	dir := t.TempDir()
	l := open(t, dir, Options{NoSync: true})
	var refs []lifecycle.Ref
	for range tasks {
		refs = append(refs, created(t, l).Head.Ref())
	}
	left := contents(t, dir)
	delete(left, fileName+"-shm") // does not survive a restart of the machine
	if len(left[logName]) == 0 {
		t.Fatal("there is no log")
	}
	return left, refs
}

// closed is what an orderly end leaves.
func closed(t testing.TB, tasks int) map[string]string {
	t.Helper()
	left, _ := crashed(t, tasks)
	dir := t.TempDir()
	lay(t, dir, left)
	if err := open(t, dir, Options{NoSync: true}).Close(); err != nil {
		t.Fatal(err)
	}
	return contents(t, dir)
}

func TestCrashKeepsAnswers(t *testing.T) {
	left, refs := crashed(t, 20)
	// What was being written when the process died is no answer, and no damage.
	torn := left[logName][:len(left[logName])-100]
	for name, log := range map[string]string{"whole": left[logName], "torn": left[logName] + torn[32:5000]} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, map[string]string{fileName: left[fileName], logName: log})
			l := open(t, dir, Options{NoSync: true})
			for _, ref := range refs {
				wantSeq(t, l, ref, 1)
			}
			wantPositions(t, l)
		})
	}
}

func TestOrderlyEndLeavesOneFile(t *testing.T) {
	if left := closed(t, 3); len(left) != 1 || left[fileName] == "" {
		t.Errorf("the folder holds %q", slices.Collect(maps.Keys(left)))
	}
}

func foreign(t testing.TB, sql string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	spoil(t, dir, sql)
	return contents(t, dir)
}

// spoil changes a database behind its ledger's back.
func spoil(t testing.TB, dir, sql string) {
	t.Helper()
	conn, err := openConn(filepath.Join(dir, fileName), sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(conn.Exec(sql), conn.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestDamage: a damaged folder is refused with a reason, and nothing in it
// changes.
func TestDamage(t *testing.T) {
	good := closed(t, 50)[fileName]
	live, _ := crashed(t, 50)
	noise := make([]byte, 20_000)
	for i := range noise {
		noise[i] = byte(rand.N(256))
	}
	middle := []byte(good)
	copy(middle[len(middle)/2:], bytes.Repeat([]byte{0xff}, 4096))
	header := []byte(good)
	header[16], header[17] = 0x12, 0x34
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"noise":                    {map[string]string{fileName: string(noise)}, "is not a database"},
		"nothing":                  {map[string]string{fileName: ""}, "has 0 bytes"},
		"a text":                   {map[string]string{fileName: strings.Repeat("hello ", 100)}, "is not a database"},
		"half a header":            {map[string]string{fileName: good[:50]}, "has 50 bytes"},
		"a header alone":           {map[string]string{fileName: good[:100]}, "its end is missing"},
		"half of it":               {map[string]string{fileName: good[:len(good)/2]}, "its end is missing"},
		"one byte short":           {map[string]string{fileName: good[:len(good)-1]}, "its end is missing"},
		"a damaged header":         {map[string]string{fileName: string(header)}, "pages of"},
		"a damaged page":           {map[string]string{fileName: string(middle)}, "holdfast.db"},
		"short, with a log":        {map[string]string{fileName: live[fileName][:8192], logName: live[logName]}, "its end is missing"},
		"a log alone":              {map[string]string{logName: live[logName]}, "is missing while its log"},
		"another program's":        {foreign(t, "CREATE TABLE notes (text)"), "not a Holdfast ledger"},
		"another program's meta":   {foreign(t, "CREATE TABLE meta (name, value)"), "not a Holdfast ledger"},
		"version 0":                {foreign(t, "CREATE TABLE meta (name, value); INSERT INTO meta VALUES ('version', 0)"), "has version 0"},
		"a version that is a text": {foreign(t, "CREATE TABLE meta (name, value); INSERT INTO meta VALUES ('version', 'x')"), "has version 0"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			lay(t, dir, c.files)
			l, err := Open(dir, Options{})
			if err == nil {
				t.Fatal("opened", l.Close())
			}
			if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %q, want ErrCorrupt and %q", err, c.want)
			}
			if after := contents(t, dir); !maps.Equal(after, c.files) {
				t.Errorf("the folder changed: it holds %q now", slices.Collect(maps.Keys(after)))
			}
		})
	}
}

func TestLock(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, Options{NoSync: true})
	_, err := Open(dir, Options{NoSync: true})
	locked, ok := errors.AsType[*LockedError](err)
	if !ok || !errors.Is(err, ErrLocked) || locked.PID != os.Getpid() || filepath.Base(locked.Path) != "lock" {
		t.Fatalf("error %v, want a LockedError that names this process", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := open(t, dir, Options{NoSync: true}).Close(); err != nil {
		t.Fatal(err)
	}
	// A refused folder is not kept locked.
	lay(t, dir, map[string]string{fileName: "damaged"})
	for range 2 {
		if _, err := Open(dir, Options{}); !errors.Is(err, ErrCorrupt) {
			t.Fatal(err)
		}
	}
}

func TestMigration(t *testing.T) {
	dir := t.TempDir()
	own := len(migrations())
	list := append(migrations(), "ALTER TABLE tasks ADD COLUMN colour TEXT NOT NULL DEFAULT 'blue'", "CREATE TABLE extra (x); INSERT INTO extra VALUES (1)")
	l := open(t, dir, Options{NoSync: true})
	ref := created(t, l).Head.Ref()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	broken := append(slices.Clone(list), "CREATE TABLE more (x); INSERT INTO nowhere VALUES (1)")
	if _, err := Open(dir, Options{NoSync: true, migrations: broken}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("from version %d to %d", own+2, own+3)) {
		t.Fatalf("a migration that fails: %v", err)
	}
	wantVersion := func(want int) {
		t.Helper()
		if version, err := inspect(filepath.Join(dir, fileName), len(list)); err != nil || version != want {
			t.Fatalf("the file has version %d (%v), want %d", version, err, want)
		}
	}
	wantVersion(own) // all or nothing
	for range 2 {
		l = open(t, dir, Options{NoSync: true, migrations: list})
		wantSeq(t, l, ref, 1)
		created(t, l)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		wantVersion(len(list))
	}
	before := contents(t, dir)
	_, err := Open(dir, Options{})
	if !errors.Is(err, ErrNewer) || !strings.Contains(err.Error(), fmt.Sprintf("has version %d", own+2)) || !strings.Contains(err.Error(), fmt.Sprintf("up to %d", own)) {
		t.Fatalf("error %v, want ErrNewer and both versions", err)
	}
	if after := contents(t, dir); !maps.Equal(after, before) {
		t.Errorf("the folder changed: it holds %q now", slices.Collect(maps.Keys(after)))
	}
}

// TestMigrationOfEach: a folder of every version that there was is brought to this
// one, with what is in it, and takes what is new.
func TestMigrationOfEach(t *testing.T) {
	for version := 1; version < len(migrations()); version++ {
		dir := t.TempDir()
		c := old(t, dir, version)
		if found, err := inspect(filepath.Join(dir, fileName), len(migrations())); err != nil || found != version {
			t.Fatalf("the old file has version %d (%v), want %d", found, err, version)
		}
		l := open(t, dir, Options{NoSync: true})
		wantSeq(t, l, c.Head.Ref(), 1)
		created(t, l)
		if n, err := l.Count(t.Context(), ledger.ListQuery{Tenant: "local", AgentVersion: c.Head.AgentVersion}); err != nil || n.Tasks == 0 {
			t.Errorf("version %d: %d tasks of agent version %d (%v)", version, n.Tasks, c.Head.AgentVersion, err)
		}
		if err := l.PutEndpoint(t.Context(), c.Head.Ref(), ledger.Endpoint{ID: "one", URL: "https://example.com"}); err != nil {
			t.Fatal(err)
		}
		if all, err := l.EndpointList(t.Context(), c.Head.Ref()); err != nil || len(all) != 1 {
			t.Errorf("version %d: the endpoints are %+v (%v)", version, all, err)
		}
		refusal := ledger.Refusal{Receipt: ledger.Receipt{Producer: "worker", EventID: "late", Reason: lifecycle.PostTerminal, Op: "op"}, Late: &ledger.Quarantined{Payload: []byte("{}")}}
		if err := l.Refuse(t.Context(), c.Head.Ref(), refusal); err != nil {
			t.Fatal(err)
		}
		if r, err := l.Receipt(t.Context(), c.Head.Ref(), "worker", "late"); err != nil || r != refusal.Receipt {
			t.Errorf("version %d: the receipt is %+v (%v)", version, r, err)
		}
		if err := l.Act(t.Context(), c.Head.Ref(), ledger.Acted{By: "key:night", Action: ledger.ActionExport}); err != nil {
			t.Fatal(err)
		}
		if all, err := l.Acts(t.Context(), c.Head.Ref()); err != nil || len(all) != 1 {
			t.Errorf("version %d: the acts are %+v (%v)", version, all, err)
		}
		if n, err := l.Counts(t.Context(), c.Head.Ref()); err != nil || n != (ledger.Counts{Rejections: 1, Quarantined: 1, Acts: 1}) {
			t.Errorf("version %d: the counts are %+v (%v)", version, n, err)
		}
		if err := l.Note(t.Context(), c.Head.Ref(), "kind", time.Now(), time.Hour, 1); err != nil {
			t.Fatal(err)
		}
		if page, err := l.Found(t.Context(), ledger.FindingQuery{Kind: "kind", All: true}); err != nil || len(page.Findings) != 1 {
			t.Errorf("version %d: found %+v (%v)", version, page, err)
		}
		wantPositions(t, l)
		wantKeyKnown(t, l, c)
	}
}

// wantKeyKnown wants the head of a task that was made before heads knew their keys to
// know it.
func wantKeyKnown(t *testing.T, l *Ledger, c ledger.Creation) {
	t.Helper()
	h, err := l.Head(t.Context(), c.Head.Ref())
	if err != nil || h.Key != c.Key.Hash {
		t.Errorf("the head knows key %q (%v), want %q", h.Key, err, c.Key.Hash)
	}
	if note, err := l.Key(t.Context(), *c.Key); err != nil || note.Task != h.Task || note.Expired() {
		t.Errorf("the key's note is %+v (%v)", note, err)
	}
}

// old makes a folder as a build of that version left it, with one task.
func old(t *testing.T, dir string, version int) ledger.Creation {
	t.Helper()
	c := benchTask(lifecycle.Ref{Tenant: "local", Task: a2a.NewTaskID()})
	key := &ledger.Key{Tenant: "local", Hash: lifecycle.DigestBytes([]byte(c.Head.Task))}
	if version >= 5 { // from then on heads know their keys
		c.Key, c.Head.Key = key, key.Hash
	}
	p, err := prepareCreation(c)
	c.Key = key
	note := fmt.Appendf(nil, `{"task":%q,"requestDigest":"","op":"op"}`, c.Head.Task)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := openConn(filepath.Join(dir, fileName), sqlite3.OPEN_READWRITE|sqlite3.OPEN_CREATE, "PRAGMA journal_mode = WAL")
	if err != nil {
		t.Fatal(err)
	}
	if err := migrate(conn, 0, migrations()[:version]); err != nil {
		t.Fatal(err)
	}
	insert := func(sql string, args ...any) {
		t.Helper()
		s, err := prepare(conn, sql)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(execute(s, args...), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
	h, of, e := p.head, columnsOf(p.head), p.entries[0]
	insert("INSERT INTO tasks (row, tenant, task, agent, context, state, status_at, expires_at, due_at, head) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		h.Tenant, string(h.Task), h.Agent, h.ContextID, of.state, of.statusAt, of.expiresAt(), of.dueAt(), p.encoded)
	insert("INSERT INTO keys (tenant, hash, note) VALUES (?, ?, ?)", c.Key.Tenant, string(c.Key.Hash), note)
	insert("INSERT INTO entries (position, task, seq, envelope, payload) VALUES (1, 1, ?, ?, ?)", e.seq, e.envelope, e.payload)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestNewerInLog: the newer version may be in the log alone, when the newer
// build was killed.
func TestNewerInLog(t *testing.T) {
	live := t.TempDir()
	if err := open(t, live, Options{NoSync: true}).Close(); err != nil {
		t.Fatal(err)
	}
	open(t, live, Options{NoSync: true, migrations: append(migrations(), "CREATE TABLE extra (x)")})
	left := contents(t, live)
	delete(left, fileName+"-shm")
	dir := t.TempDir()
	lay(t, dir, left)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrNewer) {
		t.Fatalf("error %v, want ErrNewer", err)
	}
	if after := contents(t, dir); !maps.Equal(after, left) {
		t.Errorf("the folder changed: it holds %q now", slices.Collect(maps.Keys(after)))
	}
}

// TestMigrationsAreKept: a migration that was released is never edited; a new
// one gets a line of its own here.
func TestMigrationsAreKept(t *testing.T) {
	released := []lifecycle.Digest{
		"efb936940b0c38df4f824724cc339f726f6df51fb35a46d2b0e7c7cbf5ccf309",
		"e56d58ec2cb2c3fa6784ec7b4f268fb7998b4f5554af631b77b79c068f8d1f0f",
		"08cee658b839f765a120607506d8511c92f12ed75f76281d9e1167fbaa1240b2",
		"c470fa83ee62d0756e723b2f3bd402574abfac6c70c2d9c681787d58fa9d4602",
		"05451959a96f8b8d69cc5f54fafe4930b9182ba156ee6a32e6f33ca5a684b2c7",
		"d92461e28205539774e6b2b3603cd8e89da9d0fe3286ae8d436dca1212afb73c",
		"4d4b3c459faee5c9cf103350f2bab2f554b3da2faedabec12055402db4c12ac0",
	}
	list := migrations()
	if len(list) != len(released) {
		t.Fatalf("%d migrations, %d digests", len(list), len(released))
	}
	for i, m := range list {
		if got := lifecycle.DigestBytes([]byte(m)); got != released[i] {
			t.Errorf("migration %d has digest %s, released was %s", i+1, got, released[i])
		}
	}
}

// TestCreateInterrupted: what a first start that was killed leaves is no ledger.
func TestCreateInterrupted(t *testing.T) {
	dir := t.TempDir()
	lay(t, dir, map[string]string{fileName + ".new": "half", fileName + ".new-wal": "half", fileName + ".new-journal": "half"})
	l := open(t, dir, Options{NoSync: true})
	created(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if after := contents(t, dir); len(after) != 1 {
		t.Errorf("the folder holds %q", slices.Collect(maps.Keys(after)))
	}
}
