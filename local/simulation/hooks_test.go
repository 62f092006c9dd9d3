package simulation_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// hooks are the receivers of webhooks: one for each path. What they were told is held
// against the ledger at that moment.
type hooks struct {
	w *world

	mu    sync.Mutex
	at    map[string]*hook
	asked map[ledger.DueDelivery][]uint64        // where operators have deliveries begin
	moves map[ledger.DueDelivery]ledger.Delivery // as they were written last
}

// hook is one receiver. Its moods depend on its name and the time.
type hook struct {
	tenant, mark string
	token        string
	task         a2a.TaskID // known with the first update
	taken        uint64     // the last sequence that it answered with success
	seen         uint64     // the last that it was sent
	begun        bool       // it is known behind what it is told
	ids          map[uint64]string
	gone         bool // answers 410
}

// received is a receiver's answer.
type received struct {
	status int
	after  string
	hangs  bool
}

func newHooks(w *world) *hooks {
	return &hooks{w: w, at: map[string]*hook{}, asked: map[ledger.DueDelivery][]uint64{}, moves: map[ledger.DueDelivery]ledger.Delivery{}}
}

// open makes a receiver and gives its address.
func (x *hooks) open(name, tenant, mark, token string) string {
	x.mu.Lock()
	defer x.mu.Unlock()
	path := "/" + name
	x.at[path] = &hook{tenant: tenant, mark: mark, token: token, ids: map[uint64]string{}}
	return "https://hooks.example" + path
}

// receive is a request at its receiver.
func (x *hooks) receive(r *http.Request, body []byte) received {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := x.at[r.URL.Path]
	if h == nil {
		x.w.broken("I11", "a webhook to %s, where nobody is", r.URL.Path)
		return received{status: http.StatusNotFound}
	}
	seq, err := strconv.ParseUint(r.Header.Get("Holdfast-Sequence"), 10, 64)
	if err != nil {
		x.w.broken("I11", "a webhook to %s without a sequence", r.URL.Path)
	}
	x.trust(h, r, body)
	x.look(h, seq, r, body)
	a := x.mood(h, r.URL.Path)
	h.seen, h.begun = seq, true
	if a.status/100 == 2 && !a.hangs {
		h.taken = seq
	}
	return a
}

// look holds an update against what came before it and against the ledger.
func (x *hooks) look(h *hook, seq uint64, r *http.Request, body []byte) {
	var u struct {
		Task, StatusUpdate, ArtifactUpdate *struct {
			ID       a2a.TaskID
			TaskID   a2a.TaskID `json:"taskId"`
			Metadata map[string]struct{ Digest string }
		}
	}
	if err := json.Unmarshal(body, &u); err != nil {
		x.w.broken("I11", "a webhook that is no update: %v", err)
		return
	}
	said := u.StatusUpdate
	if said == nil {
		said = u.ArtifactUpdate
	}
	if said == nil {
		said = u.Task
	}
	if said == nil {
		x.w.broken("I11", "a webhook with nothing in it: %s", body)
		return
	}
	task := said.TaskID + said.ID
	ref := lifecycle.Ref{Tenant: h.tenant, Task: task}
	if h.task != "" && h.task != task {
		x.w.broken("I11", "%s was told of task %s and of task %s", r.URL.Path, h.task, task)
	}
	h.task = task
	x.w.committed(ref, seq, said.Metadata[lifecycle.ExtensionURI].Digest)
	x.w.foreign(h.mark, body, "webhook "+r.URL.Path)
	switch id := r.Header.Get("Webhook-Id"); {
	case id == "":
		x.w.broken("I11", "%s was sent entry %d without an id", r.URL.Path, seq)
	case h.ids[seq] != "" && h.ids[seq] != id:
		x.w.broken("I11", "%s was sent entry %d as %s and as %s", r.URL.Path, seq, h.ids[seq], id)
	default:
		h.ids[seq] = id
	}
	visible := x.w.visible(ref)
	switch {
	case seq == h.seen && seq != 0: // again
	case seq <= h.taken:
		x.w.broken("I11", "%s was sent entry %d after it had taken entry %d", r.URL.Path, seq, h.taken)
	case !h.begun:
	case seq < h.seen:
		x.w.broken("I11", "%s was sent entry %d after entry %d", r.URL.Path, seq, h.seen)
	default:
		for _, v := range visible {
			if v > h.taken && v < seq && (h.taken > 0 || v >= h.seen) {
				x.w.broken("I11", "%s was sent entry %d, and has not taken entry %d (its last is %d)", r.URL.Path, seq, v, h.taken)
				break
			}
		}
	}
}

