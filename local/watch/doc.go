// Package watch follows a task over HTTP with its updates as they come, across cut
// streams and server restarts.
//
//	client := watch.Client{BaseURL: "http://127.0.0.1:8080", Agent: "access-review"}
//	err := client.Follow(ctx, task, 0, func(u watch.Update) error {
//		fmt.Println(watch.Line(u))
//		return nil
//	})
//
// It speaks A2A 1.0 (HTTP+JSON, SubscribeToTask) and knows of Holdfast only that
// every update has its sequence as SSE id, and that a stream resumes behind the
// one that Last-Event-ID names. Each id is seen once, in ascending order, however
// often the stream is cut. What it does when a stream ends:
//
//	after a terminal update          returns
//	while input is required          asks again, at most 5 s apart, until the task goes on
//	cut, or the server is gone       connects again, with backoff and jitter, until Patience is used up
//	the task has ended meanwhile     reads the task, shows it as the last update, returns
//	the server refuses               returns the refusal
//
// Not guaranteed: that updates which were committed while no stream was open are
// seen when the task ends before the next connection. A finished task cannot be
// subscribed to (A2A §3.1.6); its whole history is at /tasks/{id}/ledger.
package watch
