// Package asl interprets state machines in the Amazon States Language inside one process, so that the definitions that
// Step Functions runs for us on AWS also run on a laptop.
//
// It knows exactly the part of the language that our definitions use: the states Task, Choice, Wait, Succeed and Fail;
// Retry, Catch, time limits, Parameters and ResultPath in JSONPath form; callback tokens (.waitForTaskToken). Anything
// else (a field, a state type, a resource, an intrinsic function, a path with wildcards) is refused by [Parse], with an error that
// names the state and the field. So a definition that loads here means the same here and there, or the difference is a
// bug. Sources: "Amazon States Language" (states-language.net/spec.html) and the pages "Handling errors in Step
// Functions workflows", "Service integration patterns" and "Service quotas" of the AWS Step Functions Developer Guide.
//
// A [Machine] is a parsed definition. A [Runtime] runs executions of it:
//
//	machine, err := asl.Parse(definition, map[string]string{"StepFunctionArn": "arn:aws:lambda:…"})
//	runtime, err := asl.NewRuntime(machine, asl.Options{Invoke: invoke, Now: time.Now, Rand: rand.Float64, NewToken: uuid})
//	err = runtime.Start("task-g1", []byte(`{"taskId":"task"}`))
//	…
//	err = runtime.SendTaskSuccess(token, []byte(`{}`))
//	err = runtime.Stop(ctx)
//
// # What an execution costs
//
// A goroutine while a function is being invoked, none while the execution waits: an execution in a Wait state, in a retry's
// backoff or parked on a callback token is a small struct and one timer.
//
// # What is not promised
//
// Executions live in memory: a process that dies forgets them, and whoever starts the next one starts them again under
// other names. Timers follow the monotonic clock, which on some systems stands still while the machine sleeps. Closed
// names and tokens are remembered up to [Options].MaxClosed each, the oldest forgotten first, where Step Functions
// remembers names for 90 days.
package asl
