package ledgertest

import (
	"cmp"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// latestFirst is the order of lists.
func latestFirst(a, b time.Time, x, y a2a.TaskID) int {
	return cmp.Or(b.Compare(a), cmp.Compare(y, x))
}

// earliestFirst is the order of what is due. The port leaves open how tasks that
// are due at one instant follow each other; here by name.
func earliestFirst(a, b time.Time, x, y lifecycle.Ref) int {
	return cmp.Or(a.Compare(b), cmp.Compare(x.Tenant, y.Tenant), cmp.Compare(x.Task, y.Task))
}

// selects says whether a query is for a task, paging aside.
func selects(q ledger.ListQuery, h lifecycle.Head) bool {
	return h.Tenant == q.Tenant &&
		(q.Agent == "" || h.Agent == q.Agent) && (q.AgentVersion == 0 || h.AgentVersion == q.AgentVersion) &&
		(q.ContextID == "" || h.ContextID == q.ContextID) &&
		(q.State == "" || h.State == q.State) &&
		!h.StatusAt.Before(q.Since) && !h.Expired(q.Now)
}
