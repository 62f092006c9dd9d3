package lifecycle

import (
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// View folds entries into what a caller sees: the A2A task, and for each entry
// the update that a stream or a webhook carries. Streaming from the start,
// replaying from the start and reading the task are the same fold.
type View struct {
	// BlobURL gives the address under which a caller can fetch a blob of the task.
	BlobURL func(Digest) string

	fold Task
	task a2a.Task
	// manifest is the digest of the manifest with which the task has ended.
	manifest Digest
}

// NewView begins a view of a task.
func NewView(ref Ref, blobURL func(Digest) string) *View {
	return &View{BlobURL: blobURL, fold: Task{Head: Head{Tenant: ref.Tenant, Task: ref.Task}}, task: a2a.Task{ID: ref.Task}}
}

// Seq is the last entry that was added.
func (v *View) Seq() uint64 { return v.fold.Seq }

// State is the state after the last entry.
func (v *View) State() a2a.TaskState { return v.fold.State }

// Add folds the next entry. It returns the update that callers see, nil for an
// entry that they do not see.
func (v *View) Add(e Entry) (a2a.Event, error) {
	next, ev, err := apply(v.fold, e)
	if err != nil {
		return nil, err
	}
	before := v.fold.State
	v.fold = next
	if ev.Ending != nil {
		v.manifest = ev.Ending.ManifestDigest
	}
	msg := v.message(ev.Message, e.Seq)
	switch ev.Type {
	case TypeSubmitted:
		v.task.ContextID = next.ContextID
		msg.ContextID = next.ContextID
		v.task.History = append(v.task.History, msg)
		return v.status(nil, e), nil
	case TypeReply:
		v.supersede()
		v.task.History = append(v.task.History, msg)
		return v.status(nil, e), nil
	case TypeMessage:
		v.task.History = append(v.task.History, msg)
		return nil, nil
	case TypeChunk:
		return v.chunk(ev.Chunk, e), nil
	}
	if msg == nil && next.State == before {
		return nil, nil
	}
	v.supersede()
	return v.status(msg, e), nil
}

// supersede moves the status message into the history when another status takes
// its place.
func (v *View) supersede() {
	if m := v.task.Status.Message; m != nil {
		v.task.History = append(v.task.History, m)
	}
	v.task.Status.Message = nil
}

func (v *View) status(msg *a2a.Message, e Entry) a2a.Event {
	at := v.fold.StatusAt
	meta, own := v.stamp(e.Seq, e.Chain)
	v.challenge(own)
	v.task.Status = a2a.TaskStatus{State: v.fold.State, Message: msg, Timestamp: &at}
	return &a2a.TaskStatusUpdateEvent{TaskID: v.task.ID, ContextID: v.task.ContextID, Status: v.task.Status, Metadata: meta}
}

func (v *View) chunk(c *Chunk, e Entry) a2a.Event {
	part := v.part(c.Part)
	artifact := &a2a.Artifact{ID: c.Artifact, Name: c.Name, Description: c.Description, Parts: a2a.ContentParts{part}}
	i := slices.IndexFunc(v.task.Artifacts, func(a *a2a.Artifact) bool { return a.ID == c.Artifact })
	switch {
	case i < 0:
		whole := *artifact
		v.task.Artifacts = append(v.task.Artifacts, &whole)
	case c.Number == 1:
		whole := *artifact
		v.task.Artifacts[i] = &whole
	default:
		v.task.Artifacts[i].Parts = append(v.task.Artifacts[i].Parts, part)
	}
	meta, own := v.stamp(e.Seq, e.Chain)
	own["revision"], own["number"], own["checksum"] = c.Revision, c.Number, string(c.Checksum)
	return &a2a.TaskArtifactUpdateEvent{
		TaskID: v.task.ID, ContextID: v.task.ContextID, Artifact: artifact,
		Append: c.Number > 1, LastChunk: c.Last, Metadata: meta,
	}
}

// Task is the task as callers see it. The result is the caller's to change at
// its top level; messages, artifacts and parts are shared.
func (v *View) Task() *a2a.Task {
	t := v.task
	t.History = slices.Clone(v.task.History)
	t.Artifacts = make([]*a2a.Artifact, 0, len(v.task.Artifacts))
	for _, a := range v.task.Artifacts {
		whole := *a
		whole.Parts = slices.Clone(a.Parts)
		t.Artifacts = append(t.Artifacts, &whole)
	}
	meta, own := v.stamp(v.fold.Seq, v.fold.Chain)
	t.Metadata = meta
	if p := v.fold.Pause; p != nil {
		own["pause"], own["pauseDeadline"] = p.Number, p.DeadlineAt.Format(instantLayout)
	}
	v.challenge(own)
	return &t
}

// instantLayout writes instants as A2A does (§5.6.1).
const instantLayout = "2006-01-02T15:04:05.000Z07:00"

// challenge says what an authorization receipt must answer, while one is open.
func (v *View) challenge(own map[string]any) {
	c := v.fold.Challenge
	if c == nil {
		return
	}
	seen := map[string]any{"number": c.Number, "action": c.Action, "expiresAt": c.ExpiresAt.Format(instantLayout)}
	if c.Audience != "" {
		seen["audience"] = c.Audience
	}
	own["challenge"] = seen
}

// stamp is the metadata that every task and update carries, and what in it is
// the extension's. With the last entry comes the receipt of the whole task.
func (v *View) stamp(seq uint64, digest Digest) (metadata, own map[string]any) {
	own = map[string]any{"sequence": seq, "digest": string(digest)}
	if v.manifest != "" {
		own["receipt"] = map[string]any{"sequence": seq, "digest": string(digest), "manifest": string(v.manifest)}
	}
	return map[string]any{ExtensionURI: own}, own
}

// message completes a stored message for callers: identifiers that the authority
// knows, and addresses in place of blob references.
func (v *View) message(m *a2a.Message, seq uint64) *a2a.Message {
	if m == nil {
		return nil
	}
	out := *m
	if out.ID == "" {
		out.ID = string(v.task.ID) + "-" + strconv.FormatUint(seq, 10)
	}
	out.TaskID, out.ContextID = v.task.ID, v.task.ContextID
	out.Parts = make(a2a.ContentParts, 0, len(m.Parts))
	for _, p := range m.Parts {
		out.Parts = append(out.Parts, v.part(p))
	}
	return &out
}

func (v *View) part(p *a2a.Part) *a2a.Part {
	ref, ok := AsBlob(p)
	if !ok {
		return p
	}
	out := *p
	out.Content = a2a.URL(v.BlobURL(ref.Digest))
	return &out
}
