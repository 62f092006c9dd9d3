package integration_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Of a hundred requests so many meet each kind of fault.
const faultsOfAHundred = 4

// When an answer comes, as seen from the callback token.
const (
	comesBefore = "before the token is stored"
	comesWhile  = "while the token is stored"
	comesAfter  = "after the token is stored"
)

// Case 30, the rendezvous of token and answer: Step Functions issues the token, one process
// stores it, another one commits the answer, and both reach DynamoDB through a proxy
// that answers with conflicts and throttling and loses requests and replies. Whenever
// the answer comes, it is taken, and it is taken once.
func TestTokenMeetsAnswer(t *testing.T) {
	t.Parallel()
	n, c := rounds(t), newChance(t)
	p := newParking(t, c)
	began := time.Now()
	var mu sync.Mutex
	came, resumed := map[string]int{}, map[string]int{}
	again, closed := 0, 0
	var workers sync.WaitGroup
	turns := make(chan int, n)
	for i := range n {
		turns <- i
	}
	close(turns)
	for range racers {
		workers.Go(func() {
			for i := range turns {
				m := newMeeting(i)
				if err := p.meet(t, m); err != nil {
					t.Error(err)
					return
				}
				m.mu.Lock()
				mu.Lock()
				came[m.comes]++
				resumed[m.resumedBy]++
				again += m.parkings - 1
				closed += m.closed
				mu.Unlock()
				m.mu.Unlock()
			}
		})
	}
	workers.Wait()
	t.Logf("%d rounds in %s: %v", n, time.Since(began).Round(time.Second), came)
	t.Logf("resumed by %v; %d times the other side came too and found the token closed; %d states failed and parked again", resumed, closed, again)
	t.Logf("faults of the parking side: %s; of the answering side: %s; left to the sweep: %d", p.parkingFaults, p.answeringFaults, p.untold.Load())
	for _, when := range []string{comesBefore, comesWhile, comesAfter} {
		if came[when]*10 < n {
			t.Errorf("the answer came %s in %d of %d rounds, want a tenth", when, came[when], n)
		}
	}
	for _, side := range []string{sideParking, sideAnswering} {
		if resumed[side]*10 < n {
			t.Errorf("%s resumed %d of %d rounds, want a tenth", side, resumed[side], n)
		}
	}
	if n >= defaultRounds && closed == 0 {
		t.Error("the two sides never met: no token was found closed")
	}
}

// meetingPoint is one round.
type meetingPoint struct {
	comes  string
	locked bool // neither side reads before both have written

	issued, mayPark, parked chan struct{} // there is a token; it may be stored; it was
	issuedOnce              sync.Once
	tokenPut, answerPut     sync.Once
	tokenThere, markThere   chan struct{}
	parkedOnce              sync.Once

	mu        sync.Mutex
	resumedBy string
	closed    int // times that the token was found closed
	parkings  int
	takes     int // times that a run found the answer
}

func newMeeting(round int) *meetingPoint {
	m := &meetingPoint{
		comes: []string{comesBefore, comesWhile, comesAfter}[round%3], issued: make(chan struct{}), mayPark: make(chan struct{}), parked: make(chan struct{}),
		tokenThere: make(chan struct{}), markThere: make(chan struct{}),
	}
	m.locked = m.comes == comesWhile && round%2 == 1
	return m
}

// meet plays a round: a paused task, its execution, its answer.
func (p *parking) meet(t *testing.T, m *meetingPoint) error {
	ctx := t.Context()
	h, err := newHolder(t, p.plain)
	if err != nil {
		return err
	}
	err = h.report(ctx, lifecycle.Report{Verb: lifecycle.VerbPause, Next: "answer", Message: says("May I?"), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: time.Hour}})
	if err != nil {
		return err
	}
	ref := h.task.Ref()
	p.expect(ref.Task, m)
	if err := p.parker.Submitted(ctx, h.task.Head); err != nil {
		return err
	}
	<-m.issued
	switch m.comes {
	case comesBefore:
		err = p.reply(ctx, h.task)
		close(m.mayPark)
	case comesWhile:
		close(m.mayPark)
		err = p.reply(ctx, h.task)
	case comesAfter:
		close(m.mayPark)
		<-m.parked
		err = p.reply(ctx, h.task)
	}
	if err != nil {
		return fmt.Errorf("task %s: the answer: %w", ref, err)
	}
	name := string(ref.Task) + "-g1"
	if !expect(t, "execution "+name+", whose answer came "+m.comes+", has ended", lookSoon, func() (bool, string) {
		_, ok := p.machine.result(name)
		m.mu.Lock()
		defer m.mu.Unlock()
		known := m.resumedBy != "" || p.machine.visited(name, "Settle") > 0 // whoever resumes learns of it a moment later
		return ok && known, fmt.Sprintf("ended %t; it was parked %d times and resumed by %q", ok, m.parkings, m.resumedBy)
	}) {
		return errors.New("an answer was lost")
	}
	r, _ := p.machine.result(name)
	done, err := verify(ctx, p.plain, ref)
	replies := 0
	for _, e := range done.entries {
		if e.Type == lifecycle.TypeReply {
			replies++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.resumedBy == "" && p.machine.visited(name, "Settle") > 0 {
		m.resumedBy = sideSettle
	}
	if r.Err != nil || err != nil || done.State != a2a.TaskStateCompleted || replies != 1 || m.takes != 1 || m.resumedBy == "" {
		return fmt.Errorf("task %s, whose answer came %s: execution %w, ledger %w, %s, %d replies, taken %d times, resumed by %q", ref, m.comes, r.Err, err, done.State, replies, m.takes, m.resumedBy)
	}
	return nil
}

// reply commits an answer and tells the execution, as the api process does.
func (p *parking) reply(ctx context.Context, task lifecycle.Task) error {
	id := a2a.NewMessageID()
	res, err := p.answering.Do(ctx, task, lifecycle.Reply{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("yes")), Grace: raceGrace},
		lifecycle.Source{Producer: "client", EventID: id}, ledger.Extra{Receipt: &ledger.Receipt{Producer: "client", EventID: id, Digest: lifecycle.DigestBytes([]byte(id))}})
	if err != nil {
		return err
	}
	if err := p.answerer.Answered(ctx, res.Task.Head, res.Answered); err == nil {
		return nil
	}
	p.untold.Add(1)
	return p.sweeper.Answered(ctx, res.Task.Head, res.Answered)
}
