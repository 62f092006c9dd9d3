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

// export answers with the task's export, which has a record of having been taken. What
// cannot be read is refused, as long as nothing of it was sent; after that the answer is
// cut, and lacks its trailer.
func (c *call) export() (any, error) {
	var in struct{}
	if err := c.body(&in); err != nil {
		return nil, err
	}
	_, err := c.act(ledger.ActionExport, "", func(context.Context) (string, error) { return "", c.sendExport() })
	return nil, err
}

// sendExport takes as long as whoever is sent it does. Its error says that nothing was.
func (c *call) sendExport() error {
	h := c.w.Header()
	h.Set("Content-Type", "application/x-ndjson")
	h.Set("Content-Disposition", `attachment; filename="task.ndjson"`)
	h.Set("Cache-Control", "no-store")
	to := &patient{call: c}
	out := bufio.NewWriterSize(to, burst)
	_, err := export.Write(c.ctx(), out, c.Authority.Ledger, c.ref(), export.Options{Scope: export.Operator, At: c.Now(), Policies: c.Policies})
	if err == nil {
		err = out.Flush()
	}
	if err != nil && c.ctx().Err() == nil { // whoever asked is there
		if !to.begun {
			h.Del("Content-Disposition")
			return err
		}
		c.Logger.LogAttrs(c.ctx(), slog.LevelError, "an export was cut", slog.String("tenant", c.who.Tenant), slog.String("task", string(c.task)), slog.Any("error", err))
	}
	return nil
}

// patient writes an answer piece by piece. Whoever does not take one in time is given
// up.
type patient struct {
	*call

	begun bool // something was sent
}

// Write implements io.Writer.
func (p *patient) Write(b []byte) (int, error) {
	p.begun = true
	_ = http.NewResponseController(p.w).SetWriteDeadline(p.Now().Add(exportTime)) // where there is one
	return p.w.Write(b)
}
