package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// event is an event of an outside producer, as it was read.
type event struct {
	id, producer string
	seq, fence   uint64
	digest       lifecycle.Digest
	observedAt   time.Time
	payload      json.RawMessage // canonical

	kind    string
	lease   time.Duration
	message *a2a.Message
	chunks  []chunkSent
	state   json.RawMessage
	reason  string
	pause   *lifecycle.PauseTerms
}

// chunkSent is a chunk of an artifact. Its coordinate is assigned, unless it is named.
type chunkSent struct {
	chunk   lifecycle.Chunk
	appends *bool
}

func (s chunkSent) named() bool { return s.chunk.Number > 0 }

// update is the chunk as a part of a report.
func (s chunkSent) update(chunk lifecycle.Chunk) lifecycle.Update {
	return lifecycle.Update{Chunk: &chunk, Append: s.appends != nil && *s.appends, Named: s.named()}
}

// Kinds of the lease.
const (
	kindClaim   = "claim"
	kindRenew   = "renew"
	kindRelease = "release"
)

// eventKind is what a kind means and what of a payload counts for it.
type eventKind struct {
	verb   lifecycle.Verb // empty: it is about the lease
	fields []string
	needs  []string // one of them
}

// eventKinds are all there are. A text is short for a message of one text part; a
// state is the worker's checkpoint, which the answer to the next claim brings back.
var eventKinds = map[string]eventKind{
	kindClaim:   {fields: []string{"leaseSeconds"}},
	kindRenew:   {fields: []string{"leaseSeconds"}},
	kindRelease: {},
	"status":    {verb: lifecycle.VerbProgress, fields: []string{"text", "message", "state"}, needs: []string{"text", "message", "state"}},
	"message":   {verb: lifecycle.VerbProgress, fields: []string{"text", "message", "state"}, needs: []string{"text", "message"}},
	"chunk":     {verb: lifecycle.VerbProgress, fields: []string{"chunks", "state"}, needs: []string{"chunks"}},
	"complete":  {verb: lifecycle.VerbComplete, fields: []string{"text", "message"}},
	"fail":      {verb: lifecycle.VerbFail, fields: []string{"text", "message", "reason"}, needs: []string{"reason"}},
	"reject":    {verb: lifecycle.VerbReject, fields: []string{"text", "message", "reason"}, needs: []string{"reason"}},
	"cancel":    {verb: lifecycle.VerbCancel},
	"pause":     {verb: lifecycle.VerbPause, fields: []string{"text", "message", "state", "pause"}, needs: []string{"text", "message"}},
}

// Bounds of what a worker may ask for.
const (
	// maxProducerBytes leaves room for the prefix within lifecycle.MaxNameBytes.
	maxProducerBytes = 48
	// maxLease is how long a worker that died can keep others away.
	maxLease = 5 * time.Minute
)

// eventParams reads an event.
func eventParams(v value) (event, error) {
	var e event
	var r reader
	var payload value
	r.fields(v, func(name string, v value) {
		switch name {
		case "eventId":
			e.id = r.text(v, name)
		case "producer":
			e.producer = r.text(v, name)
		case "sourceSequence":
			e.seq = r.counted(v, name)
		case "fence":
			e.fence = r.counted(v, name)
		case "payloadDigest":
			e.digest = lifecycle.Digest(r.text(v, name))
		case "observedAt":
			e.observedAt = r.instant(r.text(v, name), name)
		case "payload":
			payload = v
		}
	})
	if len(r.violations) > 0 {
		return e, r.err()
	}
	r.name(e.id, "eventId", lifecycle.MaxIDBytes)
	r.name(e.producer, "producer", maxProducerBytes)
	if e.observedAt.IsZero() {
		r.wrong("observedAt", "is required")
	}
	if !e.digest.Valid() {
		r.wrong("payloadDigest", "must be a SHA-256 in lower-case hexadecimal")
	}
	if !payload.object() {
		r.wrong("payload", "must be an object")
		return e, r.err()
	}
	canonical, err := lifecycle.Canonical(json.RawMessage(payload))
	if err != nil {
		r.wrong("payload", "has no canonical form (RFC 8785)")
		return e, r.err()
	}
	if got := lifecycle.DigestBytes(canonical); got != e.digest && len(r.violations) == 0 {
		r.wrong("payloadDigest", "is not that of the payload's canonical JSON (RFC 8785), which is %s", got)
	}
	e.payload = canonical
	r.payload(payload, &e)
	r.counts(e)
	return e, r.err()
}

