// Package agent is what people who write agents import.
//
// An agent is a value: a name, a version and a table of named steps over one
// typed state. A step is a plain function; what it returns says what comes next.
//
//	type trip struct{ City, Booking string }
//
//	var Travel = agent.New("travel", 1,
//		agent.Step[trip]{Name: "where", Run: where},
//		agent.Step[trip]{Name: "book", Run: book, Timeout: time.Minute},
//	).Describe(agent.Card{Description: "Books a hotel in a city."}).KeyedByMessageID()
//
//	func where(ctx context.Context, t *agent.Task[trip]) (agent.Next, error) {
//		return agent.Pause("Which city?", "book", agent.For(24*time.Hour)), nil
//	}
//
// Before it is served, an agent wants:
//
//   - a card ([Agent.Describe]): what callers and other agents read about it;
//   - a submission key: with [Agent.KeyedByMessageID] the same messageId is the same
//     task, without it only the same Idempotency-Key is;
//   - a check of first messages ([Agent.Validate]), and a policy ([Agent.Under]),
//     where the default ones will not do;
//   - an [Effect] around every call that changes something outside.
//
// # Guarantees
//
// A step runs at least once and moves on exactly once. After a crash it runs
// again from the state of its last commit; what it changed since then is gone.
// Whatever a step does in the outside world belongs in an [Effect]: a result that
// is recorded is never asked for again.
//
// Not guaranteed: that the outside world was called only once. A call that was
// begun and not recorded is in doubt, and is by default made again, under the same
// key: the other side must heed the key. For one that does not there are [Reconcile]
// and [Hold].
//
// There is no replay of code and hence no rule about determinism. The price is
// that a line of code which waits for somebody must end a step: a loop of
// questions becomes a step that names itself as the next one.
//
// # Wrong
//
//	func pay(ctx context.Context, t *agent.Task[order]) (agent.Next, error) {
//		bank.Transfer(ctx, t.State.Amount) // WRONG: runs again after a crash; use Effect
//		global.count++                     // WRONG: lost with the process; use t.State
//		return agent.Continue("ship"), nil
//	}
//
// What a state and the results of effects hold is kept as JSON: a field that
// encoding/json leaves out is refused, for it would be gone at the next step.
//
// Package agenttest drives an agent through replies and crashes without a
// server.
package agent
