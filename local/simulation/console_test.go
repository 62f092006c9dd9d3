package simulation_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// attend is an operator at the console: looks at a task and does one thing about it, at
// whatever moment that comes.
func (w *world) attend(o *client, ref lifecycle.Ref) {
	var sheet struct {
		Head    struct{ Generation uint64 }
		Effects []struct {
			lifecycle.Effect

			Settle bool `json:"settle"`
		}
	}
	r, err := o.do(http.MethodGet, consoleOf(ref), "")
	if err != nil || !r.ok() {
		if err == nil {
			o.refusedAs(r, "a look at the console", "NOT_FOUND")
		}
		return
	}
	if err := r.into(&sheet); err != nil {
		w.broken("api", "a sheet that cannot be read: %v", err)
		return
	}
	for _, e := range sheet.Effects {
		if e.Settle && o.dice.IntN(3) > 0 {
			o.pause(20 * time.Second)
			w.settleDoubt(o, ref, e.Effect, sheet.Head.Generation)
			return
		}
	}
	switch n := o.dice.IntN(8); {
	case n < 5:
		w.actAt(o, ref, ledger.ActionResume, map[string]any{"note": "look again", "generation": sheet.Head.Generation})
	case n == 5:
		w.actAt(o, ref, ledger.ActionCancel, map[string]any{"note": "not wanted"})
	default:
		if h, err := w.witness.Head(context.Background(), ref); err == nil && h.State == lifecycle.InputRequired {
			w.actAt(o, ref, ledger.ActionAnswer, map[string]any{"pause": h.Pause.Number, "text": "in their place, " + o.mark})
		}
	}
}

// settleDoubt says what became of a call that is in doubt, as the operator finds it at
// the outside system after the clocks of all who could call have passed its bound.
func (w *world) settleDoubt(o *client, ref lifecycle.Ref, e lifecycle.Effect, generation uint64) {
	<-time.NewTimer(3 * time.Second).C
	result, done := w.outside.found(e.Key)
	says := map[string]any{"visit": e.Visit, "name": e.Name, "revision": e.Revision, "done": done, "note": "asked them", "resume": o.dice.IntN(2) == 0, "generation": generation}
	if done {
		says["result"] = strconv.Quote(result)
	}
	w.actAt(o, ref, ledger.ActionSettle, says)
}

// found is what somebody who asks is told of the calls with a key.
func (o *outside) found(key string) (result string, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c := o.calls[key]; c != nil && c.applied > 0 {
		return c.result, true
	}
	return "", false
}

func consoleOf(ref lifecycle.Ref) string { return "/console/api/tasks/" + string(ref.Task) }

// actAt does something to a task.
func (w *world) actAt(o *client, ref lifecycle.Ref, action ledger.Action, body map[string]any) {
	b, _ := json.Marshal(body)
	r, err := o.do(http.MethodPost, consoleOf(ref)+"/"+string(action), string(b))
	if err != nil {
		return
	}
	if !r.ok() {
		o.refusedAs(r, "to "+string(action)+" at the console", "NOT_FOUND", "NOT_NOW", "REFUSED", "SUPERSEDED", "CHANGED")
		w.hit("console: " + string(action) + " refused")
		return
	}
	w.hit("console: " + string(action))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.acted[ref] == nil {
		w.acted[ref] = map[ledger.Action]int{}
	}
	w.acted[ref][action]++
}

// checkActs looks whether what operators did is on record.
func (w *world) checkActs(ref lifecycle.Ref) {
	acts, err := w.witness.Acts(context.Background(), ref)
	if err != nil {
		w.broken("I9", "what operators did to task %s cannot be read: %v", ref, err)
		return
	}
	found := map[ledger.Action]int{}
	for _, a := range acts {
		if a.Refused == "" {
			found[a.Action]++
		}
	}
	w.mu.Lock()
	done := w.acted[ref]
	w.mu.Unlock()
	for action, n := range done {
		if found[action] < n {
			w.broken("I9", "task %s: operators did %s %d times, on record are %d", ref, action, n, found[action])
		}
	}
}