// counted reads a number that begins at 1.
func (r *reader) counted(v value, field string) uint64 {
	n := r.integer(v, field)
	if n == nil {
		return 0
	}
	if *n < 1 {
		r.wrong(field, "must be at least 1")
		return 0
	}
	return uint64(*n)
}

// counts holds an event's numbers against its kind.
func (r *reader) counts(e event) {
	kind, known := eventKinds[e.kind]
	switch {
	case !known:
		return
	case kind.verb == "" && e.seq != 0:
		r.wrong("sourceSequence", "is for reports only; a %s has none", e.kind)
	case kind.verb != "" && e.seq == 0:
		r.wrong("sourceSequence", "is required: a producer counts its reports on a task from 1")
	}
	switch {
	case e.kind == kindClaim && e.fence != 0:
		r.wrong("fence", "is what the answer to a claim gives")
	case e.kind != kindClaim && e.fence == 0:
		r.wrong("fence", "is required: the answer to a claim gives it")
	}
}

// payload reads what its kind has.
func (r *reader) payload(v value, e *event) {
	v.members(func(name string, v value) {
		if name == "kind" && v.string() {
			e.kind = v.text()
		}
	})
	kind, known := eventKinds[e.kind]
	if !known {
		r.wrong("payload.kind", "must be one of %s", strings.Join(slices.Sorted(maps.Keys(eventKinds)), ", "))
		return
	}
	given := map[string]bool{}
	r.fields(v, func(name string, v value) {
		field := "payload." + name
		switch {
		case name == "kind":
			return
		case !slices.Contains(kind.fields, name):
			r.wrong(field, "has no meaning for the kind %s", e.kind)
			return
		case given["text"] && name == "message" || given["message"] && name == "text":
			r.wrong(field, "a message, or its text alone")
			return
		}
		given[name] = true
		r.payloadField(name, field, v, e)
	})
	if len(kind.needs) > 0 && !slices.ContainsFunc(kind.needs, func(name string) bool { return given[name] }) {
		r.wrong("payload."+kind.needs[0], "is required for the kind %s%s", e.kind, orOthers(kind.needs[1:]))
	}
	if e.pause == nil && kind.verb == lifecycle.VerbPause {
		e.pause = &lifecycle.PauseTerms{State: lifecycle.InputRequired}
	}
}

func orOthers(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ", or " + strings.Join(names, ", or ")
}

func (r *reader) payloadField(name, field string, v value, e *event) {
	switch name {
	case "leaseSeconds":
		n := r.counted(v, field)
		if n > uint64(maxLease/time.Second) {
			r.wrong(field, "must be at most %d", maxLease/time.Second)
			return
		}
		e.lease = time.Duration(n) * time.Second
	case "text":
		e.message = &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(r.text(v, field))}}
	case "message":
		e.message = r.agentMessage(v, field)
	case "state":
		e.state = slices.Clone(json.RawMessage(v)) // v is a part of a buffer that others will use
	case "reason":
		e.reason = r.text(v, field)
	case "chunks":
		e.chunks = r.sentChunks(v, field)
	case "pause":
		e.pause = r.pauseTerms(v, field)
	}
}

// agentMessage reads a message of the agent's side: its role is known, and its ID is
// given.
func (r *reader) agentMessage(v value, at string) *a2a.Message {
	m := &a2a.Message{Role: a2a.MessageRoleAgent}
	if !v.object() {
		r.wrong(at, "must be an object")
		return m
	}
	r.fields(v, func(name string, v value) {
		field := at + "." + name
		switch name {
		case "parts":
			m.Parts = r.parts(v, field)
		case "metadata":
			m.Metadata = r.object(v, field)
		case "extensions":
			m.Extensions = r.texts(v, field)
		}
	})
	if len(m.Parts) == 0 && len(r.violations) == 0 {
		r.wrong(at+".parts", "must hold at least one part")
	}
	return m
}

