package console

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	defaultLines = 200
	maxLines     = 1000
	// maxTextBytes is what is shown of a message; the export has all of it.
	maxTextBytes = 8 << 10
)

// line is an entry in the timeline: its envelope and what it says, without an agent's
// state and without the content of chunks.
type line struct {
	Seq        uint64                `json:"seq"`
	At         time.Time             `json:"at"`
	ObservedAt time.Time             `json:"observedAt,omitzero"` // where the producer's clock says otherwise
	Type       lifecycle.EntryType   `json:"type"`
	State      string                `json:"state,omitempty"` // that it led to
	Producer   string                `json:"producer"`
	EventID    string                `json:"eventId,omitempty"`
	SourceSeq  uint64                `json:"sourceSeq,omitempty"`
	Holder     string                `json:"holder,omitempty"`
	Fence      uint64                `json:"fence,omitempty"`
	Chain      lifecycle.Digest      `json:"chain"`
	Role       string                `json:"role,omitempty"` // of the message: user or agent
	Text       string                `json:"text,omitempty"` // of the message
	Clipped    bool                  `json:"clipped,omitempty"`
	Step       string                `json:"step,omitempty"` // of the checkpoint
	Visit      uint64                `json:"visit,omitempty"`
	Chunk      *chunk                `json:"chunk,omitempty"`
	Pause      *lifecycle.Pause      `json:"pause,omitempty"`
	Wait       *lifecycle.Wait       `json:"wait,omitempty"`
	Receipt    *lifecycle.ReceiptRef `json:"receipt,omitempty"`
	Reason     string                `json:"reason,omitempty"` // of the end
	Unread     string                `json:"unread,omitempty"` // why this build cannot read it
}

// chunk is a piece of an artifact, without its content.
type chunk struct {
	Artifact a2a.ArtifactID   `json:"artifact"`
	Revision int              `json:"revision"`
	Number   int              `json:"number"`
	Bytes    int64            `json:"bytes"`
	Checksum lifecycle.Digest `json:"checksum"`
	Last     bool             `json:"last,omitempty"`
}

// entries answers with lines after a sequence: ?after=n&limit=n.
func (c *call) entries() (any, error) {
	h, err := c.head()
	if err != nil {
		return nil, err
	}
	number := func(name string, unset uint64) uint64 {
		text := c.r.URL.Query().Get(name)
		if text == "" {
			return unset
		}
		n, wrong := strconv.ParseUint(text, 10, 63)
		if wrong != nil {
			err = refuse(errInvalid, "%s: a number.", name)
		}
		return n
	}
	after, limit := number("after", 0), number("limit", defaultLines)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > maxLines {
		return nil, refuse(errInvalid, "limit: from 1 to %d.", maxLines)
	}
	list, err := c.Authority.Ledger.Entries(c.ctx(), c.ref(), after, int(limit))
	if err != nil {
		return nil, err
	}
	out := struct {
		Seq   uint64 `json:"seq"` // the task's last
		Lines []line `json:"lines"`
	}{h.Seq, make([]line, 0, len(list))}
	for _, e := range list {
		out.Lines = append(out.Lines, lineOf(e))
		out.Seq = max(out.Seq, e.Seq)
	}
	return out, nil
}

func lineOf(e lifecycle.Entry) line {
	l := line{
		Seq: e.Seq, At: e.AcceptedAt, Type: e.Type, Producer: e.Producer, EventID: e.EventID, SourceSeq: e.SourceSeq, Holder: e.Holder, Fence: e.Fence, Chain: e.Chain,
	}
	if !e.ObservedAt.Equal(e.AcceptedAt) {
		l.ObservedAt = e.ObservedAt
	}
	ev, err := e.Event()
	if err != nil {
		l.Unread = err.Error()
		return l
	}
	if ev.State != "" {
		l.State = short(ev.State)
	}
	l.Pause, l.Wait, l.Receipt = ev.Pause, ev.Wait, ev.Receipt
	if m := ev.Message; m != nil {
		l.Role = strings.ToLower(strings.TrimPrefix(string(m.Role), "ROLE_"))
		l.Text, l.Clipped = said(m.Parts)
	}
	if k := ev.Checkpoint; k != nil {
		l.Step, l.Visit = k.Step, k.Visit
	}
	if k := ev.Chunk; k != nil {
		l.Chunk = &chunk{k.Artifact, k.Revision, k.Number, k.Bytes, k.Checksum, k.Last}
	}
	if ev.Ending != nil {
		l.Reason = ev.Ending.Reason
	}
	return l
}

// said is what parts say, as text.
func said(parts a2a.ContentParts) (text string, clipped bool) {
	var b strings.Builder
	for _, p := range parts {
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		b.WriteString(inWords(p))
		if b.Len() > maxTextBytes {
			return lifecycle.Clip(b.String(), maxTextBytes), true
		}
	}
	return b.String(), false
}

// inWords is a part as text: what is none is named.
func inWords(p *a2a.Part) string {
	if ref, moved := lifecycle.AsBlob(p); moved {
		return "[" + ref.Kind + " of " + strconv.FormatInt(ref.Bytes, 10) + " bytes in the blob store, SHA-256 " + string(ref.Digest) + "]"
	}
	switch content := p.Content.(type) {
	case a2a.Text:
		return string(content)
	case a2a.Raw:
		return "[" + strconv.Itoa(len(content)) + " bytes]"
	case a2a.URL:
		return "[" + string(content) + "]"
	}
	raw, err := json.Marshal(p.Data())
	if err != nil {
		return "[data]"
	}
	return string(raw)
}
