package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// outside is a system that agents call in effects. It knows a repeated key and answers
// it alike, but counts how often it acted all the same.
type outside struct {
	w *world

	mu    sync.Mutex
	calls map[string]*called
}

// called is what became of the calls with one key.
type called struct {
	policy  agent.Policy
	request string
	begun   int // calls that arrived
	applied int // of them, that did something
	result  string
}

func newOutside(w *world) *outside { return &outside{w: w, calls: map[string]*called{}} }

// errOutside is trouble of the outside system's.
var errOutside = errors.New("the outside system is in trouble")

// call is one call. At the moment at which it arrives, its intent must be on record and
// its result must not be.
func (o *outside) call(ctx context.Context, p *process, policy agent.Policy, key, request string) (string, error) {
	err := p.call(ctx, "effect", key, onSends, func(f ledgertest.Fault) error {
		if f == ledgertest.FailBefore {
			return agent.NotDone(errOutside)
		}
		o.arrived(ctx, policy, key, request)
		return nil
	})
	if err != nil {
		return "", err
	}
	// A call that would come back late is as good as one that hangs: what it does is
	// either done long before its bound, or never.
	n := mix(o.w.seed, text(key), uint64(time.Now().UnixNano()))
	if n%12 == 0 {
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	select {
	case <-time.NewTimer(time.Duration(n>>8%4000) * time.Millisecond).C:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	var result string
	err = p.call(ctx, "effect, answer", key, onSends, func(f ledgertest.Fault) error {
		if f == ledgertest.FailBefore || n%16 == 1 {
			return errOutside // nobody knows, and nothing was done
		}
		result = o.apply(key)
		if f == ledgertest.FailAfter || n%16 == 2 {
			return errOutside
		}
		return nil
	})
	return result, err
}

// ask is how a call in doubt is reconciled.
func (o *outside) ask(ctx context.Context, p *process, key string) (result string, done bool, err error) {
	err = p.call(ctx, "effect, question", key, onSends, func(f ledgertest.Fault) error {
		if f == ledgertest.FailBefore || f == ledgertest.FailAfter {
			return errOutside
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		if c := o.calls[key]; c != nil && c.applied > 0 {
			result, done = c.result, true
		}
		return nil
	})
	return result, done, err
}

func (o *outside) arrived(ctx context.Context, policy agent.Policy, key, request string) {
	o.mu.Lock()
	c := o.calls[key]
	if c == nil {
		c = &called{policy: policy, request: request}
		o.calls[key] = c
	}
	c.begun++
	if c.request != request || c.policy != policy {
		o.w.broken("I7", "key %s came with request %q under %s, first with %q under %s", key, request, policy, c.request, c.policy)
	}
	o.mu.Unlock()
	e, err := o.record(ctx, key)
	switch {
	case err != nil:
		o.w.broken("I7", "key %s was called without a record of the intent: %v", key, err)
	case e.State == lifecycle.EffectDone:
		o.w.broken("I7", "key %s was called although its result is recorded", key)
	case e.Key != key:
		o.w.broken("I7", "the effect's key is %s, called was %s", e.Key, key)
	}
}

// record finds an effect by its key.
func (o *outside) record(ctx context.Context, key string) (lifecycle.Effect, error) {
	task, rest, _ := strings.Cut(key, ":")
	visit, name, _ := strings.Cut(rest, ":")
	n, err := strconv.ParseUint(visit, 10, 64)
	ref, known := o.w.witness.ref(a2a.TaskID(task))
	if err != nil || !known {
		return lifecycle.Effect{}, fmt.Errorf("key %s names no effect", key)
	}
	return o.w.witness.Effect(context.WithoutCancel(ctx), ref, n, name)
}

func (o *outside) apply(key string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.calls[key]
	if c.applied == 0 || c.policy != agent.PolicyRetry {
		c.applied++
		c.result = fmt.Sprintf("done %d", c.applied)
	}
	return c.result
}

// check holds what the outside systems saw against a task's records.
func (o *outside) check(ref lifecycle.Ref, records []lifecycle.Effect) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := map[string]bool{}
	for _, e := range records {
		if known[e.Key] {
			o.w.broken("I7", "task %s: two records of key %s", ref, e.Key)
		}
		known[e.Key] = true
		c := o.calls[e.Key]
		if e.State != lifecycle.EffectDone {
			continue
		}
		switch {
		case c == nil || c.applied == 0:
			o.w.broken("I7", "task %s: key %s is recorded as done (%s), and nothing was ever done", ref, e.Key, e.Evidence)
		case string(e.Result) != strconv.Quote(c.result):
			o.w.broken("I7", "task %s: key %s has the result %s on record, it was %q", ref, e.Key, e.Result, c.result)
		}
	}
	for key, c := range o.calls {
		if !strings.HasPrefix(key, string(ref.Task)+":") {
			continue
		}
		if !known[key] {
			o.w.broken("I7", "task %s: key %s was called and has no record", ref, key)
		}
		if c.applied > 1 {
			o.w.broken("I7", "task %s: key %s acted %d times under policy %s", ref, key, c.applied, c.policy)
		}
	}
}
