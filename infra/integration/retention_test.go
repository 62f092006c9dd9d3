package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/blobs"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	// recordedTask is the task of infra/dynamo/testdata.
	recordedTask = "T#acme-production#01a229cd-3a05-7815-976c-eb50cd4afa28"
	// ttlPatience is how long the sweep leaves an expired task to TTL.
	ttlPatience = 48 * time.Hour
	forgotten   = 24 // tasks of the retention test, beside one that has something of everything
)

// removal is a record of the end of a task's expiry marker: by TTL (expired.json), or by
// a purge or somebody else (purged.json). The server here removes what is past its TTL,
// and writes no record of that: no emulator known to these tests sends one end to end. So
// the stream function is given records in the form that DynamoDB's have.
func (s *stack) removal(file string, id a2a.TaskID) json.RawMessage {
	s.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "dynamo", "testdata", file))
	var batch struct{ Records []json.RawMessage }
	if err == nil {
		err = json.Unmarshal(raw, &batch)
	}
	if err != nil || len(batch.Records) == 0 || !bytes.Contains(batch.Records[0], []byte(recordedTask)) {
		s.Fatalf("%s: %d records, %v", file, len(batch.Records), err)
	}
	return json.RawMessage(bytes.ReplaceAll(batch.Records[0], []byte(recordedTask), []byte("T#"+tenant+"#"+string(id))))
}

// removed tells the stream function of removals.
func (s *stack) removed(file string, ids ...a2a.TaskID) {
	s.Helper()
	var records []json.RawMessage
	for _, id := range ids {
		records = append(records, s.removal(file, id))
	}
	payload, err := json.Marshal(map[string]any{"Records": records})
	if err != nil {
		s.Fatal(err)
	}
	out, err := s.function(fnStream).Call(s.Context(), payload, time.Now().Add(time.Minute))
	if err != nil || string(out) != `{"batchItemFailures":[]}` {
		s.Errorf("the stream function answered %s, %v to %d records of %s", out, err, len(ids), file)
	}
}

// sweepNow is one run of the sweep; what it did to expired tasks.
func (s *stack) sweepNow() (looked, purged, behind int) {
	s.Helper()
	before := len(s.logs.lines(fnSweep, "sweep"))
	if _, err := s.function(fnSweep).Call(s.Context(), []byte("{}"), time.Now().Add(time.Minute)); err != nil {
		s.Fatal(err)
	}
	until(s.T, "the sweep has said what it did", func() (bool, string) {
		n := len(s.logs.lines(fnSweep, "sweep"))
		return n > before, fmt.Sprintf("%d lines", n)
	})
	said := s.logs.lines(fnSweep, "sweep")[before]
	purges, _ := said["purges"].(map[string]any)
	endpoints, _ := said["endpoints"].(map[string]any)
	return line(purges).number("looked"), line(purges).number("purged"), line(endpoints).number("behind")
}

// gone wants a task to be found by nobody, and its key to make no other.
func (s *stack) gone(what string, id a2a.TaskID, submission string) {
	s.Helper()
	for method, path := range map[string]string{
		http.MethodGet: "", http.MethodPost: ":cancel", "GET ledger": "/ledger", "GET endpoints": "/pushNotificationConfigs", "POST stream": ":subscribe",
	} {
		method, _, _ = strings.Cut(method, " ")
		if a, err := call(s.Context(), method, s.url+"/tasks/"+string(id)+path, ""); err != nil || a.status != http.StatusNotFound || !strings.Contains(string(a.body), "TASK_NOT_FOUND") {
			s.Errorf("%s: %s of task %s: %s, %v", what, method+" "+path, id, a, err)
		}
	}
	if submission == "" {
		return
	}
	if a, err := call(s.Context(), http.MethodPost, s.url+"/message:send", submission); err != nil || a.status != http.StatusConflict || !strings.Contains(string(a.body), "SUBMISSION_KEY_EXPIRED") {
		s.Errorf("%s: a submission under the key of task %s: %s, %v", what, id, a, err)
	}
}

