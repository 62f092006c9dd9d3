package api

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// What is beside A2A: how a task came about, for its owner and for operators.

// Bounds of a page of entries.
const (
	defaultEntries = 100
	maxEntries     = 1000
)

// entryPage is a page of a task's ledger, also of a finished task.
type entryPage struct {
	Task    a2a.TaskID        `json:"task"`
	Entries []lifecycle.Entry `json:"entries"`
	Head    headView          `json:"head"`
	// Next is the cursor for the next page: the last sequence of this one. There is
	// more while it is below the head's.
	Next uint64 `json:"next"`
}

// headView is a head under readable names.
type headView struct {
	State        a2a.TaskState         `json:"state"`
	StatusAt     wireTime              `json:"statusAt"`
	Seq          uint64                `json:"seq"`
	Chain        lifecycle.Digest      `json:"chain"`
	Agent        string                `json:"agent"`
	AgentVersion int                   `json:"agentVersion"`
	Step         string                `json:"step"`
	Visit        uint64                `json:"visit"`
	Attempt      int                   `json:"attempt,omitempty"`
	NextAt       time.Time             `json:"nextAt,omitzero"`
	Holder       string                `json:"holder,omitempty"`
	Fence        uint64                `json:"fence"`
	LeaseUntil   time.Time             `json:"leaseUntil,omitzero"`
	Generation   uint64                `json:"generation"`
	Pause        *lifecycle.Pause      `json:"pause,omitempty"`
	Cancel       *lifecycle.CancelMark `json:"cancel,omitempty"`
	DueAt        time.Time             `json:"dueAt,omitzero"`
	ExpiresAt    time.Time             `json:"expiresAt,omitzero"`
	AckedAt      time.Time             `json:"acknowledgedAt,omitzero"`
	Counts       ledger.Counts         `json:"counts"`
}

func headViewOf(h lifecycle.Head, counts ledger.Counts) headView {
	return headView{
		State: h.State, StatusAt: wireTime(h.StatusAt), Seq: h.Seq, Chain: h.Chain, Agent: h.Agent, AgentVersion: h.AgentVersion,
		Step: h.Step, Visit: h.Visit, Attempt: h.Attempt, NextAt: h.NextAt, Holder: h.Holder, Fence: h.Fence, LeaseUntil: h.LeaseUntil,
		Generation: h.Generation, Pause: h.Pause, Cancel: h.Cancel, DueAt: h.DueAt, ExpiresAt: h.ExpiresAt, AckedAt: h.AckedAt, Counts: counts,
	}
}

// serveLedger answers with entries after a cursor: GET /tasks/{id}/ledger?after=n&limit=n.
func (c *call) serveLedger(at address) {
	c.answer(c.entries(at.task))
}

func (c *call) entries(id a2a.TaskID) (entryPage, error) {
	var r reader
	values, err := query(c.r.URL.RawQuery)
	if err != nil {
		return entryPage{}, err
	}
	after, limit := r.natural(values, "after", 0), r.natural(values, "limit", defaultEntries)
	if limit < 1 || limit > maxEntries {
		r.wrong("limit", "must be between 1 and %d", maxEntries)
	}
	if err := r.err(); err != nil {
		return entryPage{}, err
	}
	ctx, ref := c.r.Context(), c.refTo(id)
	h, err := c.known(id)
	if err != nil {
		return entryPage{}, err
	}
	counts, err := c.Authority.Ledger.Counts(ctx, ref)
	if err != nil {
		return entryPage{}, err
	}
	entries, err := c.Authority.Ledger.Entries(ctx, ref, after, int(limit))
	if err != nil {
		return entryPage{}, err
	}
	page := entryPage{Task: id, Entries: entries, Head: headViewOf(h, counts), Next: after}
	if len(entries) > 0 {
		page.Next = entries[len(entries)-1].Seq
	} else {
		page.Entries = []lifecycle.Entry{}
	}
	return page, nil
}

func (r *reader) natural(values url.Values, name string, unset uint64) uint64 {
	s := values.Get(name)
	if s == "" {
		return unset
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		r.wrong(name, "must be a natural number")
	}
	return n
}

// effectList is what a task has called outside, and how sure that is.
type effectList struct {
	Task    a2a.TaskID         `json:"task"`
	Effects []lifecycle.Effect `json:"effects"`
}

// serveEffects answers with the records of a task's effects.
func (c *call) serveEffects(at address) {
	list := effectList{Task: at.task, Effects: []lifecycle.Effect{}}
	_, err := c.known(at.task)
	if err == nil {
		var records []lifecycle.Effect
		records, err = c.Authority.Ledger.EffectList(c.r.Context(), c.refTo(at.task))
		list.Effects = append(list.Effects, records...)
	}
	c.answer(list, err)
}

// serveBlob answers with the bytes of a large part, as something to be saved: a
// browser must not run what a caller sent.
func (c *call) serveBlob(at address) {
	digest := lifecycle.Digest(at.item)
	_, err := c.known(at.task)
	if err == nil && !digest.Valid() {
		err = ledger.ErrNotFound
	}
	var content []byte
	if err == nil {
		content, err = c.Blobs.Get(c.r.Context(), c.refTo(at.task), digest)
	}
	if errors.Is(err, ledger.ErrNotFound) {
		err = refuse(errNotFound, "The task has no such part.")
	}
	if err != nil {
		c.refuse(err)
		return
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment")
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, immutable, max-age=86400")
	h.Set("ETag", `"`+at.item+`"`)
	_, _ = c.w.Write(content)
}

// serveLights answers with what is watched, and what breaks it: GET /health.
func (c *call) serveLights(address) {
	if c.Health == nil {
		c.refuse(refuse(errRoute, "This server watches nothing."))
		return
	}
	report, err := c.Health(c.r.Context(), c.who.Tenant)
	if err != nil {
		c.refuse(err)
		return
	}
	c.w.Header().Set("Cache-Control", "no-store")
	c.answer(report, nil)
}

// serveHealth says whether this process takes requests.
func (c *call) serveHealth(address) {
	code, body := http.StatusOK, `{"status":"ok"}`+"\n"
	if c.Closing.Err() != nil {
		code, body = http.StatusServiceUnavailable, `{"status":"stopping"}`+"\n"
	}
	h := c.w.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(code)
	_, _ = c.w.Write([]byte(body))
}
