package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	racers    = 6 // rounds at once
	raceSteps = 8 // commits before the last one
)

// Case 48 over two ledger processes and two doors: a holder in this process goes on to
// complete, a compiled api process cancels, another one is asked what came of it. Each
// task ends once, the loser is told, and every answer is the same.
func TestCancelAgainstComplete(t *testing.T) {
	t.Parallel()
	n, c := rounds(t), newChance(t)
	s := newStack(t, plan{processes: racers})
	witness := s.door(s.beside(fnAPI, "other"))
	auth := newAuthority(dynamoEndpoint, s.tables)

	began := time.Now()
	var mu sync.Mutex
	seen := map[a2a.TaskState]int{}
	var workers sync.WaitGroup
	turns := make(chan int, n)
	for i := range n {
		turns <- i
	}
	close(turns)
	for range racers {
		workers.Go(func() {
			for range turns {
				state, err := raceCancel(t, auth, s.url, witness, c.of(raceSteps+1))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[state]++
				mu.Unlock()
			}
		})
	}
	workers.Wait()
	completed, canceled := seen[a2a.TaskStateCompleted], seen[a2a.TaskStateCanceled]
	t.Logf("%d rounds in %s: %d completed, %d canceled", n, time.Since(began).Round(time.Second), completed, canceled)
	if completed+canceled != n || completed*10 < n || canceled*10 < n {
		t.Errorf("of %d rounds %d ended completed and %d canceled; want all, and each outcome in a tenth of them", n, completed, canceled)
	}
}

// raceCancel is one round; the cancellation is sent when the holder is about to make
// its commit of that number.
func raceCancel(t *testing.T, auth *ledger.Authority, canceler, witness string, at int) (a2a.TaskState, error) {
	h, err := newHolder(t, auth)
	if err != nil {
		return "", err
	}
	ref := h.task.Ref()
	var told answer
	var askErr error
	var asking sync.WaitGroup
	for step := range raceSteps + 1 {
		if step == at {
			asking.Go(func() {
				told, askErr = call(t.Context(), http.MethodPost, canceler+"/tasks/"+string(ref.Task)+":cancel", "")
			})
		}
		rep := lifecycle.Report{Verb: lifecycle.VerbSubStep, State: json.RawMessage(fmt.Sprintf(`{"at":%d}`, step)), Updates: []lifecycle.Update{{Message: says("on it")}}}
		if step == raceSteps {
			rep = lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says("done")}
		}
		if err = h.report(t.Context(), rep); err != nil || h.task.Terminal() {
			break
		}
	}
	asking.Wait()
	if err := errors.Join(err, askErr); err != nil {
		return "", fmt.Errorf("task %s: %w", ref, err)
	}
	var got json.RawMessage
	if err := ask(t.Context(), &got, http.MethodGet, witness+"/tasks/"+string(ref.Task), ""); err != nil {
		return "", err
	}
	var task a2a.Task
	if err := json.Unmarshal(got, &task); err != nil {
		return "", err
	}
	state := task.Status.State
	switch {
	case state != h.task.State:
		err = fmt.Errorf("GetTask says %s, the holder was told %s", state, h.task.State)
	case state == a2a.TaskStateCanceled && (told.status != http.StatusOK || !sameJSON(told.body, got)):
		err = fmt.Errorf("the canceler was told %s, GetTask says %s", told, got)
	case state == a2a.TaskStateCompleted && (told.status != http.StatusBadRequest || !strings.Contains(string(told.body), "TASK_NOT_CANCELABLE")):
		err = fmt.Errorf("the task completed, and the canceler was told %s", told)
	}
	_, broken := verify(t.Context(), auth, ref)
	if err = errors.Join(err, broken); err != nil {
		err = fmt.Errorf("task %s, canceled before commit %d: %w", ref, at, err)
	}
	return state, err
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
