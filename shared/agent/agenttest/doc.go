// Package agenttest drives an agent through replies and crashes, without a
// server:
//
//	agenttest.Start(t, Travel, "Plan a trip").
//		WantPause("Which city?").
//		CrashBeforeCommit("book").
//		Reply("Oslo").
//		WantCompleted("Booked …").
//		WantCalls("reserve", 1)
//
// A [Run] is one task. It goes by the rules that hold in production: a step that
// was interrupted runs again from the last commit; effects are remembered for the
// visit of a step; chunks are committed together with the state; whatever a commit
// refuses fails the task.
//
// # Time
//
// Nothing waits. The clock stands still while steps run and jumps over the delay
// before a retry (the longest, without jitter) and over the time that an effect in
// doubt must rest. It stops at a sleep: [Run.WantSleep] looks at it and lets it
// pass, and so does whatever wants a pause or an end. A pause stays open until [Run.Reply], [Run.Authorize],
// [Run.Expire] or [Run.Cancel]. A step's timeout is real time; in a bubble of
// testing/synctest it passes at once.
//
// # Faults
//
// A fault is laid out before it happens and happens once, the next time that its
// step or effect comes by: CrashBeforeCommit, CrashAfterCommit, CrashBeforeCall,
// CrashAfterCall, FailCall, LoseAnswer, CancelDuring. One that never comes by fails
// the test when it ends: it has proved nothing. [EveryCrash] repeats a whole
// scenario with a crash at each point where one can be.
//
// # Text
//
// In wanted texts … stands for anything, also for nothing. Message IDs, task ID and
// clock are the same in every run.
package agenttest
