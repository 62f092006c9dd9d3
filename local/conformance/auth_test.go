package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// §7.6.1, §7.6.4: an agent that needs an authorization has a task for it, in
// auth-required, with a message that says for what; and neither that state nor a
// message sent in it authorizes anything.
func TestAuthRequired(t *testing.T) {
	var paid atomic.Int32
	payer := agent.New("payer", 1,
		agent.Step[played]{Name: "ask", Run: func(context.Context, *agent.Task[played]) (agent.Next, error) {
			return agent.Authorize("pay 100 EUR", "May I pay the bill of 100 EUR?", "pay", agent.By("treasury")), nil
		}},
		agent.Step[played]{Name: "pay", Run: func(context.Context, *agent.Task[played]) (agent.Next, error) {
			paid.Add(1)
			return agent.Complete("Paid."), nil
		}},
	)
	rpc, rest := served(t, payer)
	for i, c := range []caller{rpc, rest} {
		task := at(c.ok("SendMessage", message(fmt.Sprint("m-", i))), "task")
		waits := func(task any) {
			t.Helper()
			if state := at(task, "status", "state"); state != "TASK_STATE_AUTH_REQUIRED" {
				t.Errorf("state %v", state)
			}
			if question := fmt.Sprint(at(task, "status", "message", "parts")); !strings.Contains(question, "May I pay the bill of 100 EUR?") {
				t.Errorf("the status says %s", question)
			}
		}
		waits(task)
		id, _ := at(task, "id").(string)
		waits(at(c.ok("SendMessage", message(fmt.Sprint("yes-", i), "taskId", id)), "task"))
		waits(c.ok("GetTask", object{"id": id}))
		if state := at(c.ok("CancelTask", object{"id": id}), "status", "state"); state != "TASK_STATE_CANCELED" {
			t.Errorf("state %v", state)
		}
	}
	if n := paid.Load(); n != 0 {
		t.Errorf("paid %d times without an authorization", n)
	}
}
