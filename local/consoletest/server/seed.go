package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// writers is how many tasks are written side by side: commits that come together share
// a transaction.
const writers = 64

// seed writes tasks as they may have come about over the last weeks: most have ended,
// some wait, a few are stuck.
func seed(ctx context.Context, book ledger.Ledger, tasks int, now time.Time) error {
	var all sync.WaitGroup
	errs := make(chan error, writers)
	for w := range writers {
		all.Go(func() {
			dice := rand.New(rand.NewPCG(42, uint64(w)))
			for i := w; i < tasks; i += writers {
				if err := one(ctx, book, i, now.Add(-age(dice, i, tasks)), dice); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	return <-errs
}

// age spreads tasks: the latest of them over the last hour, the others over four weeks.
func age(dice *rand.Rand, i, tasks int) time.Duration {
	if i > tasks-300 {
		return time.Minute + time.Duration(dice.Int64N(int64(time.Hour)))
	}
	return time.Hour + time.Duration(dice.Int64N(int64(28*24*time.Hour)))
}

// one writes a task that was submitted at an instant.
func one(ctx context.Context, book ledger.Ledger, i int, at time.Time, dice *rand.Rand) error {
	clock := at
	a := &ledger.Authority{Ledger: book, Now: func() time.Time { return clock }, NewID: uuid.NewString}
	version := 1 + i%2
	if i%350 == 349 {
		version = 9 // that nothing here can run
	}
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: a2a.TaskID(uuid.Must(uuid.NewV7()).String())}
	res, err := a.Create(ctx, ref, lifecycle.Submit{
		ContextID: fmt.Sprintf("conversation-%d", i%400), Agent: "desk", AgentVersion: version, Step: "begin", Policy: lifecycle.DefaultPolicy(),
		Message: &a2a.Message{ID: uuid.NewString(), Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("say something")}}, RequestDigest: lifecycle.DigestBytes(nil),
	}, lifecycle.Source{Producer: "client:seed"}, nil)
	if err != nil {
		return err
	}
	do := func(cmd lifecycle.Command) {
		if err == nil {
			clock = clock.Add(time.Duration(dice.IntN(20_000)) * time.Millisecond)
			res, err = a.Do(ctx, res.Task, cmd, lifecycle.Source{Producer: "runner", Holder: "seed", Fence: res.Task.Fence}, ledger.Extra{})
		}
	}
	do(lifecycle.Grant{Holder: "seed", Generation: 1, Lease: time.Minute, Grace: time.Second})
	report := lifecycle.Report{Holder: "seed", Fence: res.Task.Fence, Next: "end", Grace: time.Second, Verb: lifecycle.VerbComplete, Message: text("Done")}
	switch kind := i % 50; {
	case kind < 36:
	case kind < 40:
		report.Verb, report.Reason = lifecycle.VerbFail, "the other side refused"
	case kind < 42:
		report.Verb = lifecycle.VerbReject
	case kind < 45:
		report.Verb, report.Pause, report.Message = lifecycle.VerbPause, &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: lifecycle.MaxPause}, text("Which of the two?")
	case kind == 45:
		report.Verb, report.Pause = lifecycle.VerbPause, &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Timeout: lifecycle.MaxPause, Challenge: &lifecycle.Challenge{Action: "revoke 14 grants"}}
	case kind < 48:
		report.Verb, report.Until = lifecycle.VerbSleep, clock.Add(40*24*time.Hour)
	default:
		return err // its holder died
	}
	do(report)
	return err
}

func text(s string) *a2a.Message {
	return &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(s)}}
}
