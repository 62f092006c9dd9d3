package integration_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/holdfast-a2a/holdfast/infra/lambdahost"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestSweepRepairs breaks each thing that the sweep is the net for, once, with the tables
// on the server and the functions as they are deployed: HOLDFAST_… go test
// ./infra/integration -run TestSweepRepairs -v lists them. The same on SQLite is in
// local/journeys. (Cases 29, 65 and 67.) The stream has no mapping, and the sweep runs
// when it is called.
func TestSweepRepairs(t *testing.T) {
	t.Parallel()
	s := newStack(t, plan{build: trial, sweep: time.Hour, processes: 4, env: []string{"HOLDFAST_WEBHOOK_NETWORKS=127.0.0.0/8"}})
	for _, one := range []struct {
		name string
		test func(*stack)
	}{
		{"start lost", repairsStart},
		{"resume lost", repairsResume},
		{"callback token lost", repairsToken},
		{"stream off", repairsDelivery},
		{"execution aborted by hand", repairsExecution},
		{"purge killed", repairsPurge},
	} {
		// They break the same machine one after the other, and then wait side by side.
		t.Run(one.name, func(t *testing.T) { one.test(s.as(t)) })
	}
}

// as is the stack for a subtest, which deploys nothing.
func (s *stack) as(t *testing.T) *stack {
	return &stack{
		T: t, plan: s.plan, tables: s.tables, bucket: s.bucket, machine: s.machine, outside: s.outside, url: s.url, logs: s.logs,
		ledger: s.ledger, auth: s.auth, functions: s.functions,
	}
}

// repaired wants a task to complete in its second execution, which a sweep begins when
// nothing has happened for a while.
func (s *stack) repaired(ref lifecycle.Ref) {
	s.Helper()
	s.Parallel()
	h, err := s.ledger.Head(s.Context(), ref)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithDeadline(s.Context(), h.DueAt.Add(time.Millisecond))
	defer cancel()
	<-ctx.Done()
	s.sweepNow()
	s.reaches(ref, lifecycle.Completed)
	done, err := verify(s.Context(), s.auth, ref)
	if err != nil {
		s.Error(err)
	}
	if done.Generation != 2 {
		s.Errorf("the task completed in generation %d, want 2", done.Generation)
	}
}

func repairsStart(s *stack) {
	s.machine.breaks(func() { s.machine.lose[machineARN] = 1 })
	task, err := send(s.Context(), s.url, text("start", "start", true))
	if err != nil {
		s.Fatal(err)
	}
	s.repaired(refTo(task.ID))
	if n := s.machine.visited(executionOf(refTo(task.ID)), "Run"); n != 0 {
		s.Errorf("the execution that was lost ran %d times", n)
	}
}

// answers gives its answer to the only question of a task that has parked.
func (s *stack) answers(ref lifecycle.Ref) {
	s.Helper()
	if _, err := send(s.Context(), s.url, answering(ref.Task, "answer-"+string(ref.Task), "yes")); err != nil {
		s.Fatal(err)
	}
}

func repairsResume(s *stack) {
	ref := s.parks("resume", "ask 1", 1)
	s.machine.breaks(func() { s.machine.unsaid = 1 })
	s.answers(ref)
	until(s.T, "the callback is lost", func() (bool, string) {
		s.machine.mu.Lock()
		defer s.machine.mu.Unlock()
		return s.machine.unsaid == 0, "not yet"
	})
	s.repaired(ref)
	if n := s.machine.visited(executionOf(ref), "Run"); n != 1 {
		s.Errorf("the execution that was told nothing ran %d times", n)
	}
}

func repairsToken(s *stack) {
	ref := s.parks("token", "ask 1", 1)
	_, err := tableClient.DeleteItem(s.Context(), &dynamodb.DeleteItemInput{
		TableName: &s.tables.Private, ConditionExpression: aws.String("attribute_exists(pk)"),
		Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "T#" + ref.Tenant + "#" + string(ref.Task)}, "sk": &types.AttributeValueMemberS{Value: "p#0000000001"},
		},
	})
	if err != nil {
		s.Fatal(err)
	}
	s.answers(ref)
	s.repaired(ref)
	if n := s.machine.visited(executionOf(ref), "Run"); n != 1 {
		s.Errorf("the execution whose token was lost ran %d times", n)
	}
}

// The mapping of the stream is off. An endpoint that nobody told of anything is looked at
// after a while, which is over at once here.
func repairsDelivery(s *stack) {
	up := newHook(s.T, false)
	id := s.hooked("hooked", up)
	s.reaches(refTo(id), lifecycle.Completed)
	if tries, _ := up.seen(); tries != 0 {
		s.Errorf("without the stream the receiver was called %d times", tries)
	}
	e, err := s.ledger.Endpoint(s.Context(), refTo(id), "hook")
	if err == nil {
		e.Delivery.DueAt = time.Now()
		e.Delivery.Revision++
		err = s.ledger.Deliver(s.Context(), refTo(id), "hook", e.Delivery)
	}
	if err != nil {
		s.Fatal(err)
	}
	if _, _, behind := s.sweepNow(); behind != 1 {
		s.Errorf("the sweep found %d endpoints behind", behind)
	}
	s.delivered(up, id)
}

func repairsExecution(s *stack) {
	ref := s.parks("abort", "ask 1", 1)
	s.machine.breaks(func() { s.machine.abort = executionOf(ref) })
	s.answers(ref) // which wakes it
	s.repaired(ref)
	r, ended := s.machine.result(executionOf(ref))
	if !ended || r.Err == nil || r.Err.Name != "States.Runtime" {
		s.Errorf("the execution was not aborted: %+v", r)
	}
}

// A sweep's process is killed in the midst of a purge, when most is removed and when all
// but the last trace is. The next sweep ends what it has begun.
func repairsPurge(s *stack) {
	for _, op := range []string{"BatchWriteItem", "DeleteItem"} {
		ref, err := s.whole(lifecycle.DefaultRetention + ttlPatience + 24*time.Hour)
		if err != nil {
			s.Fatal(err)
		}
		before := s.of(ref)
		var dying *lambdahost.Function
		proxy := newProxy(s.T, dynamoEndpoint, func(x *exchange) *reply {
			if x.op != op {
				return x.forward()
			}
			if op == "BatchWriteItem" {
				x.forward()
			}
			dying.Kill()
			return nil
		})
		dying = s.beside(fnSweep, "dying", "AWS_ENDPOINT_URL_DYNAMODB="+proxy)
		if out, err := dying.Call(s.Context(), []byte("{}"), time.Now().Add(time.Minute)); err == nil {
			s.Fatalf("the process that was to die at a %s said %s", op, out)
		}
		left := s.of(ref)
		s.gone("while its purge is not ended", ref.Task, "")
		if looked, purged, _ := s.sweepNow(); looked != 1 || purged != 1 {
			s.Errorf("killed at a %s, the next sweep looked at %d and purged %d", op, looked, purged)
		}
		if n := s.of(ref); n != 0 || left == 0 || left >= before {
			s.Errorf("of %d items %d were left by the process that died at a %s, and %d by the next", before, left, op, n)
		}
		s.Logf("killed at a %s: %d of %d items were left, and then none", op, left, before)
	}
}

// of is how many items of a task there are.
func (s *stack) of(ref lifecycle.Ref) (n int) {
	s.Helper()
	for k := range s.kept() {
		if strings.Contains(k, string(ref.Task)) {
			n++
		}
	}
	return n
}
