package integration_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Cases 14, 17 and 18: a task pauses on step process A, and goes on there after its
// answer. A stalls when it wants to complete it, longer than its lease. Process B takes
// over from A's last sub-step, and while it works A's commit arrives: the task has no
// entry that A has not seen, only the lease is another's, with another fence, and that
// refuses it. So does the table when the same commit arrives once more after B has
// completed the task. No entry is lost, done again or A's, there is one end, and A's word
// is kept beside the task.
func TestStalledStepProcess(t *testing.T) {
	t.Parallel()
	a, b := newStall(), newStall()
	s := newStack(t, plan{
		build: trial, ledger: newProxy(t, dynamoEndpoint, a.meet), sweep: shortSweep,
		env: []string{"HOLDFAST_LEASE=1500ms", "HOLDFAST_RENEWAL=500ms", "HOLDFAST_GRACE=200ms"},
	})
	defer a.end()
	defer b.end()
	successor := s.beside(fnStep, "successor", "AWS_ENDPOINT_URL_DYNAMODB="+newProxy(t, dynamoEndpoint, b.meet))
	ctx := t.Context()
	task, err := send(ctx, s.url, text("stalled", "work", true))
	if err != nil {
		t.Fatal(err)
	}
	ref := refTo(task.ID)
	s.reaches(ref, lifecycle.InputRequired)
	a.arm("You said", true)
	b.arm("You said", false)
	if _, err := send(ctx, s.url, answering(task.ID, "answer", "yes")); err != nil {
		t.Fatal(err)
	}
	await(t, a.stalled, "A wants to complete the task")
	t.Cleanup(s.swap(fnStep, successor).Close)
	await(t, b.stalled, "B, which has taken over, wants to complete it")
	before, err := verify(ctx, s.auth, ref)
	if err != nil {
		t.Fatal(err)
	}
	if before.Fence != 3 || before.Generation != 2 || before.State != lifecycle.Working {
		t.Errorf("B works under fence %d in generation %d, the task is %s", before.Fence, before.Generation, before.State)
	}
	a.end() // and its commit arrives
	until(t, "A's commit was answered", func() (bool, string) { return len(a.answers()) > 0, "under way" })
	if now, err := s.ledger.Head(ctx, ref); err != nil || now.Seq != before.Seq || now.Chain != before.Chain {
		t.Errorf("after A's commit the head is at entry %d, before it was at %d: %v", now.Seq, before.Seq, err)
	}
	b.end()
	s.reaches(ref, lifecycle.Completed)
	for i, reply := range append(a.answers(), a.again(t)) {
		if reply.status != http.StatusBadRequest || !bytes.Contains(reply.body, []byte("ConditionalCheckFailed")) {
			t.Errorf("late commit %d of A was answered %d %.200s", i, reply.status, reply.body)
		}
	}
	until(t, "A was told and its word is kept", func() (bool, string) {
		kept, err := s.ledger.Rejections(ctx, ref)
		return len(kept) > 0 && kept[0].Fence == 2 && kept[0].Reason == lifecycle.FenceLost, fmt.Sprintf("%+v, %v", kept, err)
	})
	after, err := verify(ctx, s.auth, ref)
	if err != nil {
		t.Error(err)
	}
	types := make([]string, 0, len(after.entries))
	for _, e := range after.entries {
		types = append(types, fmt.Sprintf("%s/%d", e.Type, e.Fence))
	}
	// A's first lease, its second one, and B's.
	if got, want := strings.Join(types, " "), "submitted/0 started/0 checkpoint/1 paused/1 reply/0 checkpoint/2 progress/2 ended/3"; got != want {
		t.Errorf("entries and their fences: %s\nwant %s", got, want)
	}
	got, err := getTask(ctx, s.url, task.ID)
	if err != nil || got.Status.State != a2a.TaskStateCompleted || len(got.Status.Message.Parts) != 1 || got.Status.Message.Parts[0].Text() != "You said yes." {
		t.Errorf("the task reads %+v, %v", got.Status, err)
	}
	said := 0
	for _, m := range got.History {
		if m.Parts[0].Text() == "half-way" {
			said++
		}
	}
	if said != 1 {
		t.Errorf("the sub-step is in the history %d times", said)
	}
	t.Logf("%d late commits of A were refused", len(a.answers())+1)
}

// stall is a proxy behind which a process stalls: armed, it holds back the next
// transaction that has a text in it, and, when all is said, whatever else comes then.
// What was held back arrives at the end of the stall, whether or not its sender still
// waits.
type stall struct {
	stalled, over chan struct{}
	begin, finish sync.Once

	mu    sync.Mutex
	text  string // "": it is not armed
	all   bool
	on    bool
	body  []byte // of the transaction
	heard []reply
}

func newStall() *stall { return &stall{stalled: make(chan struct{}), over: make(chan struct{})} }

func (s *stall) arm(text string, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text, s.all = text, all
}

// end lets everything go on.
func (s *stall) end() { s.finish.Do(func() { close(s.over) }) }

func (s *stall) meet(x *exchange) *reply {
	s.mu.Lock()
	commit := s.text != "" && x.op == "TransactWriteItems" && bytes.Contains(x.body, []byte(s.text))
	if commit {
		s.on = true
		s.body = x.body
	}
	held := commit || s.on && s.all
	s.mu.Unlock()
	if !held {
		return x.forward()
	}
	if commit {
		s.begin.Do(func() { close(s.stalled) })
	}
	<-s.over
	answer := x.forward()
	if commit && answer != nil {
		s.mu.Lock()
		s.heard = append(s.heard, *answer)
		s.mu.Unlock()
	}
	return answer
}

// answers are what the held commits were answered.
func (s *stall) answers() []reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]reply(nil), s.heard...)
}

// again sends the commit once more, as a request of its own: without the token by which
// the table would know it.
func (s *stall) again(t *testing.T) reply {
	t.Helper()
	s.mu.Lock()
	body := s.body
	s.mu.Unlock()
	var in map[string]any
	if err := json.Unmarshal(body, &in); err != nil {
		t.Fatal(err)
	}
	in["ClientRequestToken"] = a2a.NewMessageID()
	body, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, dynamoEndpoint, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.TransactWriteItems")
	r.Header.Set("Content-Type", "application/x-amz-json-1.0")
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=local")
	answer := again(caller, dynamoEndpoint, r, body)
	if answer == nil {
		t.Fatal("the table was not reached")
	}
	return *answer
}

// await waits for a channel to be closed.
func await(t *testing.T, done <-chan struct{}, what string) {
	t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
		t.Fatalf("after %s not yet: %s", patience, what)
	}
}

// reaches waits until a task is in a state, which it must be in before it ends.
func (s *stack) reaches(ref lifecycle.Ref, state a2a.TaskState) {
	s.Helper()
	until(s.T, fmt.Sprintf("task %s is %s", ref.Task, state), func() (bool, string) {
		h, err := s.ledger.Head(s.Context(), ref)
		if err == nil && h.Terminal() && h.State != state {
			s.Fatalf("task %s ended as %s, want %s", ref.Task, h.State, state)
		}
		return err == nil && h.State == state, fmt.Sprint(h.State, err)
	})
}

// answering is the body of a reply to whatever a task asks.
func answering(id a2a.TaskID, messageID, says string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","taskId":%q,"parts":[{"text":%q}]},"configuration":{"returnImmediately":true}}`, messageID, id, says)
}
