package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// chunkLayout: the coordinate is the key.
var chunkLayout = layout{keyed: map[string]bool{"artifact": true, "revision": true, "number": true}}

// Chunk implements ledger.Tasks.
func (l *Ledger) Chunk(ctx context.Context, ref lifecycle.Ref, artifact a2a.ArtifactID, revision, number int) (ledger.ChunkReceipt, error) {
	k := ledger.ChunkReceipt{Artifact: artifact, Revision: revision, Number: number}
	it, err := l.get(ctx, l.tables.Tasks, chunkKey(ref, k))
	if err == nil && it == nil {
		err = ledger.ErrNotFound
	}
	if err == nil {
		err = chunkLayout.decode(it, &k)
	}
	if err != nil {
		return k, fmt.Errorf("chunk %d of revision %d of artifact %q of task %s: %w", number, revision, artifact, ref, err)
	}
	return k, nil
}

// Artifacts implements ledger.Tasks. An unknown task has none.
func (l *Ledger) Artifacts(ctx context.Context, ref lifecycle.Ref) ([]lifecycle.Artifact, error) {
	var out []lifecycle.Artifact
	err := l.children(ctx, ref, artifactPref, func(it item) error {
		parts, err := split(textOf(it, sortName))
		if err != nil || len(parts) != 2 {
			return fmt.Errorf("%q is no artifact's sort key", textOf(it, sortName))
		}
		a := lifecycle.Artifact{ID: a2a.ArtifactID(parts[1])}
		err = artifactLayout.decode(it, &a)
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("artifacts of task %s: %w", ref, err)
	}
	slices.SortFunc(out, func(a, b lifecycle.Artifact) int { return cmp.Compare(a.ID, b.ID) })
	return out, nil
}
