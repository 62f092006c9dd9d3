package main

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// good is a picture with everything in it.
func good() picture {
	return picture{stateCompleted, "Done.", 2, 3, 1, "draft d\n", "m", []string{"one", "two"}}
}

func TestPicturesDiffer(t *testing.T) {
	if diff := good().differs(good()); diff != "" {
		t.Errorf("equal pictures differ: %s", diff)
	}
	for about, spoil := range map[string]func(*picture){
		"state":      func(p *picture) { p.State = stateFailed },
		"text":       func(p *picture) { p.Says = "" },
		"sequence":   func(p *picture) { p.Seq++ },
		"fence":      func(p *picture) { p.Fence++ },
		"generation": func(p *picture) { p.Generation++ },
		"artifacts":  func(p *picture) { p.Artifacts = "" },
		"manifest":   func(p *picture) { p.Manifest = "n" },
		"an entry":   func(p *picture) { p.Entries[1] = "zwei" },
		"a lost one": func(p *picture) { p.Entries = p.Entries[:1] },
	} {
		p := good()
		spoil(&p)
		if good().differs(p) == "" || p.differs(good()) == "" {
			t.Errorf("another %s does not show", about)
		}
	}
}

// Of an entry only what names its task or tells the time is left out.
func TestLineOf(t *testing.T) {
	line := func(e entry) string {
		t.Helper()
		got, err := lineOf(e)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	entryOf := func(kind, payload string) entry {
		return entry{Type: kind, Payload: json.RawMessage(payload), Producer: "producer:w1", EventID: "E1", SourceSeq: 1, Fence: 1}
	}
	for _, c := range []struct {
		kind, one, other string
		alike            bool
	}{
		{"submitted", `{"message":{"messageId":"a","role":"x"},"submission":{"contextId":"1"}}`, `{"message":{"messageId":"b","role":"x"},"submission":{"contextId":"2"}}`, true},
		{"reply", `{"message":{"messageId":"a","taskId":"1"}}`, `{"message":{"messageId":"a","taskId":"2"}}`, true},
		{"reply", `{"message":{"messageId":"a"}}`, `{"message":{"messageId":"b"}}`, false},
		{"paused", `{"pause":{"number":1,"deadlineAt":"1","challenge":{"expiresAt":"1"}}}`, `{"pause":{"number":1,"deadlineAt":"2","challenge":{"expiresAt":"2"}}}`, true},
		{"paused", `{"pause":{"number":1}}`, `{"pause":{"number":2}}`, false},
		{"authorized", `{"receipt":{"digest":"1","jti":"A4"}}`, `{"receipt":{"digest":"2","jti":"A4"}}`, true},
		{"authorized", `{"receipt":{"jti":"A4"}}`, `{"receipt":{"jti":"A5"}}`, false},
		{"chunk", `{"chunk":{"checksum":"1"}}`, `{"chunk":{"checksum":"2"}}`, false},
	} {
		if one, other := line(entryOf(c.kind, c.one)), line(entryOf(c.kind, c.other)); (one == other) != c.alike {
			t.Errorf("%s: %s and %s: %s, %s", c.kind, c.one, c.other, one, other)
		}
	}
	for about, spoil := range map[string]func(*entry){
		"type": func(e *entry) { e.Type = "progress" }, "producer": func(e *entry) { e.Producer = "producer:w2" },
		"event": func(e *entry) { e.EventID = "E2" }, "number": func(e *entry) { e.SourceSeq = 2 }, "fence": func(e *entry) { e.Fence = 2 },
	} {
		e := entryOf("chunk", `{}`)
		spoil(&e)
		if line(e) == line(entryOf("chunk", `{}`)) {
			t.Errorf("another %s does not show", about)
		}
	}
}

func TestCheckManifest(t *testing.T) {
	manifest := `[{"bytes":1,"chunks":1,"id":"draft"}]`
	digest := digestOf([]byte(manifest))
	ended := func(manifest, digest string) page {
		return page{Entries: []entry{{Type: "ended", Payload: json.RawMessage(`{"ending":{"manifest":` + manifest + `,"manifestDigest":"` + digest + `"}}`)}}}
	}
	if err := checkManifest(ended(manifest, digest), digest); err != nil {
		t.Error(err)
	}
	if empty := digestOf([]byte("[]")); checkManifest(ended("null", empty), empty) != nil {
		t.Error("a task without artifacts has the manifest []")
	}
	open := ended(manifest, digest)
	open.Entries[0].Type = "chunk"
	for about, err := range map[string]error{
		"another receipt":  checkManifest(ended(manifest, digest), "other"),
		"another record":   checkManifest(ended(manifest, "other"), digest),
		"another manifest": checkManifest(ended(strings.Replace(manifest, "1", "2", 1), digest), digest),
		"no end":           checkManifest(open, digest),
		"no entries":       checkManifest(page{}, digest),
	} {
		if err == nil {
			t.Errorf("%s is not seen", about)
		}
	}
}

// A receipt holds with the key that the product is given, and says what it must.
func TestReceipt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	a, err := newApprover(file)
	if err != nil {
		t.Fatal(err)
	}
	asked := task{ID: "t"}
	if _, err := a.give(asked, "A4"); err == nil {
		t.Error("a receipt for nothing")
	}
	asked.Metadata.Own.Challenge = &challenge{1, action}
	text, err := a.give(asked, "A4")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Keys []struct{ X string } }
	if err := json.Unmarshal(content, &set); err != nil || len(set.Keys) != 1 {
		t.Fatalf("%s: %v", content, err)
	}
	decode := base64.RawURLEncoding.DecodeString
	key, err := decode(set.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	at := strings.LastIndexByte(text, '.')
	signature, err := decode(text[at+1:])
	if err != nil || !ed25519.Verify(key, []byte(text[:at]), signature) {
		t.Errorf("the signature does not hold: %v", err)
	}
	_, claims, _ := strings.Cut(text[:at], ".")
	payload, err := decode(claims)
	if want := `{"action":"` + action + `","challenge":1,"task":"t","tenant":"local"}`; err != nil || !strings.Contains(string(payload), want) {
		t.Errorf("it says %s (%v), want %s", payload, err, want)
	}
}

func TestCanonical(t *testing.T) {
	got, err := canonical(object{"b": "<å & b>", "a": []object{{"d": true, "c": 1}}})
	if want := `{"a":[{"c":1,"d":true}],"b":"<å & b>"}`; err != nil || string(got) != want {
		t.Errorf("%s (%v), want %s", got, err, want)
	}
}
