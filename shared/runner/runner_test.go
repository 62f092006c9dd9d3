package runner_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// A six-step task is one invocation and seven commits after its submission: the
// lease and one for each step.
func TestSixStepsAreSevenCommits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(to("b"), to("c"), to("d"), to("e"), to("f"), complete))
		if out := d.invoke(time.Minute); out.Word != lifecycle.WordDone {
			t.Errorf("outcome %+v, want done", out)
		}
		if n := d.calls.Load(); n != 7 {
			t.Errorf("%d commits, want 7", n)
		}
		d.wantState(a2a.TaskStateCompleted)
	})
}

// Case 20: a step that runs for three leases is renewed and not run again.
func TestHeartbeatKeepsTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		d := newDesk(t, agent.New("tester", 1, agent.Step[state]{Name: "a", Timeout: 10 * time.Minute, Run: func(_ context.Context, _ task) (agent.Next, error) {
			runs++
			<-time.NewTimer(90 * time.Second).C
			return agent.Complete("done"), nil
		}}))
		other := make(chan error, 1)
		time.AfterFunc(80*time.Second, func() {
			other <- d.do(lifecycle.Grant{Holder: "e2", Generation: 1, Lease: time.Minute})
		})
		d.invoke(15 * time.Minute)
		if err := <-other; !lifecycle.RejectedFor(err, lifecycle.LeaseHeld) {
			t.Errorf("another holder got %v, want lease-held", err)
		}
		if runs != 1 {
			t.Errorf("the step ran %d times", runs)
		}
		d.wantState(a2a.TaskStateCompleted)
	})
}

// A lease lasts as the task's policy says, and is renewed in time also where the deployment renews more seldom; a dead
// holder's task goes on when that time is over.
func TestLeaseOfThePolicy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease, deployed = 4 * time.Second, 30 * time.Second
		terms := &lifecycle.Terms{Digest: "d", Seconds: lifecycle.Spans{Lease: int64(lease / time.Second)}}
		grant := lifecycle.Grant{Holder: "e2", Generation: 1, Lease: time.Minute}
		var longest time.Duration
		var d *desk
		d = newDeskUnder(t, steps(func(context.Context, task) (agent.Next, error) {
			for range 90 {
				longest = max(longest, time.Until(d.head().LeaseUntil))
				if err := d.do(grant); !lifecycle.RejectedFor(err, lifecycle.LeaseHeld) {
					t.Errorf("another holder got %v, want lease-held", err)
				}
				<-time.NewTimer(time.Second / 2).C
			}
			return agent.Sleep(time.Hour, "a"), nil
		}), terms)
		d.invoke(15 * time.Minute)
		if longest > lease || longest < lease/2 {
			t.Errorf("the lease lasted %s at most, want %s", longest, lease)
		}
		<-time.NewTimer(time.Hour).C
		if err := d.do(lifecycle.Grant{Holder: "dead", Generation: 1, Lease: d.head().Lease(deployed)}); err != nil {
			t.Fatal(err)
		}
		<-time.NewTimer(lease).C
		if err := d.do(grant); err != nil {
			t.Errorf("the dead holder's task: %v", err)
		}
	})
}

// Case 17, I3: a holder that lost its lease is told at the next renewal, and what
// it still has to say is refused and kept as a rejection.
func TestLostLeaseStopsTheStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var stopped time.Duration
		d := newDesk(t, steps(func(ctx context.Context, _ task) (agent.Next, error) {
			began := time.Now()
			<-ctx.Done()
			stopped = time.Since(began)
			return agent.Complete("too late"), nil
		}))
		time.AfterFunc(5*time.Second, func() {
			if err := d.do(lifecycle.Restart{HolderGone: true}); err != nil {
				t.Error(err)
			}
			if err := d.do(lifecycle.Grant{Holder: "e2", Generation: 2, Lease: time.Hour}); err != nil {
				t.Error(err)
			}
		})
		if out := d.invoke(10 * time.Minute); out.Word != lifecycle.WordDone {
			t.Errorf("outcome %+v, want done: another generation has the task", out)
		}
		if stopped != 10*time.Second {
			t.Errorf("the step was stopped after %s, want at the first renewal", stopped)
		}
		d.wantState(a2a.TaskStateWorking)
		kept, err := d.ledger.Rejections(t.Context(), d.ref)
		if err != nil || len(kept) != 1 || kept[0].Reason != lifecycle.FenceLost {
			t.Errorf("rejections %+v, %v; want one fence-lost", kept, err)
		}
	})
}