// Case 65: tasks of a month ago have expired. Nobody finds them, though TTL is three days
// late. The stream function, told by the records of TTL, purges them; where the record
// was lost the sweep does. In the end both tables and the bucket are as they were before
// those tasks, with a note for each of their keys; a paused task of the same conversation
// is untouched. A receiver that was down all the time is called no more.
func TestRetention(t *testing.T) {
	t.Parallel()
	const conversation = "retained"
	s := newStack(t, plan{sweep: time.Hour, env: []string{"HOLDFAST_WEBHOOK_NETWORKS=127.0.0.0/8"}}) // it is called by hand
	ctx := t.Context()
	var page struct{ TotalSize int }
	sibling, err := send(ctx, s.url+reviewer, within(conversation, submission("sibling")))
	if err != nil {
		t.Fatal(err)
	}
	s.reaches(refTo(sibling.ID), lifecycle.InputRequired)
	s.parked(refTo(sibling.ID), 1)
	fresh, err := send(ctx, s.url, text("fresh", "still here", false))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "its execution has ended", func() (bool, string) { _, ok := s.machine.result(executionOf(refTo(fresh.ID))); return ok, "open" })
	before := s.kept()

	var ids []a2a.TaskID
	var submissions []string
	down := newHook(t, true)
	const ago = lifecycle.DefaultRetention + ttlPatience + 24*time.Hour
	whole, err := s.whole(ago)
	if err != nil {
		t.Fatal(err)
	}
	s.past(ago, func(url string) {
		for i := range forgotten {
			body := within(conversation, text(fmt.Sprintf("m-%d", i), "Ada", false))
			if i%3 == 0 {
				body = strings.Replace(body, `"configuration":{`, fmt.Sprintf(`"configuration":{"taskPushNotificationConfig":{"id":"hook","url":%q},`, down.url), 1)
			}
			done, err := send(ctx, url, body)
			if err != nil || done.Status.State != lifecycle.Completed {
				t.Fatalf("%+v, %v", done.Status, err)
			}
			ids, submissions = append(ids, done.ID), append(submissions, body)
			content := []byte("a large artifact of " + done.ID)
			if err := blobs.New(bucketClient, s.bucket).Put(ctx, refTo(done.ID), lifecycle.DigestBytes(content), content); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "the receiver that is down was tried", func() (bool, string) { n, _ := down.seen(); return n > 0, "not yet" })
	})
	ids, submissions = append(ids, whole.Task), append(submissions, "") // it had no key
	tries, _ := down.seen()
	held := s.kept()
	marker := func(k, _ string) bool { return strings.HasSuffix(k, " t#") } // the server removes these by itself, and tells nobody
	maps.DeleteFunc(held, marker)
	for i, id := range ids {
		s.gone("before the purge", id, submissions[i])
	}
	s.removed("purged.json", ids...) // no word of TTL's
	after := s.kept()
	if maps.DeleteFunc(after, marker); !maps.Equal(after, held) {
		t.Errorf("removals by others left %d of %d items", len(after), len(held))
	}

	lost, told := ids[:forgotten/3], ids[forgotten/3:]
	s.removed("expired.json", append([]a2a.TaskID{sibling.ID, fresh.ID}, told...)...)
	after = s.kept()
	for _, id := range told {
		for k := range after {
			if strings.Contains(k, string(id)) {
				t.Errorf("after TTL's record %s is there", k)
			}
		}
	}
	if looked, purged, behind := s.sweepNow(); looked != len(lost) || purged != len(lost) || behind != 0 {
		t.Errorf("the sweep looked at %d and purged %d, want %d; and delivered to %d endpoints", looked, purged, len(lost), behind)
	}
	s.removed("expired.json", ids...) // all of it again, and what was lost
	if looked, purged, _ := s.sweepNow(); looked+purged != 0 {
		t.Errorf("another sweep looked at %d", looked)
	}

	after = s.kept()
	notes := 0
	for k, it := range after {
		if before[k] != "" {
			continue
		}
		if !strings.HasPrefix(k, "K#") || !strings.Contains(it, `"ttl":`) {
			t.Errorf("%s is left: %s", k, it)
		}
		notes++
	}
	maps.DeleteFunc(before, func(k, it string) bool { return after[k] == it })
	for k, it := range before {
		t.Errorf("%s has changed from\n%s\nto\n%s", k, it, after[k])
	}
	if notes != forgotten {
		t.Errorf("%d notes are left, want %d", notes, forgotten)
	}
	for i, id := range ids {
		s.gone("after the purge", id, submissions[i])
	}
	if n, _ := down.seen(); n != tries {
		t.Errorf("the receiver was called %d times for what has expired", n-tries)
	}
	if err := ask(ctx, &page, http.MethodGet, s.url+reviewer+"/tasks?contextId="+conversation, ""); err != nil || page.TotalSize != 1 {
		t.Errorf("the conversation has %d tasks, %v", page.TotalSize, err)
	}
	if got, err := getTask(ctx, s.url, fresh.ID); err != nil || got.Status.State != lifecycle.Completed {
		t.Errorf("%+v, %v", got.Status, err)
	}
	t.Logf("%d tasks expired, of %d items and blobs with the others: %d were purged by TTL's records and %d by the sweep; %d notes and %d items of others are left", len(ids), len(held), len(told), len(lost), notes, len(after)-notes)
}

// within is a submission to a conversation.
func within(conversation, submission string) string {
	return strings.Replace(submission, `{"messageId"`, fmt.Sprintf(`{"contextId":%q,"messageId"`, conversation), 1)
}
