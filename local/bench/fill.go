package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// fillers is how many tasks are made side by side: their commits share transactions.
const fillers = 128

// kind is what a made task has come to.
type kind struct {
	name string
	many int
	// age is how long ago the first of them was accepted; the others follow evenly
	// until an hour ago.
	age    time.Duration
	retain time.Duration
	end    func(h lifecycle.Head, now time.Time) lifecycle.Report
}

func finished(many int) kind {
	return kind{name: "finished", many: many, age: lifecycle.DefaultRetention - 24*time.Hour, retain: lifecycle.DefaultRetention, end: completed}
}

// expired tasks are older than their retention: the next sweep is to purge them.
func expired(many int) kind {
	return kind{name: "expired", many: many, age: lifecycle.DefaultRetention, retain: time.Minute, end: completed}
}

// waiting tasks have asked a question that nobody has answered.
func waiting(many int) kind {
	return kind{name: "waiting for input", many: many, age: 24 * time.Hour, retain: lifecycle.DefaultRetention, end: func(_ lifecycle.Head, _ time.Time) lifecycle.Report {
		return lifecycle.Report{Verb: lifecycle.VerbPause, Next: "step-2", State: checkpoint, Message: said("Shall I go on?"), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired}}
	}}
}

// sleeping tasks go on by themselves in a day: a restart has to take them over.
func sleeping(many int) kind {
	return kind{name: "sleeping", many: many, age: 24 * time.Hour, retain: lifecycle.DefaultRetention, end: func(_ lifecycle.Head, now time.Time) lifecycle.Report {
		return lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "step-2", State: checkpoint, Until: now.Add(48 * time.Hour)}
	}}
}

var checkpoint = json.RawMessage(fmt.Sprintf(`{"note":%q}`, strings.Repeat("n", 30)))

func completed(lifecycle.Head, time.Time) lifecycle.Report {
	return lifecycle.Report{Verb: lifecycle.VerbComplete, Message: said("done")}
}

func said(text string) *a2a.Message {
	return a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart(text))
}

// fill makes tasks in a folder by the product's own rules, with a clock of its own
// for each and without waiting for the disk.
func fill(ctx context.Context, dir string, kinds ...kind) error {
	book, err := sqlite.Open(dir, sqlite.Options{NoSync: true})
	if err != nil {
		return err
	}
	for _, k := range kinds {
		began := time.Now()
		if err := k.fill(ctx, book); err != nil {
			_ = book.Close()
			return fmt.Errorf("a task that is %s: %w", k.name, err)
		}
		if k.many > 0 {
			fmt.Printf("  made %d tasks: %s (%.0f s)\n", k.many, k.name, time.Since(began).Seconds())
		}
	}
	return book.Close()
}

func (k kind) fill(ctx context.Context, book *sqlite.Ledger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	first := time.Now().Add(-k.age)
	for range fillers {
		all.Go(func() {
			for i := next.Add(1); i <= int64(k.many) && ctx.Err() == nil; i = next.Add(1) {
				at := first.Add(time.Duration(float64(k.age-time.Hour) * float64(i) / float64(k.many)))
				if err := k.task(ctx, book, at); err != nil {
					cancel(err)
				}
			}
		})
	}
	all.Wait()
	return context.Cause(ctx)
}

// task makes one: submitted, begun, and what it has come to.
func (k kind) task(ctx context.Context, book *sqlite.Ledger, at time.Time) error {
	authority := &ledger.Authority{Ledger: book, Now: func() time.Time { return at }, NewID: newID}
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: a2a.TaskID(newID())}
	policy := lifecycle.DefaultPolicy()
	policy.Retention = k.retain
	a := sixSteps()
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("go"))
	key := &ledger.Key{Tenant: node.Tenant, Hash: lifecycle.DigestBytes([]byte(message.ID))}
	res, err := authority.Create(ctx, ref, lifecycle.Submit{
		ContextID: newID(), Agent: a.Name(), AgentVersion: a.Version(), Step: a.First(), Message: message, Policy: policy,
	}, lifecycle.Source{Producer: "bench"}, key)
	if err != nil {
		return err
	}
	from := lifecycle.Source{Producer: "bench"}
	res, err = authority.Do(ctx, res.Task, lifecycle.Grant{Holder: "bench", Generation: 1, Lease: lifecycle.DefaultLease, Grace: lifecycle.DefaultGrace}, from, ledger.Extra{})
	if err != nil {
		return err
	}
	report := k.end(res.Task.Head, at)
	report.Holder, report.Fence, report.Grace = "bench", res.Task.Fence, lifecycle.DefaultGrace
	_, err = authority.Do(ctx, res.Task, report, from, ledger.Extra{})
	return err
}