func (r *reader) sentChunks(v value, at string) []chunkSent {
	if !v.array() {
		r.wrong(at, "must be an array")
		return nil
	}
	var out []chunkSent
	v.items(func(i int, v value) { out = append(out, r.sentChunk(v, fmt.Sprintf("%s[%d]", at, i))) })
	if len(out) == 0 || len(out) > lifecycle.MaxChunksPerCommit {
		r.wrong(at, "must hold 1 to %d chunks, not %d", lifecycle.MaxChunksPerCommit, len(out))
	}
	return out
}

// sentChunk reads a chunk and holds its content against its checksum.
func (r *reader) sentChunk(v value, at string) chunkSent {
	var out chunkSent
	if !v.object() {
		r.wrong(at, "must be an object")
		return out
	}
	known := len(r.violations)
	r.fields(v, func(name string, v value) {
		field := at + "." + name
		switch name {
		case "artifactId":
			out.chunk.Artifact = a2a.ArtifactID(r.text(v, field))
		case "name":
			out.chunk.Name = r.text(v, field)
		case "description":
			out.chunk.Description = r.text(v, field)
		case "append":
			out.appends = new(r.flag(v, field))
		case "revision":
			out.chunk.Revision = r.place(v, field)
		case "number":
			out.chunk.Number = r.place(v, field)
		case "lastChunk":
			out.chunk.Last = r.flag(v, field)
		case "checksum":
			out.chunk.Checksum = lifecycle.Digest(r.text(v, field))
		case "part":
			out.chunk.Part = r.part(v, field)
		}
	})
	if len(r.violations) > known {
		return out
	}
	r.name(string(out.chunk.Artifact), at+".artifactId", lifecycle.MaxNameBytes)
	switch first := out.chunk.Number == 1; {
	case (out.chunk.Revision > 0) != out.named():
		r.wrong(at+".revision", "revision and number name a coordinate together")
	case out.named() && out.appends != nil && *out.appends == first:
		r.wrong(at+".append", "is %t, and chunk %d of a revision says otherwise", *out.appends, out.chunk.Number)
	}
	content, err := lifecycle.PartContent(out.chunk.Part)
	if err != nil {
		r.wrong(at+".part", "is required")
		return out
	}
	if got := lifecycle.DigestBytes(content); got != out.chunk.Checksum {
		r.wrong(at+".checksum", "must be the SHA-256 of the content (of a text its UTF-8, of raw its bytes, of data its canonical JSON, of a url itself), which is %s", got)
	}
	out.chunk.Bytes = int64(len(content))
	return out
}

// place reads a number of a coordinate.
func (r *reader) place(v value, field string) int {
	n := r.counted(v, field)
	if n > lifecycle.MaxEntries {
		r.wrong(field, "must be at most %d", lifecycle.MaxEntries)
		return 0
	}
	return int(n)
}

// pauseTerms reads what a pause is for and how it ends if nobody answers.
func (r *reader) pauseTerms(v value, at string) *lifecycle.PauseTerms {
	p := &lifecycle.PauseTerms{State: lifecycle.InputRequired}
	if !v.object() {
		r.wrong(at, "must be an object")
		return p
	}
	var c lifecycle.Challenge
	r.fields(v, func(name string, v value) {
		field := at + "." + name
		switch name {
		case "for":
			switch r.text(v, field) {
			case "input":
			case "authorization":
				p.State = lifecycle.AuthRequired
			default:
				r.wrong(field, "must be input or authorization")
			}
		case "timeoutSeconds":
			p.Timeout = time.Duration(r.counted(v, field)) * time.Second
		case "outcome":
			p.Outcome = r.state(r.text(v, field), field)
		case "named":
			p.Named = r.flag(v, field)
		case "action":
			c.Action = r.text(v, field)
		case "audience":
			c.Audience = r.text(v, field)
		}
	})
	switch {
	case p.State == lifecycle.AuthRequired && c.Action == "":
		r.wrong(at+".action", "is required: what is to be authorized")
	case p.State == lifecycle.AuthRequired:
		p.Challenge = &c
	case c != lifecycle.Challenge{}:
		r.wrong(at+".action", "is for a pause for authorization")
	}
	return p
}
