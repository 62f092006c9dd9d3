package integration_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// injected is a client that answers the next transactions with one error each, in the
// place of the server or after it has done what was asked.
type injected struct {
	dynamo.API

	mu     sync.Mutex
	faults []fault
	tokens []string // of the transactions since the faults were set
	at     []time.Time
	now    func() time.Time
}

// fault is one answer.
type fault struct {
	done bool // what was asked is done, and the answer is another
	err  error
}

func (i *injected) plan(faults ...fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.faults, i.tokens, i.at = faults, nil, nil
}

// TransactWriteItems implements dynamo.API.
func (i *injected) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	i.mu.Lock()
	i.tokens = append(i.tokens, aws.ToString(in.ClientRequestToken))
	i.at = append(i.at, i.now())
	var next *fault
	if len(i.faults) > 0 {
		next, i.faults = &i.faults[0], i.faults[1:]
	}
	i.mu.Unlock()
	if next == nil {
		return i.API.TransactWriteItems(ctx, in, opts...)
	}
	if next.done {
		if _, err := i.API.TransactWriteItems(ctx, in, opts...); err != nil {
			return nil, err
		}
	}
	return nil, next.err
}

func refusedBecause(code string) error {
	return answered(http.StatusBadRequest, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: aws.String("None")}, {Code: &code}}})
}

// Case 69: each error of a transaction by itself. A conflict and throttling have written
// nothing: the same is asked again, as a new request. A transaction in progress may have
// written: the same is asked again under the same token, and it happens once. A failed
// condition is final: nothing is asked again, what is there is read from the answer, and
// the command is decided anew on that.
func TestEachErrorByItself(t *testing.T) {
	clock := ledgertest.NewClock()
	authority := func(by dynamo.API, names dynamo.Names) *ledger.Authority {
		return &ledger.Authority{Ledger: dynamo.New(by, names, quick), Now: clock.Now, NewID: a2a.NewMessageID}
	}
	busy := fault{err: refusedBecause("TransactionConflict")}
	throttled := fault{err: answered(http.StatusBadRequest, &smithy.GenericAPIError{Code: "ThrottlingException"})}
	slowed := fault{err: refusedBecause("ThrottlingError")}
	progress := fault{done: true, err: answered(http.StatusBadRequest, &types.TransactionInProgressException{})}
	for _, c := range []struct {
		name             string
		faults           []fault
		overtaken        bool // somebody else commits first
		requests, tokens int
		own, theirs      uint64 // sequences of the two messages
	}{
		{name: "nothing", requests: 1, tokens: 1, own: 3},
		{name: "TransactionConflict", faults: []fault{busy, busy}, requests: 3, tokens: 3, own: 3},
		{name: "ConditionalCheckFailed", overtaken: true, requests: 2, tokens: 2, theirs: 3, own: 4},
		{name: "ThrottlingException", faults: []fault{throttled, throttled}, requests: 3, tokens: 3, own: 3},
		{name: "throttled within a transaction", faults: []fault{slowed}, requests: 2, tokens: 2, own: 3},
		{name: "TransactionInProgress", faults: []fault{progress}, requests: 2, tokens: 1, own: 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			names, by := tables(t), &injected{API: client, now: time.Now}
			s := &storyteller{T: t, clock: clock, auth: authority(by, names)}
			for _, do := range []func() (ledger.Result, error){s.submit, s.grant} {
				res, err := do()
				if err != nil {
					t.Fatal(err)
				}
				s.task = res.Task
			}
			note := func(text string) lifecycle.Report {
				return lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Message: says(text)}}}
			}
			if c.overtaken {
				other := &storyteller{T: t, clock: clock, auth: authority(client, names), task: s.task}
				if _, err := other.report(note("theirs")); err != nil {
					t.Fatal(err)
				}
			}
			by.plan(c.faults...)
			if _, err := s.report(note("own")); err != nil {
				t.Fatal(err)
			}
			requests, tokens := len(by.tokens), slices.Sorted(slices.Values(by.tokens))
			if requests != c.requests || len(slices.Compact(tokens)) != c.tokens {
				t.Errorf("%d requests under the tokens %q, want %d under %d", requests, by.tokens, c.requests, c.tokens)
			}
			found := map[string]uint64{}
			entries, err := s.auth.Ledger.Entries(t.Context(), s.task.Ref(), 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range entries {
				ev, err := e.Event()
				if err != nil {
					t.Fatal(err)
				}
				if ev.Message != nil {
					found[ev.Message.Parts[0].Text()] = e.Seq
				}
			}
			if _, err := lifecycle.Fold(s.task.Ref(), entries); err != nil {
				t.Errorf("I1: %v", err)
			}
			if want := int(max(c.own, c.theirs)); len(entries) != want || found["own"] != c.own || found["theirs"] != c.theirs {
				t.Errorf("%d entries with the messages %v, want %d, own %d and theirs %d", len(entries), found, want, c.own, c.theirs)
			}
		})
	}
}

// absent is a table that nobody reaches: every transaction meets another one.
type absent struct{ dynamo.API }

// TransactWriteItems implements dynamo.API.
func (absent) TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, refusedBecause("TransactionConflict")
}

// Case 69: the rests between the tries are drawn anew each time, and each is bounded.
// There is no server here: time is the test's.
func TestRestsHaveJitter(t *testing.T) {
	var first []time.Duration
	for range 8 {
		synctest.Test(t, func(t *testing.T) {
			by := &injected{API: absent{}, now: time.Now}
			const tries = 6
			l := dynamo.New(by, dynamo.Names{Tasks: "tasks", Private: "private"}, dynamo.Options{Retry: dynamo.Retry{Tries: tries, First: 100 * time.Millisecond, Longest: 400 * time.Millisecond}})
			auth := &ledger.Authority{Ledger: l, Now: time.Now, NewID: a2a.NewMessageID}
			_, err := auth.Create(t.Context(), lifecycle.Ref{Tenant: "t", Task: a2a.NewTaskID()}, lifecycle.Submit{
				ContextID: "c", Agent: "agent", AgentVersion: 1, Step: "first", Message: says("go"), Policy: lifecycle.DefaultPolicy(),
			}, lifecycle.Source{Producer: "client"}, nil)
			if !errors.Is(err, ledger.ErrUnavailable) {
				t.Errorf("error %v, want unavailable", err)
			}
			if len(by.at) < tries {
				t.Fatalf("%d tries, want %d", len(by.at), tries)
			}
			limit := 100 * time.Millisecond
			for n := 1; n < tries; n++ {
				rest := by.at[n].Sub(by.at[n-1])
				if rest <= 0 || rest > limit {
					t.Errorf("a rest of %s after %d tries, want at most %s", rest, n, limit)
				}
				limit = min(2*limit, 400*time.Millisecond)
			}
			first = append(first, by.at[1].Sub(by.at[0]))
		})
	}
	slices.Sort(first)
	if n := len(slices.Compact(slices.Clone(first))); n < 2 {
		t.Errorf("the first rests are all %s", first[0])
	}
	t.Logf("the first rests: %v", first)
}
