package trace_test

// Planted golden traces: what must be noticed is, and what is fine passes.

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdfast-a2a/holdfast/local/interop/trace"
)

var (
	one = trace.Versions{Format: 1, Go: "go v1", JavaScript: "js 1"}
	two = trace.Versions{Format: 1, Go: "go v2", JavaScript: "js 1"}
)

// planted is a golden trace that was migrated once.
func planted(t *testing.T) fstest.MapFS {
	t.Helper()
	files := fstest.MapFS{}
	put := func(dir string, v trace.Versions, seen string) {
		raw, err := trace.Encode(trace.Golden{Versions: v})
		ok(t, err)
		files[dir+"golden.json"] = &fstest.MapFile{Data: raw}
		files[dir+"t.ndjson"] = &fstest.MapFile{Data: []byte(`{"sdk":"` + v.Go + `"}` + "\n")}
		files[dir+"t.seen.ndjson"] = &fstest.MapFile{Data: []byte(seen)}
	}
	put("migrations/001-one/", one, `{"a":[1,{"b":"x"}]}`+"\n"+`{"same":1}`+"\n")
	put("", two, `{"a":[1,{"b":"y"}]}`+"\n"+`{"same":1.0}`+"\n")
	change(t, files, func(m *trace.Migration) {
		*m = trace.Migration{From: one, To: two, Why: "an upgrade", Changes: []trace.Row{
			{In: "golden.json", At: "/go", Reason: "the upgrade", Changes: []trace.Change{{Document: "golden.json", At: "/go", Was: raw(`"go v1"`), Is: raw(`"go v2"`)}}},
			{In: "t.ndjson", At: "/sdk", Reason: "the upgrade", Changes: []trace.Change{{Document: "t.ndjson:1", At: "/sdk", Was: raw(`"go v1"`), Is: raw(`"go v2"`)}}},
			{In: "t.seen.ndjson", At: "/a/*/b", Reason: "b is better", Changes: []trace.Change{{Document: "t.seen.ndjson:1", At: "/a/1/b", Was: raw(`"x"`), Is: raw(`"y"`)}}},
		}}
	})
	return files
}

func raw(s string) json.RawMessage { return json.RawMessage(s) }

// change edits the planted migration.
func change(t *testing.T, files fstest.MapFS, edit func(*trace.Migration)) {
	t.Helper()
	const name = "migrations/001-one/migration.json"
	var m trace.Migration
	if f := files[name]; f != nil {
		ok(t, json.Unmarshal(f.Data, &m))
	}
	edit(&m)
	data, err := trace.Encode(m)
	ok(t, err)
	files[name] = &fstest.MapFile{Data: data}
}

// migrated is the planted golden trace after an edit of its migration.
func migrated(edit func(*trace.Migration)) func(*testing.T, fstest.MapFS) {
	return func(t *testing.T, files fstest.MapFS) { change(t, files, edit) }
}

func TestPlantedMigrations(t *testing.T) {
	pin := two
	bumped := two
	bumped.JavaScript = "js 2"
	format := two
	format.Format = 2
	seen := func(line string) func(*testing.T, fstest.MapFS) {
		return func(_ *testing.T, files fstest.MapFS) {
			files["t.seen.ndjson"] = &fstest.MapFile{Data: []byte(line + "\n")}
		}
	}
	for name, plant := range map[string]struct {
		pinned trace.Versions
		edit   func(*testing.T, fstest.MapFS)
		want   string
	}{
		"explained":             {pin, func(*testing.T, fstest.MapFS) {}, ""},
		"another SDK":           {bumped, func(*testing.T, fstest.MapFS) {}, "made with format 1, go v2, js 1, pinned is format 1, go v2, js 2"},
		"another format":        {format, func(*testing.T, fstest.MapFS) {}, "pinned is format 2"},
		"another beginning":     {pin, migrated(func(m *trace.Migration) { m.From.Go = "go v0" }), "001-one: migrates from format 1, go v0"},
		"another end":           {pin, migrated(func(m *trace.Migration) { m.To.Go = "go v3" }), "migrates to format 1, go v3"},
		"no why":                {pin, migrated(func(m *trace.Migration) { m.Why = " " }), "does not say why"},
		"no reason":             {pin, migrated(func(m *trace.Migration) { m.Changes[2].Reason = "" }), "t.seen.ndjson, /a/*/b: a difference without a reason"},
		"an unclaimed sort":     {pin, migrated(func(m *trace.Migration) { m.Changes = m.Changes[:2] }), `not in the table: t.seen.ndjson:1 at /a/1/b was "x" and is "y"`},
		"an unclaimed place":    {pin, seen(`{"a":[1,{"b":"y"},{"b":"z"}]}`), "t.seen.ndjson:1 at /a/2 was absent and is"},
		"another value":         {pin, seen(`{"a":[1,{"b":"z"}]}`), "a change that is not in the table"},
		"a line that went":      {pin, seen(`{"a":[1,{"b":"y"}]}`), `t.seen.ndjson:2 at  was {"same":1} and is absent`},
		"a claim that vanished": {pin, seen(`{"a":[1,{"b":"x"}]}` + "\n" + `{"same":1}`), "/a/*/b: a difference that is in the table and not there any more"},
		"a change that vanished": {pin, migrated(func(m *trace.Migration) {
			c := &m.Changes[2]
			c.Changes = append(c.Changes, c.Changes[0])
			c.Changes[0].At = "/a/7/b"
		}), "a change that is in the table and not there any more"},
		"a change twice": {pin, migrated(func(m *trace.Migration) { c := &m.Changes[2]; c.Changes = append(c.Changes, c.Changes[0]) }), "a change that is in the table twice"},
		"a row twice":    {pin, migrated(func(m *trace.Migration) { m.Changes = append(m.Changes, m.Changes[0]) }), "is in the table twice"},
		"an unknown field": {pin, func(_ *testing.T, files fstest.MapFS) {
			files["migrations/001-one/migration.json"].Data = []byte(`{"reasons":1}`)
		}, "unknown field"},
		"an old one that is gone":  {pin, func(_ *testing.T, files fstest.MapFS) { delete(files, "migrations/001-one/t.ndjson") }, "no export here"},
		"an old one that was seen": {pin, func(_ *testing.T, files fstest.MapFS) { delete(files, "migrations/001-one/t.seen.ndjson") }, "t.seen.ndjson"},
	} {
		t.Run(name, func(t *testing.T) {
			files := planted(t)
			plant.edit(t, files)
			f, err := trace.Read(files)
			ok(t, err)
			err = f.Explained(plant.pinned)
			if plant.want == "" && err != nil || plant.want != "" && (err == nil || !strings.Contains(err.Error(), plant.want)) {
				t.Errorf("error %v, want %q", err, plant.want)
			}
		})
	}
}

