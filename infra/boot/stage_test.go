package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/push"
	"github.com/holdfast-a2a/holdfast/shared/sweep"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// In these tests the stream function, the sweep of endpoints and the function of the
// delivery machine are real, from Lambda's batch of records to the request that a receiver
// gets. The ledger is the model, whose commits are turned into records as DynamoDB would
// make them; the machine is a loop; receivers answer in the process; time is fake.

// tried is one attempt, as a receiver saw it.
type tried struct {
	At     float64 `json:"at"` // seconds since the act began
	Seq    uint64  `json:"seq"`
	ID     string  `json:"id"`
	Status int     `json:"status"`
}

// stage is a deployment without AWS.
type stage struct {
	ledger.Ledger // which turns commits into records

	t      *testing.T
	memory *ledgertest.Memory
	blobs  *ledgertest.MemoryBlobs
	purges *sweep.Purges
	auth   *ledger.Authority
	hooks  push.Config
	sender *webhook.Sender
	stream Streaming
	logs   *bytes.Buffer
	began  time.Time

	// ctx ends with the test, and running is what has to end then.
	ctx     context.Context //nolint:containedctx // of the stage's own processes
	running sync.WaitGroup
	answer  func(r *http.Request) int // what becomes of a request; nil: 200

	mu      sync.Mutex
	begun   map[string]bool   // executions, by name
	records []json.RawMessage // that the stream has, and that were not handed out yet
	number  int
	tries   map[string][]tried // by host
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{t: t, memory: ledgertest.NewMemory(), blobs: ledgertest.NewMemoryBlobs(), logs: &bytes.Buffer{}, began: time.Now(), tries: map[string][]tried{}, begun: map[string]bool{}}
	s.Ledger = s.memory
	var stop context.CancelFunc
	s.ctx, stop = context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(func() {
		stop()
		s.running.Wait()
	})
	s.auth = &ledger.Authority{Ledger: s, Now: time.Now, NewID: a2a.NewMessageID}
	logger := slog.New(slog.NewJSONHandler(s.logs, nil))
	s.hooks = push.Config{Ledger: s.memory, Ring: keyring.New(&keyring.Memory{}), Client: &http.Client{Transport: s}, Now: time.Now, Dice: func() float64 { return 0.5 }, NewID: a2a.NewMessageID, Grace: time.Minute, Logger: slog.New(slog.DiscardHandler), Executions: s, Receivers: &webhook.Receivers{}}
	var err error
	if s.sender, err = s.hooks.Sender(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.purges = process{logger: slog.New(slog.DiscardHandler), now: time.Now}.purges(s.memory, s.blobs, 1000)
	s.stream = following(logger, monitorOn(s.logs), func(ctx context.Context, h *hints) []string { return h.deliver(ctx, s.hooks) },
		func(ctx context.Context, refs []lifecycle.Ref) sweep.Forgotten { return expired(ctx, s.purges, refs) })
	return s
}

// Start implements webhook.Executions: it plays the delivery machine, in a process with
// a memory of its own.
func (s *stage) Start(_ context.Context, name string, x webhook.Execution) error {
	s.mu.Lock()
	known := s.begun[name]
	s.begun[name] = true
	s.mu.Unlock()
	if known {
		return nil
	}
	sender := *s.sender
	sender.Receivers = nil
	h := &webhook.Handler{Sender: func(context.Context) (*webhook.Sender, error) { return &sender, nil }, Endpoints: s.memory, Budget: deliverBudget, Logger: slog.New(slog.DiscardHandler)}
	s.running.Go(func() {
		for x.Outcome.Word != webhook.Done {
			select {
			case <-time.NewTimer(time.Duration(x.Outcome.Seconds) * time.Second).C:
			case <-s.ctx.Done():
				return
			}
			payload, err := json.Marshal(struct {
				Op string `json:"op"`
				webhook.Execution
			}{"deliver", x})
			if err == nil {
				payload, err = h.Handle(s.ctx, payload)
			}
			if err == nil {
				err = json.Unmarshal(payload, &x.Outcome)
			}
			if err != nil {
				s.t.Error(err)
				return
			}
		}
	})
	return nil
}

// RoundTrip implements http.RoundTripper.
func (s *stage) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	seq, err := strconv.ParseUint(r.Header.Get("Holdfast-Sequence"), 10, 64)
	if err != nil {
		return nil, err
	}
	code := http.StatusOK
	if s.answer != nil {
		code = s.answer(r)
	}
	if r.Context().Err() != nil {
		return nil, r.Context().Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tries[r.URL.Host] = append(s.tries[r.URL.Host], tried{time.Since(s.began).Seconds(), seq, r.Header.Get("Webhook-Id"), code})
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: http.NoBody}, nil
}

// Create implements ledger.Tasks.
func (s *stage) Create(ctx context.Context, c ledger.Creation) error {
	err := s.Ledger.Create(ctx, c)
	if err == nil {
		s.record(c.Head, c.Entries)
	}
	return err
}

// Commit implements ledger.Tasks.
func (s *stage) Commit(ctx context.Context, c ledger.Commit) error {
	err := s.Ledger.Commit(ctx, c)
	if err == nil {
		s.record(c.Head, c.Entries)
	}
	return err
}

