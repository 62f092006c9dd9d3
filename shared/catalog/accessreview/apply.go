package accessreview

import (
	"context"
	"fmt"

	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// apply revokes what was approved: one effect and one sub-step each. The API honours
// the key, so that an effect in doubt is settled by asking for the same again.
func (s steps) apply(ctx context.Context, t *agent.Task[review]) (agent.Next, error) {
	all := t.State.count(approved)
	for i := range t.State.Findings {
		f := &t.State.Findings[i]
		if !f.Approved || f.Revoked {
			continue
		}
		g := Revocation{System: t.State.Systems[f.System].Name, Account: f.Account, Role: f.Role}
		id, err := agent.Effect(ctx, t, fmt.Sprintf("revoke-%d", i+1), func(ctx context.Context, key string) (string, error) {
			return s.api.Revoke(ctx, key, g)
		}, agent.Request(g), agent.Within(revokeTimeout))
		if err != nil {
			return agent.Next{}, err
		}
		f.Revoked, f.Revocation = true, id
		t.Report(fmt.Sprintf("Revoked %d of %d: %s in %s as %s", t.State.count(revoked), all, g.Account, g.System, g.Role))
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	return agent.Continue("report"), nil
}