// The same for a sub-step, whose own context ends with the lease: the rejection is kept
// all the same (case 14).
func TestLateSubStepIsKeptAsRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(func(ctx context.Context, tk task) (agent.Next, error) {
			<-time.NewTimer(8 * time.Second).C // after the lease was lost, before the renewal that finds it
			tk.Report("late")
			return agent.Next{}, tk.Commit(ctx)
		}))
		time.AfterFunc(5*time.Second, func() {
			if err := d.do(lifecycle.Restart{HolderGone: true}); err != nil {
				t.Error(err)
			}
			if err := d.do(lifecycle.Grant{Holder: "e2", Generation: 2, Lease: time.Hour}); err != nil {
				t.Error(err)
			}
		})
		if out := d.invoke(10 * time.Minute); out.Word != lifecycle.WordDone {
			t.Errorf("outcome %+v, want done: another generation has the task", out)
		}
		kept, err := d.ledger.Rejections(t.Context(), d.ref)
		if err != nil || len(kept) != 1 || kept[0].Reason != lifecycle.FenceLost || !strings.HasPrefix(kept[0].Detail, string(lifecycle.VerbSubStep)) {
			t.Errorf("rejections %+v, %v; want one fence-lost of a sub-step", kept, err)
		}
	})
}

// A cancellation is met at the next renewal at the latest, and at once by a
// commit. The request is in the history before the end.
func TestCancelIsMet(t *testing.T) {
	for name, run := range map[string]func(context.Context, task) (agent.Next, error){
		"waiting": func(ctx context.Context, _ task) (agent.Next, error) {
			<-ctx.Done()
			return agent.Next{}, ctx.Err()
		},
		"committing": func(ctx context.Context, t task) (agent.Next, error) {
			for {
				<-time.NewTimer(time.Second).C
				t.Report("tick")
				if err := t.Commit(ctx); err != nil {
					return agent.Next{}, err
				}
			}
		},
		"moving on": func(_ context.Context, _ task) (agent.Next, error) {
			<-time.NewTimer(4 * time.Second).C
			return agent.Continue("a"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, steps(run))
				time.AfterFunc(3500*time.Millisecond, func() {
					if err := d.do(lifecycle.RequestCancel{}); err != nil {
						t.Error(err)
					}
				})
				if out := d.invoke(10 * time.Minute); out.Word != lifecycle.WordDone {
					t.Errorf("outcome %+v, want done", out)
				}
				d.wantState(a2a.TaskStateCanceled)
				evs := d.events()
				if n := len(evs); evs[n-2].Type != lifecycle.TypeCancelRequested || evs[n-1].Type != lifecycle.TypeEnded {
					t.Errorf("the history ends with %s, %s", evs[n-2].Type, evs[n-1].Type)
				}
			})
		})
	}
}

// Case 48, one direction: who had got to the end completes, with the request in
// its history.
func TestCompletionBeatsALateCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(func(_ context.Context, _ task) (agent.Next, error) {
			<-time.NewTimer(4 * time.Second).C
			return agent.Complete("done"), nil
		}))
		time.AfterFunc(3*time.Second, func() {
			if err := d.do(lifecycle.RequestCancel{}); err != nil {
				t.Error(err)
			}
		})
		d.invoke(10 * time.Minute)
		d.wantState(a2a.TaskStateCompleted)
		if evs := d.events(); evs[len(evs)-2].Type != lifecycle.TypeCancelRequested {
			t.Errorf("the request is not in the history: %+v", evs)
		}
	})
}

// A failed attempt waits without a lease, capped and counted; then the task fails.
func TestRetriesThenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		d := newDesk(t, steps(func(_ context.Context, tk task) (agent.Next, error) {
			runs++
			if tk.Attempt != runs {
				t.Errorf("attempt %d in run %d", tk.Attempt, runs)
			}
			return agent.Next{}, fmt.Errorf("oops at https://user:hunter2@example.com/x?token=s3cret: Bearer abc.def")
		}))
		var waits []int
		var out lifecycle.Outcome
		for out = d.invoke(time.Minute); out.Word == lifecycle.WordWait; out = d.invoke(time.Minute) {
			if h := d.head(); h.Holder != "" {
				t.Fatal("a waiting task holds a lease")
			}
			waits = append(waits, out.Seconds)
			<-time.NewTimer(time.Duration(out.Seconds) * time.Second).C
		}
		if want := "[1 2 4 8 16 32 64 128 256]"; fmt.Sprint(waits) != want {
			t.Errorf("waits %v, want %s", waits, want)
		}
		if out.Word != lifecycle.WordFailed || runs != 10 {
			t.Errorf("outcome %+v after %d attempts", out, runs)
		}
		d.wantState(a2a.TaskStateFailed)
		entries, _ := d.ledger.Entries(t.Context(), d.ref, 0, 0)
		for _, e := range entries {
			for _, secret := range []string{"hunter2", "s3cret", "abc.def"} { // I9
				if strings.Contains(string(e.Payload), secret) {
					t.Errorf("entry %d holds %q: %s", e.Seq, secret, e.Payload)
				}
			}
		}
	})
}

func TestPermanentErrorFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(func(_ context.Context, _ task) (agent.Next, error) { return agent.Next{}, agent.Permanent(errOops) }))
		if out := d.invoke(time.Minute); out.Word != lifecycle.WordFailed {
			t.Errorf("outcome %+v", out)
		}
		d.wantState(a2a.TaskStateFailed)
	})
}

