package node

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/console"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const (
	// churnBytes is how much of the connection log's end is looked at: some 20,000
	// records.
	churnBytes = 4 << 20
	// churnConnections is how many streams of a task are shown, the latest ones.
	churnConnections = 100
)

// Churn reads a log of Connections back, for the console. The log is evidence beside the
// ledger: where it is gone, there is nothing to show and nothing else is missing.
func Churn(path string) func(context.Context, lifecycle.Ref) ([]console.Connection, bool, error) {
	return func(_ context.Context, ref lifecycle.Ref) (list []console.Connection, more bool, err error) {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		defer func() { _ = file.Close() }()
		end, err := file.Seek(0, io.SeekEnd)
		if err != nil {
			return nil, false, err
		}
		more = end > churnBytes
		if _, err := file.Seek(max(0, end-churnBytes), io.SeekStart); err != nil {
			return nil, false, err
		}
		list, err = connectionsOf(file, ref)
		if over := len(list) - churnConnections; over > 0 {
			list, more = list[over:], true
		}
		return list, more, err
	}
}

// connectionsOf joins the records of a task's streams, in the order in which they were
// opened. A line that was cut is none.
func connectionsOf(log io.Reader, ref lifecycle.Ref) (list []console.Connection, err error) {
	at := map[string]int{}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var r api.Connection
		if !bytes.Contains(lines.Bytes(), []byte(ref.Task)) || json.Unmarshal(lines.Bytes(), &r) != nil || r.Task != ref.Task || r.Tenant != ref.Tenant {
			continue
		}
		i, known := at[r.ID]
		if !known {
			i = len(list)
			at[r.ID], list = i, append(list, console.Connection{ID: r.ID, Kind: r.Kind, From: r.From, To: r.To})
		}
		if c := &list[i]; r.Event == "close" {
			c.ClosedAt, c.To, c.Reason = r.At, r.To, r.Reason
		} else {
			c.OpenedAt = r.At
		}
	}
	return list, lines.Err()
}