// TestChain: with two migrations, each is held against the golden trace that followed it.
func TestChain(t *testing.T) {
	files := planted(t)
	three := two
	three.Format = 2
	for _, name := range []string{"golden.json", "t.ndjson", "t.seen.ndjson"} {
		files["migrations/002-two/"+name] = files[name]
	}
	golden, err := trace.Encode(trace.Golden{Versions: three})
	ok(t, err)
	files["golden.json"] = &fstest.MapFile{Data: golden}
	m, err := trace.Encode(trace.Migration{From: two, To: three, Why: "a new format", Changes: []trace.Row{
		{In: "golden.json", At: "/format", Reason: "it is new", Changes: []trace.Change{{Document: "golden.json", At: "/format", Was: raw("1"), Is: raw("2")}}},
	}})
	ok(t, err)
	files["migrations/002-two/migration.json"] = &fstest.MapFile{Data: m}
	f, err := trace.Read(files)
	ok(t, err)
	if err := f.Explained(three); err != nil {
		t.Error(err)
	}
	delete(files, "migrations/001-one/migration.json")
	if err := f.Explained(three); err == nil || !strings.Contains(err.Error(), "001-one") {
		t.Errorf("a golden trace of the past without a migration: %v", err)
	}
}

func TestCompare(t *testing.T) {
	for name, c := range map[string]struct{ was, is, want string }{
		"order and numbers": {`{"a":1,"b":[1e2]}`, `{"b":[100.0],"a":1}`, ""},
		"null":              {`{"a":null}`, `{}`, "/a: null → absent"},
		"false":             {`{}`, `{"a":false}`, "/a: absent → false"},
		"a list in a map":   {`{"a":[{"b":[1,2]},{"b":[]}]}`, `{"a":[{"b":[1]},{"b":[3]}]}`, "/a/0/b/1: 2 → absent /a/1/b/0: absent → 3"},
		"a kind":            {`{"a":{}}`, `{"a":[]}`, "/a: {} → []"},
		"names":             {`{"a/b~c":"<"}`, `{"a/b~c":">"}`, `/a~1b~0c: "<" → ">"`},
	} {
		rows, err := trace.Compare([]trace.Document{{Name: "x:1", Raw: []byte(c.was)}}, []trace.Document{{Name: "x:1", Raw: []byte(c.is)}})
		ok(t, err)
		var got []string
		for _, r := range rows {
			for _, ch := range r.Changes {
				say := map[bool]string{true: "absent"}
				got = append(got, ch.At+": "+say[ch.Was == nil]+string(ch.Was)+" → "+say[ch.Is == nil]+string(ch.Is))
			}
		}
		if is := strings.Join(got, " "); is != c.want {
			t.Errorf("%s: %q, want %q", name, is, c.want)
		}
	}
	if _, err := trace.Compare([]trace.Document{{Name: "x:1", Raw: []byte("{")}}, nil); err == nil {
		t.Error("half a document was compared")
	}
	if _, err := trace.Trips(trace.Go, make([]trace.Document, 2), make([][]byte, 1)); err == nil {
		t.Error("a document that did not come back was not missed")
	}
}

func TestPinned(t *testing.T) {
	mod := "module m\n\nrequire (\n\tgithub.com/a2aproject/a2a-go/v2 v9.8.7\n)\n"
	pkg := `{"dependencies":{"@a2a-js/sdk":"6.5.4"}}`
	lock := `{"packages":{"node_modules/@a2a-js/sdk":{"version":"6.5.4"}}}`
	got, err := trace.Pinned(3, []byte(mod), []byte(pkg), []byte(lock))
	if want := (trace.Versions{Format: 3, Go: "github.com/a2aproject/a2a-go/v2 v9.8.7", JavaScript: "@a2a-js/sdk 6.5.4"}); err != nil || got != want {
		t.Errorf("%v, %v", got, err)
	}
	for _, texts := range []map[string]string{
		{"mod": "module m"}, {"pkg": `{}`}, {"pkg": `{"dependencies":{"@a2a-js/sdk":"^6.5.4"}}`}, {"lock": `{}`}, {"lock": `{`},
	} {
		all := map[string]string{"mod": mod, "pkg": pkg, "lock": lock}
		maps.Copy(all, texts)
		if got, err := trace.Pinned(3, []byte(all["mod"]), []byte(all["pkg"]), []byte(all["lock"])); err == nil {
			t.Errorf("%v is pinned by %v", got, texts)
		}
	}
}
