package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Rendered is what an entry gives callers to see, as a webhook carries it.
type Rendered struct {
	Seq uint64
	// Body is one StreamResponse (A2A §4.3.3), nil for an entry that callers do not
	// see. It is what a stream sends for the entry.
	Body []byte
	// Final says that the task has ended with it.
	Final bool
}

// Updates renders the entries of a task after a sequence. Base is the address of its
// agent, for links to large parts. The task is folded from its first entry, for what
// an entry shows depends on those before it.
func Updates(ctx context.Context, tasks ledger.Tasks, ref lifecycle.Ref, base string, after uint64, limit int) ([]Rendered, error) {
	entries, err := tasks.Entries(ctx, ref, 0, int(after)+limit)
	if err != nil {
		return nil, err
	}
	view := lifecycle.NewView(ref, func(d lifecycle.Digest) string { return blobAddress(base, ref.Task, d) })
	var out []Rendered
	for _, e := range entries {
		update, err := view.Add(e)
		if err != nil {
			return nil, err
		}
		if e.Seq <= after {
			continue
		}
		r := Rendered{Seq: e.Seq, Final: view.State().Terminal()}
		if update != nil {
			var b bytes.Buffer
			if err := json.NewEncoder(&b).Encode(wireUpdateOf(update)); err != nil {
				return nil, err
			}
			r.Body = bytes.TrimSuffix(b.Bytes(), []byte("\n"))
		}
		out = append(out, r)
	}
	return out, nil
}

// TaskJSON is a task as GetTask answers with it (A2A §3.1.3), with all of its history.
func TaskJSON(t *a2a.Task) ([]byte, error) { return json.Marshal(wireTaskOf(t, nil)) }

func blobAddress(base string, task a2a.TaskID, d lifecycle.Digest) string {
	return strings.TrimSuffix(base, "/") + "/tasks/" + url.PathEscape(string(task)) + "/blobs/" + string(d)
}
