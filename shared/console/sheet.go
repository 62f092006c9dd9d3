package console

import (
	"io"
	"strconv"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// sheet is a task as an operator sees it, without its entries.
type sheet struct {
	At      time.Time         `json:"at"`
	State   string            `json:"state"`
	Head    export.HeadFields `json:"head"`
	Counts  ledger.Counts     `json:"counts"`
	Known   bool              `json:"known"` // its agent version can run here
	Outside bool              `json:"outside,omitempty"`
	Stuck   []Trouble         `json:"stuck,omitempty"`
	// Sleeps: it waits because its agent said so, and no operator can cut that short.
	Sleeps     bool                 `json:"sleeps,omitempty"`
	Artifacts  []lifecycle.Artifact `json:"artifacts"`
	Effects    []effect             `json:"effects"`
	Rejections []ledger.Rejected    `json:"rejections"`
	Quarantine []piece              `json:"quarantine"`
	Acts       []ledger.Acted       `json:"acts"`
	Endpoints  []*export.Endpoint   `json:"endpoints"`
	// Receipt is there once the task has ended.
	Receipt *receipt `json:"receipt,omitempty"`
}

// effect is an outside call, and what may be done about it.
type effect struct {
	*export.Effect

	// Doubt says that nobody knows what became of it.
	Doubt bool `json:"doubt,omitempty"`
	// Settle says that an operator may say it now.
	Settle bool   `json:"settle,omitempty"`
	Remedy string `json:"remedy"`
}

// piece is late output that was quarantined, without what it said.
type piece struct {
	Number int `json:"number"`
	export.Late

	// Kept says that its content can be read.
	Kept bool `json:"kept,omitempty"`
}

// receipt is what proves what a task came to.
type receipt struct {
	Seq      uint64           `json:"seq"`
	Chain    lifecycle.Digest `json:"chain"`
	Manifest lifecycle.Digest `json:"manifest"`
	Reason   string           `json:"reason,omitempty"`
}

// head reads the head of the address's task. What has expired is not there any more.
func (c *call) head() (lifecycle.Head, error) {
	if len(c.task) > lifecycle.MaxIDBytes {
		return lifecycle.Head{}, ledger.ErrNotFound
	}
	h, err := c.Authority.Ledger.Head(c.ctx(), c.ref())
	if err == nil && h.Expired(c.Now()) {
		err = ledger.ErrNotFound
	}
	c.found = err == nil
	return h, err
}

// sheet answers with the task.
func (c *call) sheet() (any, error) {
	h, err := c.head()
	if err != nil {
		return nil, err
	}
	ctx, l, now := c.ctx(), c.Authority.Ledger, c.Now()
	agent, known := c.known(h.Agent, h.AgentVersion)
	s := sheet{
		At: now, State: short(h.State), Head: export.HeadFields(h), Known: known, Outside: agent.Outside, Stuck: c.trouble(h, now), Sleeps: h.NextAt.After(now) && !waits(h, now),
		Artifacts: []lifecycle.Artifact{}, Effects: []effect{}, Rejections: []ledger.Rejected{}, Quarantine: []piece{}, Acts: []ledger.Acted{}, Endpoints: []*export.Endpoint{},
	}
	if s.Counts, err = l.Counts(ctx, c.ref()); err != nil {
		return nil, err
	}
	if h.Artifacts > 0 {
		if s.Artifacts, err = l.Artifacts(ctx, c.ref()); err != nil {
			return nil, err
		}
	}
	if err := c.beside(&s, h); err != nil {
		return nil, err
	}
	if h.Terminal() {
		s.Receipt, err = c.receipt(h)
	}
	return s, err
}

// beside reads what the ledger keeps beside the task.
func (c *call) beside(s *sheet, h lifecycle.Head) error {
	ctx, l := c.ctx(), c.Authority.Ledger
	effects, err := l.EffectList(ctx, c.ref())
	if err != nil {
		return err
	}
	for _, e := range effects {
		_, doubt := e.Doubtful(s.At)
		s.Effects = append(s.Effects, effect{export.EffectOf(e), doubt, doubt, export.Remedy(e, h.Terminal(), s.At)})
	}
	s.Stuck = append(s.Stuck, heldOf(effects, h, s.At)...)
	endpoints, err := l.EndpointList(ctx, c.ref())
	if err != nil {
		return err
	}
	for _, e := range endpoints {
		s.Endpoints = append(s.Endpoints, export.EndpointOf(e))
	}
	if s.Counts.Rejections > 0 {
		if s.Rejections, err = l.Rejections(ctx, c.ref()); err != nil {
			return err
		}
	}
	if s.Counts.Quarantined > 0 {
		late, err := l.Quarantine(ctx, c.ref())
		if err != nil {
			return err
		}
		for i, q := range late {
			s.Quarantine = append(s.Quarantine, piece{i + 1, export.Late{At: q.At, Producer: q.Producer, EventID: q.EventID, Digest: q.Digest, Bytes: q.Bytes}, len(q.Payload) > 0})
		}
	}
	if s.Counts.Acts > 0 {
		s.Acts, err = l.Acts(ctx, c.ref())
	}
	return err
}

// receipt reads the entry that ended the task.
func (c *call) receipt(h lifecycle.Head) (*receipt, error) {
	last, err := c.Authority.Ledger.Entries(c.ctx(), c.ref(), h.Seq-1, 1)
	if err != nil || len(last) == 0 {
		return nil, err
	}
	r := &receipt{Seq: h.Seq, Chain: h.Chain}
	if ev, err := last[0].Event(); err == nil && ev.Ending != nil {
		r.Manifest, r.Reason = ev.Ending.ManifestDigest, ev.Ending.Reason
	}
	return r, nil
}

// quarantined answers with one piece of late output: as text, for it is somebody's who
// went on after the task was canceled.
func (c *call) quarantined() (any, error) {
	if _, err := c.head(); err != nil {
		return nil, err
	}
	late, err := c.Authority.Ledger.Quarantine(c.ctx(), c.ref())
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(c.item)
	if err != nil || n < 1 || n > len(late) {
		return nil, ledger.ErrNotFound
	}
	return struct {
		Number  int    `json:"number"`
		Payload string `json:"payload"`
	}{n, string(late[n-1].Payload)}, nil
}

// checked is what a check of the whole history came to.
type checked struct {
	At         time.Time          `json:"at"`
	Entries    int                `json:"entries"`
	Seq        uint64             `json:"seq"`
	Chain      lifecycle.Digest   `json:"chain"`
	Manifest   lifecycle.Digest   `json:"manifest,omitempty"`
	Moved      bool               `json:"moved,omitempty"` // it went on meanwhile
	Violations []export.Violation `json:"violations"`
}

// check exports the task and verifies the export on its own, as anybody could who was
// given it.
func (c *call) check() (any, error) {
	h, err := c.head()
	if err != nil {
		return nil, err
	}
	in, out := io.Pipe()
	go func() {
		_, err := export.Write(c.ctx(), out, c.Authority.Ledger, h.Ref(), export.Options{Scope: export.Operator, At: c.Now(), Policies: c.Policies})
		_ = out.CloseWithError(err) // nil: the end
	}()
	report, err := export.Verify(in)
	_ = in.CloseWithError(err) // whoever writes ends as well
	if err != nil {
		return nil, err
	}
	said := checked{At: c.Now(), Entries: report.Counts.Entry, Seq: report.Seq, Chain: report.Chain, Manifest: report.Manifest, Moved: report.Head.Moved != nil, Violations: report.Violations}
	if said.Violations == nil {
		said.Violations = []export.Violation{}
	}
	return said, nil
}

// connections answers with the streams that the task had. It is supporting evidence:
// nothing in the ledger depends on it.
func (c *call) connections() (any, error) {
	if _, err := c.head(); err != nil {
		return nil, err
	}
	out := struct {
		// Here says that the records are kept where this process can read them.
		Here        bool         `json:"here"`
		More        bool         `json:"more,omitempty"`
		Connections []Connection `json:"connections"`
	}{Connections: []Connection{}}
	if c.Connections == nil {
		return out, nil
	}
	list, more, err := c.Connections(c.ctx(), c.ref())
	out.Here, out.More, out.Connections = true, more, append(out.Connections, list...)
	return out, err
}

// health answers with the lights.
func (c *call) health() (any, error) {
	if c.Health == nil {
		return struct {
			At     time.Time `json:"at"`
			Lights []string  `json:"lights"`
		}{c.Now(), []string{}}, nil
	}
	return c.Health(c.ctx(), c.who.Tenant)
}
