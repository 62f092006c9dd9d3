package dynamo

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Bounds of one call. A filter that selects few of very many tasks would otherwise read
// a whole index, which costs a read unit for about 40 tasks.
const (
	// mostLooked is how many places a page may pass. It then ends early, even empty, and
	// goes on from there.
	mostLooked = 20_000
	// mostCounted is how many places Count looks at: about 2,500 read units, and what a
	// caller waits for. Of more tasks the number is what was found until then, and says so.
	mostCounted = 100_000
)

// status is what a place in byUpdate or byContext says of its task.
type status struct {
	at      time.Time
	task    a2a.TaskID
	state   a2a.TaskState
	expires time.Time
	agent   string
	version int // of the agent
}

func parseStatus(place string) (status, error) {
	parts, err := split(place)
	if err != nil || len(parts) != 6 {
		return status{}, fmt.Errorf("%q is no place in an index of tasks", place)
	}
	s := status{task: a2a.TaskID(parts[1]), state: a2a.TaskState(parts[2]), agent: parts[4]}
	if s.at, err = parseInstant(parts[0]); err == nil && parts[3] != never {
		s.expires, err = parseInstant(parts[3])
	}
	if err == nil {
		if s.version, err = strconv.Atoi(parts[5]); err != nil {
			err = fmt.Errorf("%q names no version: %w", place, err)
		}
	}
	return s, err
}

// selects says whether a query is for a task with this status. The span has seen
// to tenant, conversation and time.
func (s status) selects(q ledger.ListQuery) bool {
	return (q.Agent == "" || q.Agent == s.agent) && (q.AgentVersion == 0 || q.AgentVersion == s.version) && (q.State == "" || q.State == s.state) &&
		(s.expires.IsZero() || q.Now.IsZero() || s.expires.After(q.Now))
}

// listSpan is the part of an index that a query looks at.
func listSpan(q ledger.ListQuery) span {
	s := span{index: indexes()[0], first: instantText(time.Time{}), last: afterAll(""), backward: true, page: pageOf(q.Limit)}
	if q.ContextID != "" {
		s.index, s.partitions = indexes()[1], []string{contextPartition(q.Tenant, q.ContextID)}
	} else {
		for n := range uint32(listShards) {
			s.partitions = append(s.partitions, updatePartition(q.Tenant, shard(n)))
		}
	}
	if !q.Since.IsZero() {
		s.first = instantText(q.Since)
	}
	if q.After != nil {
		// Everything before the task's own place, whatever follows its name.
		s.last = statusPlace(q.After.StatusAt, q.After.Task)
	}
	return s
}

// List implements ledger.Index. Keys come from the index, which lags behind by a
// moment; heads are read strongly and selected again. A task whose status has
// changed since is shown as it is now, among those of its page, unless its new
// place is one that the pages before have passed.
func (l *Ledger) List(ctx context.Context, q ledger.ListQuery) (ledger.Page, error) {
	s := listSpan(q)
	if s.empty() {
		return ledger.Page{}, ctx.Err()
	}
	keys := l.scan(l.tables.Tasks, s)
	var page ledger.Page
	for looked := 0; ; {
		room := 0
		if q.Limit > 0 {
			room = q.Limit + 1 - len(page.Heads)
		}
		found, last, err := l.selected(ctx, keys, q, room, &looked)
		if err != nil {
			return ledger.Page{}, err
		}
		for _, one := range found {
			if q.Limit > 0 && len(page.Heads) == q.Limit {
				return sorted(page), nil // there is one more, so Next stays
			}
			page.Heads = append(page.Heads, one.head)
			page.Next = &ledger.ListCursor{StatusAt: one.place.at, Task: one.place.task}
		}
		if last == nil {
			page.Next = nil
			return sorted(page), nil
		}
		if looked >= mostLooked {
			page.Next = &ledger.ListCursor{StatusAt: last.at, Task: last.task}
			return sorted(page), nil
		}
	}
}

// listed is a head with the place at which an index had it.
type listed struct {
	head  lifecycle.Head
	place status
}

// selected reads up to room tasks that a query is for, 0 for all, and counts what it
// looked at; last is the last place of it, nil when the index has no more. Who wants a
// page is given what was found within mostLooked.
func (l *Ledger) selected(ctx context.Context, keys *merged, q ledger.ListQuery, room int, looked *int) (out []listed, last *status, err error) {
	var places []status
	var refs []lifecycle.Ref
	for room == 0 || len(places) < room && *looked < mostLooked {
		h, more, err := keys.take(ctx)
		if err != nil {
			return nil, nil, err
		}
		if !more {
			last = nil
			break
		}
		place, err := parseStatus(h.place)
		if err != nil {
			return nil, nil, err
		}
		*looked++
		last = &place
		if place.selects(q) {
			places, refs = append(places, place), append(refs, h.ref)
		}
	}
	heads, unread, err := l.heads(ctx, refs)
	if len(unread) > 0 {
		err = unread[0].Err
	}
	if err != nil {
		return nil, nil, err
	}
	for i, ref := range refs {
		if h, there := heads[ref]; there && wanted(q, h) {
			out = append(out, listed{h, places[i]})
			delete(heads, ref) // an index that is catching up may have a task twice
		}
	}
	return out, last, nil
}

// wanted selects a head, and drops what has moved in front of the page.
func wanted(q ledger.ListQuery, h lifecycle.Head) bool {
	if q.After != nil && latestFirst(q.After.StatusAt, h.StatusAt, q.After.Task, h.Task) >= 0 {
		return false
	}
	return h.Tenant == q.Tenant && (q.Agent == "" || h.Agent == q.Agent) && (q.AgentVersion == 0 || h.AgentVersion == q.AgentVersion) && (q.ContextID == "" || h.ContextID == q.ContextID) &&
		(q.State == "" || h.State == q.State) && !h.StatusAt.Before(q.Since) && !h.Expired(q.Now)
}

func sorted(p ledger.Page) ledger.Page {
	slices.SortStableFunc(p.Heads, func(x, y lifecycle.Head) int { return latestFirst(x.StatusAt, y.StatusAt, x.Task, y.Task) })
	return p
}

// latestFirst is the order of lists: the index's order backwards, which for task
// IDs of letters and digits is theirs.
func latestFirst(a, b time.Time, x, y a2a.TaskID) int {
	return cmp.Or(b.Compare(a), strings.Compare(escape(string(y)), escape(string(x))))
}

// Count implements ledger.Index, up to mostCounted. Keys alone tell who is selected: no
// head is read.
func (l *Ledger) Count(ctx context.Context, q ledger.ListQuery) (n ledger.Counted, err error) {
	q.After, q.Limit = nil, 0
	keys := l.scan(l.tables.Tasks, listSpan(q))
	for looked := 0; ; looked++ {
		if n.More = looked == mostCounted; n.More {
			return n, nil
		}
		h, more, err := keys.take(ctx)
		if err != nil || !more {
			return n, err
		}
		place, err := parseStatus(h.place)
		if err != nil {
			return ledger.Counted{}, err
		}
		if place.selects(q) {
			n.Tasks++
		}
	}
}