// mood is how a receiver answers: most of the time well; some have a bad hour, a bad
// minute, or are gone for good.
func (x *hooks) mood(h *hook, path string) received {
	name := mix(x.w.seed, text(path))
	if !x.w.bad() { // what is left is delivered in the end
		if h.gone {
			return received{status: http.StatusGone}
		}
		return received{status: http.StatusOK}
	}
	n := mix(name, uint64(time.Now().UnixNano()))
	switch {
	case name%16 == 0 && n%4 == 0:
		h.gone = true
	case name%4 == 1 && n%3 == 0:
		return received{status: []int{http.StatusInternalServerError, http.StatusFound, http.StatusTooManyRequests, http.StatusServiceUnavailable}[n>>8%4], after: []string{"", "7", "120"}[n>>16%3]}
	case name%4 == 2 && time.Since(x.w.begun)/(10*time.Minute)%2 == 0:
		return received{status: http.StatusBadGateway}
	case n%40 == 5:
		return received{hangs: true}
	}
	if h.gone {
		return received{status: http.StatusGone}
	}
	return received{status: http.StatusNoContent}
}

// moved sees a delivery as it is written: a cursor never passes what its receiver has
// not taken.
func (x *hooks) moved(ref lifecycle.Ref, id string, d ledger.Delivery) {
	e, err := x.w.witness.Endpoint(context.Background(), ref, id)
	if err != nil {
		return // removed
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	at := ledger.DueDelivery{Ref: ref, ID: id}
	before, known := x.moves[at]
	x.moves[at] = d
	h := x.at[strings.TrimPrefix(e.URL, "https://hooks.example")]
	if h == nil {
		return
	}
	if (!known || d.Cursor != before.Cursor) && x.begins(at, d) {
		h.taken, h.seen, h.begun = d.Cursor, d.Cursor, true
		x.w.hit("a delivery begins elsewhere")
		return
	}
	if known && d.Cursor < before.Cursor {
		x.w.broken("I11", "task %s, endpoint %s: the cursor went back from %d to %d", ref, id, before.Cursor, d.Cursor)
	}
	if !known || d.Cursor == before.Cursor {
		return
	}
	for _, v := range x.w.visible(ref) {
		if v > before.Cursor && v <= d.Cursor && v > h.taken {
			x.w.broken("I11", "task %s, endpoint %s: the cursor is at %d, and its receiver has not taken entry %d", ref, id, d.Cursor, v)
		}
	}
}

// check is for the end: who takes updates has had all of them.
func (x *hooks) check(ref lifecycle.Ref, e ledger.Endpoint, visible []uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	h := x.at[strings.TrimPrefix(e.URL, "https://hooks.example")]
	d := e.Delivery
	if h == nil || d.State != ledger.DeliveryActive || len(visible) == 0 {
		return
	}
	last := visible[len(visible)-1]
	if d.Cursor < last {
		x.w.broken("I11", "task %s, endpoint %s: the task has ended with entry %d, delivered is up to %d (%+v)", ref, e.ID, last, d.Cursor, d)
	}
	if h.taken != last && h.task != "" {
		x.w.broken("I11", "task %s, endpoint %s: the receiver's last is %d of %d", ref, e.ID, h.taken, last)
	}
}