// record adds a transaction's records: its head's, and one for each entry.
func (s *stage) record(h lifecycle.Head, entries []lifecycle.Entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	add := func(name, sort, image string) {
		s.number++
		s.records = append(s.records, fmt.Appendf(nil, `{"eventID":"e%d","eventName":%q,"eventSource":"aws:dynamodb","dynamodb":{"SequenceNumber":"%d00","Keys":{"pk":{"S":"T#%s#%s"},"sk":{"S":%q}},"NewImage":{"pk":{"S":"T#%s#%s"},"sk":{"S":%q}%s}}}`,
			s.number, name, s.number, h.Tenant, h.Task, sort, h.Tenant, h.Task, sort, image))
	}
	add("MODIFY", "#", "")
	for _, e := range entries {
		add("INSERT", fmt.Sprintf("e#%010d", e.Seq), fmt.Sprintf(`,"sq":{"N":"%d"},"ty":{"S":%q}`, e.Seq, e.Type))
	}
}

// taken is what the stream has now; it is handed out once.
func (s *stage) taken() []json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.records
	s.records = nil
	return all
}

// batch is one invocation of the stream function.
func (s *stage) batch(records ...json.RawMessage) {
	s.t.Helper()
	out, err := s.stream(s.t.Context(), Batch{Records: records})
	if err != nil || len(out.BatchItemFailures) > 0 {
		s.t.Fatalf("the stream function answers %+v, %v to %d records", out, err, len(records))
	}
}

// sweepOften is the schedule, for as long as the act is played.
func (s *stage) sweepOften() {
	tick := time.NewTicker(time.Minute)
	planner := s.hooks.Planner()
	sweeper := s.hooks.Sweeper(planner, planner.Hand)
	s.running.Go(func() {
		defer tick.Stop()
		for {
			select {
			case <-s.ctx.Done():
				return
			case <-tick.C:
			}
			if _, err := sweeper.Run(s.ctx); err != nil && s.ctx.Err() == nil {
				s.t.Error(err)
			}
		}
	})
}

// life is a task's, one commit at a time: between them others may do as they like. Its
// updates go to a receiver of its name, and to others.
func (s *stage) life(name string, between func(), others ...string) lifecycle.Ref {
	s.t.Helper()
	ctx := s.t.Context()
	ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
	var endpoints []ledger.Endpoint
	for i, url := range append([]string{"https://" + name + ".example/"}, others...) {
		endpoints = append(endpoints, ledger.Endpoint{
			ID: []string{"hook", "second", "third"}[i], URL: url, Agent: "agent", Base: "https://agent.example", CreatedAt: lifecycle.Millis(time.Now()),
			Delivery: ledger.Delivery{DueAt: time.Now().Add(webhook.CheckEvery)},
		})
	}
	res, err := s.auth.Create(ctx, ref, lifecycle.Submit{
		ContextID: "c", Agent: "agent", AgentVersion: 1, Step: "first", Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go")), Principal: "p",
		RequestDigest: lifecycle.DigestBytes(nil), Policy: lifecycle.DefaultPolicy(),
	}, lifecycle.Source{Producer: "client"}, nil, endpoints...)
	if err != nil {
		s.t.Fatal(err)
	}
	task := res.Task
	do := func(cmd lifecycle.Command) {
		between()
		if rep, is := cmd.(lifecycle.Report); is {
			rep.Holder, rep.Fence, rep.Grace = task.Holder, task.Fence, time.Minute
			cmd = rep
		}
		res, err := s.auth.Do(ctx, task, cmd, lifecycle.Source{Producer: "runner", Holder: task.Holder, Fence: task.Fence}, ledger.Extra{})
		if err != nil {
			s.t.Fatalf("%T: %v", cmd, err)
		}
		task = res.Task
	}
	said := func(text string) lifecycle.Update {
		return lifecycle.Update{Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))}
	}
	do(lifecycle.Grant{Holder: string(ref.Task) + "-g1", Generation: task.Generation, Lease: time.Hour, Grace: time.Minute})
	for i := range 3 { // two entries in one transaction each
		do(lifecycle.Report{Verb: lifecycle.VerbProgress, Updates: []lifecycle.Update{said(fmt.Sprint(i, " begun")), said(fmt.Sprint(i, " done"))}})
	}
	do(lifecycle.Report{Verb: lifecycle.VerbComplete, Message: a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("done"))})
	between()
	return ref
}

// visible is what callers see of a task.
func (s *stage) visible(ref lifecycle.Ref) (out []uint64) {
	s.t.Helper()
	entries, err := s.memory.Entries(s.t.Context(), ref, 0, 0)
	if err != nil {
		s.t.Fatal(err)
	}
	view := lifecycle.NewView(ref, func(lifecycle.Digest) string { return "" })
	for _, e := range entries {
		update, err := view.Add(e)
		if err != nil {
			s.t.Fatal(err)
		}
		if update != nil {
			out = append(out, e.Seq)
		}
	}
	return out
}

// once holds what a receiver saw of a task against what it should have: everything, in
// order, and nothing twice.
func (s *stage) once(name string, ref lifecycle.Ref) []tried {
	s.t.Helper()
	s.mu.Lock()
	tries := slices.Clone(s.tries[name+".example"])
	s.mu.Unlock()
	var got []uint64
	ids := map[string]bool{}
	for _, one := range tries {
		got, ids[one.ID] = append(got, one.Seq), true
	}
	if want := s.visible(ref); !slices.Equal(got, want) || len(ids) != len(want) {
		s.t.Errorf("%s: updates %v came under %d ids, callers see %v", name, got, len(ids), want)
	}
	return tries
}

func pass(d time.Duration) { <-time.NewTimer(d).C }
