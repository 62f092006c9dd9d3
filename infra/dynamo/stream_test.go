package dynamo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// batch reads a recorded invocation of the stream function.
func batch(t *testing.T, name string) []events.DynamoDBEventRecord {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var e events.DynamoDBEvent
	if err := json.Unmarshal(raw, &e); err != nil {
		t.Fatal(err)
	}
	return e.Records
}

// TestDecode: the records of a task's whole life fold to the completed task; what
// is no entry is nobody's business.
func TestDecode(t *testing.T) {
	var entries []lifecycle.Entry
	var ref lifecycle.Ref
	ignored := 0
	for _, r := range batch(t, "batch.json") {
		d, err := Decode(r)
		if err != nil {
			t.Fatal(err)
		}
		if d.SequenceNumber != r.Change.SequenceNumber || d.Expired {
			t.Errorf("record %s is read as %+v", r.Change.SequenceNumber, d)
		}
		if d.Ignored() {
			ignored++
			continue
		}
		ref, entries = d.Ref, append(entries, d.Entry)
	}
	task, err := lifecycle.Fold(ref, entries)
	if err != nil || task.State != lifecycle.Completed || len(entries) != 4 || ignored != 6 {
		t.Errorf("%d entries fold to %s (%v), %d records were ignored", len(entries), task.State, err, ignored)
	}
	if ref.Tenant != "acme-production" || entries[0].Task != ref.Task {
		t.Errorf("the entries are of %s", ref)
	}
}

// TestDecodeExpired: what TTL has removed starts a purge; what a purge removes
// starts nothing.
func TestDecodeExpired(t *testing.T) {
	for _, r := range batch(t, "expired.json") {
		d, err := Decode(r)
		if err != nil || !d.Expired || d.Ref.Tenant != "acme-production" || d.Ref.Task == "" || d.Entry.Seq != 0 {
			t.Errorf("read as %+v (%v)", d, err)
		}
	}
	for _, r := range batch(t, "purged.json") {
		if d, err := Decode(r); err != nil || !d.Ignored() {
			t.Errorf("read as %+v (%v)", d, err)
		}
	}
}

// TestDecodePoisoned: a record that cannot be read is named, and is the only one
// that fails.
func TestDecodePoisoned(t *testing.T) {
	str, num := events.NewStringAttribute, events.NewNumberAttribute
	for name, spoil := range map[string]func(r *events.DynamoDBEventRecord){
		"no keys":              func(r *events.DynamoDBEventRecord) { r.Change.Keys = nil },
		"a key that is none":   func(r *events.DynamoDBEventRecord) { r.Change.Keys["pk"] = str("T#a") },
		"a number for a key":   func(r *events.DynamoDBEventRecord) { r.Change.Keys["sk"] = num("1") },
		"no sequence":          func(r *events.DynamoDBEventRecord) { r.Change.Keys["sk"] = str("e#one") },
		"another entry's key":  func(r *events.DynamoDBEventRecord) { r.Change.Keys["sk"] = str("e#0000000009") },
		"no image":             func(r *events.DynamoDBEventRecord) { r.Change.NewImage = nil },
		"a list":               func(r *events.DynamoDBEventRecord) { r.Change.NewImage["x"] = events.NewListAttribute(nil) },
		"a text for a number":  func(r *events.DynamoDBEventRecord) { r.Change.NewImage["fe"] = str("one") },
		"a number for a text":  func(r *events.DynamoDBEventRecord) { r.Change.NewImage["pl"] = num("1") },
		"an instant that none": func(r *events.DynamoDBEventRecord) { r.Change.NewImage["ac"] = str("yesterday") },
	} {
		r := batch(t, "batch.json")[4]
		spoil(&r)
		d, err := Decode(r)
		if err == nil || !strings.Contains(err.Error(), "record "+r.Change.SequenceNumber+" cannot be read: ") || !d.Ignored() {
			t.Errorf("%s: read as %+v, error %v", name, d, err)
		}
	}
}

// FuzzDecode: no record makes it panic.
func FuzzDecode(f *testing.F) {
	for _, name := range []string{"batch.json", "expired.json", "purged.json"} {
		raw, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var e events.DynamoDBEvent
		if json.Unmarshal(raw, &e) != nil {
			return
		}
		for _, r := range e.Records {
			d, err := Decode(r)
			if err != nil && (!d.Ignored() || !strings.Contains(err.Error(), "cannot be read")) {
				t.Errorf("read as %+v, error %v", d, err)
			}
		}
	})
}
