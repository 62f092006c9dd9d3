package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What the template sets for the mapping of the stream.
const retryAttempts = 10

// mapping is the event source mapping as Lambda describes it ("Configuring partial batch
// response with DynamoDB and Lambda"): what came before the first record that is named
// is done with; it and all behind it come again, until the attempts are used up. Then
// they are given up together. That is the harsher of the ways to read it: no record
// behind the poisoned one is given a batch of its own.
type mapping struct {
	function Streaming
	logs     *bytes.Buffer
	handled  []int // entries that each delivery has handled
	sent     map[string]int
	givenUp  []string
}

func (m *mapping) deliver(ctx context.Context, records []json.RawMessage) error {
	for attempt := 0; len(records) > 0; attempt++ {
		if attempt > retryAttempts {
			for _, r := range records {
				m.givenUp = append(m.givenUp, sequenceOf(r))
			}
			return nil
		}
		for _, r := range records {
			m.sent[sequenceOf(r)]++
		}
		out, err := m.function(ctx, Batch{Records: records})
		if err != nil {
			return err
		}
		var line struct {
			Message string `json:"msg"`
			Entries int    `json:"entries"`
		}
		for text := range strings.Lines(m.logs.String()) {
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				return err
			}
		}
		if line.Message != "stream" {
			return fmt.Errorf("its last word on a batch is %q", line.Message)
		}
		m.handled = append(m.handled, line.Entries)
		m.logs.Reset()
		first := len(records)
		for _, f := range out.BatchItemFailures {
			i := slices.IndexFunc(records, func(r json.RawMessage) bool { return sequenceOf(r) == f.ItemIdentifier })
			if i < 0 {
				return fmt.Errorf("it names record %q, which is not of the batch", f.ItemIdentifier) // Lambda takes that for a failed batch
			}
			first = min(first, i)
		}
		records = records[first:]
	}
	return nil
}

func sequenceOf(raw json.RawMessage) string {
	var r struct {
		Change struct {
			SequenceNumber string `json:"SequenceNumber"` //nolint:tagliatelle // DynamoDB's name
		} `json:"dynamodb"`
	}
	_ = json.Unmarshal(raw, &r) // the tests' own
	return r.Change.SequenceNumber
}

// twoTasks are the entries of two tasks in turn, as the mapping's filter lets them
// through: a recorded life, and the same under another name.
func twoTasks(t *testing.T) (out []json.RawMessage) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "dynamo", "testdata", "batch.json"))
	if err != nil {
		t.Fatal(err)
	}
	const task, other = "01a229cd-3a05-7815-976c-eb50cd4afa28", "01a229cd-3a05-7815-976c-000000000002"
	for i, text := range []string{string(raw), strings.ReplaceAll(string(raw), task, other)} {
		var batch struct {
			Records []map[string]any `json:"Records"` //nolint:tagliatelle // Lambda's name
		}
		if err := json.Unmarshal([]byte(text), &batch); err != nil {
			t.Fatal(err)
		}
		at := i
		for _, r := range batch.Records {
			encoded, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if r["eventName"] != "INSERT" || !bytes.Contains(encoded, []byte(`"sk":{"S":"e#`)) {
				continue
			}
			encoded = bytes.ReplaceAll(encoded, []byte(sequenceOf(encoded)), fmt.Appendf(nil, "%d00", 1000+at))
			out = slices.Insert(out, min(at, len(out)), json.RawMessage(encoded))
			at += 2
		}
	}
	return out
}

// Case 68: the third record of a batch cannot be read. The response names it alone, so
// that it and what is behind it come again; what was before it does not. All others are
// handled at the first delivery, those of other tasks and those behind it in its own, so
// that nothing waits for it and nothing is lost when it is given up. The same batch
// again, and a batch that overlaps, do no harm: records are understood alone.
func TestPoisonedRecordBlocksNothing(t *testing.T) {
	logs := &bytes.Buffer{}
	records := twoTasks(t)
	const third = 2
	m := &mapping{function: following(slog.New(slog.NewJSONHandler(logs, nil)), monitorOn(logs), nobody, nothing), logs: logs, sent: map[string]int{}}
	if err := m.deliver(t.Context(), records); err != nil || !slices.Equal(m.handled, []int{len(records)}) || len(records) != 8 {
		t.Fatalf("of %d records %v were handled, %v", len(records), m.handled, err)
	}
	poisoned := sequenceOf(records[third])
	records[third] = bytes.ReplaceAll(records[third], []byte(`"sk":{"S":"e#`), []byte(`"sk":{"S":"e#x`))
	out, err := m.function(t.Context(), Batch{Records: records})
	if err != nil || len(out.BatchItemFailures) != 1 || out.BatchItemFailures[0].ItemIdentifier != poisoned {
		t.Errorf("it names %+v, %v; want %s", out.BatchItemFailures, err, poisoned)
	}
	logs.Reset()
	for range 2 { // the whole batch may come twice
		m.handled, m.sent, m.givenUp = nil, map[string]int{}, nil
		if err := m.deliver(t.Context(), records); err != nil {
			t.Fatal(err)
		}
		want := append([]int{len(records) - 1}, slices.Repeat([]int{len(records) - 1 - third}, retryAttempts)...)
		if !slices.Equal(m.handled, want) {
			t.Errorf("the deliveries handled %v entries, want %v", m.handled, want)
		}
		for i, r := range records {
			want := 1
			if i >= third {
				want = 1 + retryAttempts
			}
			if n := m.sent[sequenceOf(r)]; n != want {
				t.Errorf("record %d was sent %d times, want %d", i+1, n, want)
			}
		}
		if len(m.givenUp) != len(records)-third || m.givenUp[0] != poisoned {
			t.Errorf("given up are %v", m.givenUp)
		}
	}
	// Duplicates, in any order, are handled like the first time.
	twice := append(slices.Clone(records[third+1:]), records[third+1:]...)
	slices.Reverse(twice)
	m.handled = nil
	if err := m.deliver(t.Context(), twice); err != nil || !slices.Equal(m.handled, []int{len(twice)}) {
		t.Errorf("of %d records %v were handled, %v", len(twice), m.handled, err)
	}
}