// What the rules refuse for good fails the task instead of being tried for ever:
// an open artifact (case 44's neighbour), an append to nothing (case 44).
func TestRefusedReportsFailTheTask(t *testing.T) {
	text := a2a.NewTextPart
	for name, run := range map[string]func(context.Context, task) (agent.Next, error){
		"open artifact": func(_ context.Context, t task) (agent.Next, error) {
			t.Emit(agent.Chunk{Artifact: "x", Part: text("1")})
			return agent.Complete("done"), nil
		},
		"append to nothing": func(_ context.Context, t task) (agent.Next, error) {
			t.Emit(agent.Chunk{Artifact: "x", Append: true, Last: true, Part: text("1")})
			return agent.Complete("done"), nil
		},
		"append in a sub-step": func(ctx context.Context, t task) (agent.Next, error) {
			t.Emit(agent.Chunk{Artifact: "x", Append: true, Part: text("1")})
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
			return agent.Complete("done"), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, steps(run))
				if out := d.invoke(time.Minute); out.Word != lifecycle.WordFailed {
					t.Errorf("outcome %+v", out)
				}
				d.wantState(a2a.TaskStateFailed)
			})
		})
	}
}

// An invocation ends in time: the lease is given back and the next one goes on at
// the same step.
func TestInvocationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		d := newDesk(t, agent.New("tester", 1, agent.Step[state]{Name: "a", Timeout: 5 * time.Minute, Run: func(ctx context.Context, tk task) (agent.Next, error) {
			runs++
			if tk.State.N == 1 {
				return agent.Complete("done"), nil
			}
			tk.State.N = 1
			if err := tk.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
			<-ctx.Done()
			return agent.Next{}, ctx.Err()
		}}))
		began := time.Now()
		if out := d.invoke(time.Minute); out.Word != lifecycle.WordContinue {
			t.Errorf("outcome %+v, want continue", out)
		}
		if took := time.Since(began); took != 50*time.Second {
			t.Errorf("the invocation took %s, want its limit less the reserve", took)
		}
		if h := d.head(); h.Holder != "" || h.Attempt != 0 {
			t.Errorf("holder %q, %d failed attempts; want neither", h.Holder, h.Attempt)
		}
		d.invoke(time.Minute)
		d.wantState(a2a.TaskStateCompleted)
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
}

func TestPauseAndSleepGiveTheLeaseBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(
			func(_ context.Context, _ task) (agent.Next, error) {
				return agent.Pause("which?", "b", agent.For(time.Hour)), nil
			},
			func(_ context.Context, tk task) (agent.Next, error) {
				if agent.Text(tk.Message) != "this" {
					t.Errorf("the step sees %q", agent.Text(tk.Message))
				}
				return agent.Sleep(90*time.Second, "c"), nil
			},
			complete,
		))
		if out := d.invoke(time.Minute); out != (lifecycle.Outcome{Word: lifecycle.WordAwait, Pause: 1, Seconds: 3600}) {
			t.Errorf("outcome %+v", out)
		}
		if h := d.head(); h.Holder != "" {
			t.Error("a paused task holds a lease")
		}
		if err := d.do(lifecycle.Reply{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("this"))}); err != nil {
			t.Fatal(err)
		}
		if out := d.invoke(time.Minute); out != (lifecycle.Outcome{Word: lifecycle.WordWait, Seconds: 90}) {
			t.Errorf("outcome %+v", out)
		}
		if out := d.invoke(time.Minute); out.Word != lifecycle.WordWait {
			t.Errorf("a sleeping task was run: %+v", out)
		}
		<-time.NewTimer(90 * time.Second).C
		d.invoke(time.Minute)
		d.wantState(a2a.TaskStateCompleted)
	})
}

func TestUnknownVersionWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, steps(complete))
		d.runner.Agents = one{agent.New("tester", 2, agent.Step[state]{Name: "a", Run: complete})}
		if out := d.invoke(time.Minute); out.Word != lifecycle.WordWait {
			t.Errorf("outcome %+v, want wait: a deploy is under way", out)
		}
		d.wantState(a2a.TaskStateSubmitted)
	})
}

// A large part goes to the blob store before the commit that names it, and a step
// gets its bytes back.
func TestLargePartsTravelThroughBlobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := strings.Repeat("x", lifecycle.MaxInlineBytes+1)
		d := newDesk(t, steps(
			func(_ context.Context, tk task) (agent.Next, error) {
				tk.Emit(agent.Chunk{Artifact: "big", Last: true, Part: a2a.NewTextPart(large)})
				return agent.Complete("done"), nil
			},
		))
		d.invoke(time.Minute)
		d.wantState(a2a.TaskStateCompleted)
		for _, ev := range d.events() {
			if ev.Chunk == nil {
				continue
			}
			ref, moved := lifecycle.AsBlob(ev.Chunk.Part)
			if !moved || ev.Chunk.Bytes != int64(len(large)) {
				t.Fatalf("the chunk is %+v", ev.Chunk)
			}
			got, err := d.blobs.Get(t.Context(), d.ref, ref.Digest)
			if err != nil || string(got) != large {
				t.Errorf("the blob: %v, %d bytes", err, len(got))
			}
		}
	})
}
