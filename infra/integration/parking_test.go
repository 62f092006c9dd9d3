package integration_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/infra/stepfn"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Who resumes an execution.
const (
	sideParking   = "the parking side"
	sideAnswering = "the answering side"
	sideSettle    = "Settle, after parking had failed"
	sideSweep     = "the sweep"
)

// parking is the two sides of a rendezvous, each a ledger process behind a proxy of its
// own, and the state machine between them.
type parking struct {
	machine *machine
	tables  dynamo.Names
	plain   *ledger.Authority // past the proxies

	parker, answerer, sweeper      *dispatch.Dispatcher
	answering                      *ledger.Authority
	parkingFaults, answeringFaults *faults
	untold                         atomic.Int64 // answers of which the execution was not told

	mu     sync.Mutex
	rounds map[a2a.TaskID]*meetingPoint
	tokens map[string]*meetingPoint
}

func newParking(t *testing.T, c *chance) *parking {
	t.Helper()
	p := &parking{
		tables: newTables(t), parkingFaults: newFaults(c, faultsOfAHundred), answeringFaults: newFaults(c, faultsOfAHundred),
		rounds: map[a2a.TaskID]*meetingPoint{}, tokens: map[string]*meetingPoint{},
	}
	p.plain = newAuthority(dynamoEndpoint, p.tables)
	parking := newAuthority(newProxy(t, dynamoEndpoint, p.meetParking), p.tables)
	p.answering = newAuthority(newProxy(t, dynamoEndpoint, p.meetAnswering), p.tables)
	p.machine = newMachine(t, func(ctx context.Context, _ string, payload json.RawMessage) (json.RawMessage, error) {
		return p.invoke(ctx, payload)
	})
	tell := func(side string, a *ledger.Authority) *dispatch.Dispatcher {
		executions := stepfn.New(stepfn.NewClient(configuration(p.machine.url)), machineARN)
		return &dispatch.Dispatcher{Authority: a, Executions: &witnessed{executions, p, side}, Grace: raceGrace}
	}
	p.parker, p.answerer, p.sweeper = tell(sideParking, parking), tell(sideAnswering, p.answering), tell(sideSweep, p.plain)
	return p
}

// witnessed notes who resumes.
type witnessed struct {
	dispatch.Executions
	parking *parking
	side    string
}

// Resume implements dispatch.Executions.
func (w *witnessed) Resume(ctx context.Context, token string) error {
	err := w.Executions.Resume(ctx, token)
	w.parking.mu.Lock()
	m := w.parking.tokens[token]
	w.parking.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err == nil && m.resumedBy != "":
		m.resumedBy += " and " + w.side // no rendezvous may come to this
	case err == nil:
		m.resumedBy = w.side
	case errors.Is(err, dispatch.ErrClosed):
		m.closed++
	}
	return err
}

func (p *parking) expect(id a2a.TaskID, m *meetingPoint) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rounds[id] = m
}

// invoke is the functions of the state machine: parking and settling are real and
// behind the proxy; a run takes the answer when it finds one.
func (p *parking) invoke(ctx context.Context, payload json.RawMessage) (json.RawMessage, error) {
	var op dispatch.Operation
	if err := json.Unmarshal(payload, &op); err != nil {
		return nil, err
	}
	p.mu.Lock()
	m := p.rounds[op.Task]
	if op.Op == dispatch.OpAwait {
		p.tokens[op.Token] = m
	}
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if op.Op == dispatch.OpAwait {
		m.issuedOnce.Do(func() { close(m.issued) })
		<-m.mayPark
		m.mu.Lock()
		m.parkings++
		m.mu.Unlock()
	}
	h := &dispatch.Handler{Dispatcher: p.parker, Steps: func(ctx context.Context, in dispatch.Input, execution string, _ time.Time) (lifecycle.Outcome, error) {
		return p.run(ctx, m, in, execution)
	}}
	out, err := h.Handle(ctx, payload)
	if op.Op == dispatch.OpAwait {
		m.tokenPut.Do(func() { close(m.tokenThere) }) // or it never will be: nobody waits for it any more
		if err == nil {
			m.parkedOnce.Do(func() { close(m.parked) })
		}
	}
	return out, err
}

// run is the step that the task paused for.
func (p *parking) run(ctx context.Context, m *meetingPoint, in dispatch.Input, execution string) (lifecycle.Outcome, error) {
	task, err := p.plain.Load(ctx, in.Ref())
	if err != nil {
		return lifecycle.Outcome{}, err
	}
	if out, rest := lifecycle.AtRest(task.Head, in.Generation, execution, time.Now()); rest {
		return out, nil
	}
	h := &holder{auth: p.plain}
	if err := h.grant(ctx, task); err != nil {
		return lifecycle.Outcome{}, err
	}
	if err := h.report(ctx, lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says("done")}); err != nil {
		return lifecycle.Outcome{}, err
	}
	m.mu.Lock()
	m.takes++
	m.mu.Unlock()
	return lifecycle.Ended(h.task.Head), nil
}

var uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// concerns is the round that a request belongs to, and whether it is about the item on
// which both sides meet.
func (p *parking) concerns(x *exchange) (m *meetingPoint, private bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range uuids.FindAll(x.body, -1) {
		if m = p.rounds[a2a.TaskID(id)]; m != nil {
			break
		}
	}
	return m, m != nil && bytes.Contains(x.body, []byte(p.tables.Private))
}

// meetParking is the proxy of the side that stores the token.
func (p *parking) meetParking(x *exchange) *reply {
	m, private := p.concerns(x)
	if !private {
		return p.parkingFaults.meet(x)
	}
	switch x.op {
	case "UpdateItem":
		return p.parkingFaults.meet(noting(x, &m.tokenPut, m.tokenThere))
	case "GetItem":
		m.hold(x, m.markThere)
	}
	return p.parkingFaults.meet(x)
}

// meetAnswering is the proxy of the side that commits the answer.
func (p *parking) meetAnswering(x *exchange) *reply {
	m, private := p.concerns(x)
	if !private {
		return p.answeringFaults.meet(x)
	}
	switch x.op {
	case "TransactWriteItems":
		return p.answeringFaults.meet(noting(x, &m.answerPut, m.markThere))
	case "GetItem":
		m.hold(x, m.tokenThere)
	}
	return p.answeringFaults.meet(x)
}

// noting tells when a write was done.
func noting(x *exchange, once *sync.Once, done chan struct{}) *exchange {
	return &exchange{ctx: x.ctx, op: x.op, body: x.body, forward: func() *reply {
		answer := x.forward()
		if answer != nil && answer.status == 200 {
			once.Do(func() { close(done) })
		}
		return answer
	}}
}

// hold keeps a read back until the other side has written, where the round asks for it.
func (m *meetingPoint) hold(x *exchange, written chan struct{}) {
	if !m.locked {
		return
	}
	select {
	case <-written:
	case <-x.ctx.Done():
	}
}
