package console

import (
	"bufio"
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

const (
	// exportTime is how long whoever is sent an export may take for a piece of it.
	exportTime = 30 * time.Second
	// burst is how much of it is sent at a time.
	burst = 64 << 10
)

// export answers with the task's export, which has a record of having been taken. An
// answer that was cut lacks its trailer.
func (c *call) export() (any, error) {
	var in struct{}
	if err := c.body(&in); err != nil {
		return nil, err
	}
	if _, err := c.act(ledger.ActionExport, "", func(context.Context) (string, error) { return "", nil }); err != nil {
		return nil, err
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Content-Disposition", `attachment; filename="task.ndjson"`)
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(http.StatusOK)
	out := bufio.NewWriterSize(patient{c}, burst)
	_, err := export.Write(c.ctx(), out, c.Authority.Ledger, c.ref(), export.Options{Scope: export.Operator, At: c.Now(), Policies: c.Policies})
	if err == nil {
		err = out.Flush()
	}
	if err != nil && c.ctx().Err() == nil {
		c.Logger.LogAttrs(c.ctx(), slog.LevelError, "an export was cut", slog.String("tenant", c.who.Tenant), slog.String("task", string(c.task)), slog.Any("error", err))
	}
	return nil, nil
}

// patient writes an answer piece by piece. Whoever does not take one in time is given
// up.
type patient struct{ *call }

// Write implements io.Writer.
func (p patient) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.w).SetWriteDeadline(p.Now().Add(exportTime)) // where there is one
	return p.w.Write(b)
}
