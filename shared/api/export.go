package api

import (
	"bufio"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/export"
)

// typeNDJSON is the media type of an export.
const typeNDJSON = "application/x-ndjson"

// serveExport answers with the task's export, also of a finished task:
// GET /tasks/{id}/export. Operators get all that the ledger keeps; callers get the
// history, the artifacts and the head. An export that cannot be read is refused while
// nothing of it was sent; after that it is cut, and lacks its trailer.
func (c *call) serveExport(at address) {
	h, err := c.known(at.task)
	if err != nil {
		c.refuse(err)
		return
	}
	scope := export.Caller
	if c.who.May(auth.OperatorRead) {
		scope = export.Operator
	}
	header := c.w.Header()
	header.Set("Content-Type", typeNDJSON)
	header.Set("Content-Disposition", `attachment; filename="task.ndjson"`)
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if c.r.Method == http.MethodHead {
		c.w.WriteHeader(http.StatusOK)
		return
	}
	out := c.patientWriter()
	buffered := bufio.NewWriterSize(out, maxBurst)
	_, err = export.Write(c.r.Context(), buffered, c.Authority.Ledger, h.Ref(), export.Options{Scope: scope, At: c.Now(), Policies: c.Policies})
	if err == nil {
		err = buffered.Flush()
	}
	switch {
	case err != nil && !out.begun:
		header.Del("Content-Disposition")
		c.refuse(err)
	case err != nil && !errors.Is(err, errNotTaken) && c.r.Context().Err() == nil:
		c.Logger.LogAttrs(c.r.Context(), slog.LevelError, "export was cut", slog.String("tenant", h.Tenant), slog.String("task", string(h.Task)), slog.Uint64("seq", h.Seq), slog.Any("error", err))
	}
}

// errNotTaken: the caller went away, or does not read.
var errNotTaken = errors.New("the caller does not read")

// patientWriter writes and flushes. A caller that does not take it in time is given up:
// the timer moves the connection's deadline into the past, which needs no clock.
type patientWriter struct {
	w        http.ResponseWriter
	out      *http.ResponseController
	patience time.Duration
	begun    bool // something was sent
}

// patientWriter is for what outlives the time that the server allows an answer.
func (c *call) patientWriter() *patientWriter {
	p := &patientWriter{w: c.w, out: http.NewResponseController(c.w), patience: c.WriteTimeout}
	_ = p.out.SetWriteDeadline(time.Time{})
	return p
}

// Write implements io.Writer.
func (p *patientWriter) Write(b []byte) (int, error) {
	giveUp := time.AfterFunc(p.patience, func() { _ = p.out.SetWriteDeadline(time.Unix(1, 0)) })
	defer giveUp.Stop()
	p.begun = true
	n, err := p.w.Write(b)
	if err != nil {
		return n, errNotTaken
	}
	if err := p.out.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return n, errNotTaken
	}
	return n, nil
}
