// Package receiver takes webhooks of Holdfast: it verifies them, stores each update once
// and in order, and answers when it has stored it. It is for reading and for copying:
// it needs the standard library alone.
//
//	keys, err := receiver.KeysAt("https://agents.example/.well-known/webhook-keys.json", time.Now)
//	inbox, err := receiver.OpenInbox("inbox.ndjson")
//	http.Handle("/hook", &receiver.Receiver{Keys: keys, Store: inbox, Token: token})
//
// What a consumer of webhooks has to know is in these rules, each of which is code here:
//
//   - A request is what its signature says (Standard Webhooks, v1a: Ed25519 over the
//     webhook-id, the timestamp and the body, byte by byte). Whatever is not signed, or was
//     signed more than five minutes ago or ahead, is refused.
//   - The signature says that the deployment sent it, not that it was meant for you: the
//     same key signs everybody's webhooks, and everybody can name your address. The token
//     that you configured with the webhook says so, and it is compared as well.
//   - Headers beside the three that are signed prove nothing. Task and sequence are read
//     from the body; Holdfast-Sequence only has to agree.
//   - An update comes at least once, under one webhook-id. What was stored is acknowledged
//     again and not applied again.
//   - The updates of a task come in the order of their sequences. There are gaps: not every
//     entry is shown to callers. What is not above the task's last sequence is acknowledged
//     and not applied.
//   - A success is answered when the update is on disk, and not before: the sender forgets
//     what was taken. Everything else is tried again, for days.
//
// Keys are fetched when they are first needed, and again when they are old or a signature
// fits none of them. During a rotation requests carry a signature of each key; one that
// fits is enough.
package receiver
