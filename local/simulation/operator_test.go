package simulation_test

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// operate is an operator who acts while everything moves: webhooks are delivered again,
// from where they stand or from somewhere else, keys are replaced, and at the console
// tasks are made to go on, answered and canceled, and what is in doubt is settled.
func (w *world) operate(o *client) {
	for range o.dice.IntN(8) {
		o.pause(3 * time.Minute)
		own := w.tasksOf(o.tenant)
		switch n := o.dice.IntN(8); {
		case n == 0:
			w.rotate(o)
		case len(own) == 0:
		case n < 4:
			w.replayAt(o, own[o.dice.IntN(len(own))])
		default:
			w.attend(o, w.livelyOf(o, own))
		}
	}
}

// rotate makes the next key of a use, which some processes learn of later than others.
func (w *world) rotate(o *client) {
	use := []keyring.Use{keyring.Webhook, keyring.Seal}[o.dice.IntN(2)]
	if _, err := keyring.New(w.ring).Rotate(context.Background(), use, time.Now()); err == nil {
		w.hit("a key replaced") // there can be too many already
	}
}

// retire drops the keys that have had successors for long enough.
func (w *world) retire() {
	dropped, err := keyring.New(w.ring).Retire(context.Background(), keyring.Webhook, time.Now())
	if err == nil && dropped > 0 {
		w.hit("old keys dropped")
	}
}

// replayAt has a task's webhooks delivered again: all of them or one.
func (w *world) replayAt(o *client, ref lifecycle.Ref) {
	h, err := w.witness.Head(context.Background(), ref)
	if err != nil {
		return
	}
	endpoints, err := w.witness.EndpointList(context.Background(), ref)
	if err != nil || len(endpoints) == 0 {
		return
	}
	at := ledger.DueDelivery{Ref: ref}
	path := "/tasks/" + string(ref.Task) + "/pushNotificationConfigs:replay"
	if o.dice.IntN(2) == 0 {
		at.ID = endpoints[o.dice.IntN(len(endpoints))].ID
		path = "/tasks/" + string(ref.Task) + "/pushNotificationConfigs/" + at.ID + "/replay"
	}
	body := "{}"
	if o.dice.IntN(3) > 0 {
		since := uint64(o.dice.IntN(int(h.Seq) + 1))
		body = fmt.Sprintf(`{"since":%d}`, since)
		w.hooks.mayGoTo(at, since)
	}
	for range 4 {
		r, err := o.do(http.MethodPost, path, body)
		switch {
		case err != nil || r.status == http.StatusServiceUnavailable || r.reason == "DELIVERY_UNDER_WAY":
			o.pause(20 * time.Second)
			continue
		case r.ok():
			w.hit("webhooks delivered again")
		}
		o.refusedAs(r, "a replay", "NOT_FOUND", "TASK_NOT_FOUND")
		return
	}
}

// replayRest has all webhooks of those tasks delivered again that are still there.
func (w *world) replayRest(o *client) {
	for _, ref := range w.tasksOf(o.tenant) {
		if !w.forgotten[ref] {
			w.replayAt(o, ref)
		}
	}
}

// tasksOf are a tenant's tasks.
func (w *world) tasksOf(tenant string) (own []lifecycle.Ref) {
	for _, ref := range w.witness.tasks() {
		if ref.Tenant == tenant {
			own = append(own, ref)
		}
	}
	return own
}

// livelyOf is one of some tasks, most of the time one that has not ended.
func (w *world) livelyOf(o *client, own []lifecycle.Ref) lifecycle.Ref {
	lively := slices.DeleteFunc(slices.Clone(own), func(ref lifecycle.Ref) bool {
		h, err := w.witness.Head(context.Background(), ref)
		return err != nil || h.Terminal()
	})
	if len(lively) > 0 && o.dice.IntN(8) > 0 {
		own = lively
	}
	return own[o.dice.IntN(len(own))]
}

// mayGoTo notes that an operator has a delivery begin behind a sequence; without an ID
// those of all endpoints of the task.
func (x *hooks) mayGoTo(at ledger.DueDelivery, since uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.asked[at] = append(x.asked[at], since)
}

// begins says whether a delivery that was written is one that an operator has begin
// somewhere else.
func (x *hooks) begins(at ledger.DueDelivery, d ledger.Delivery) bool {
	all := ledger.DueDelivery{Ref: at.Ref}
	return d.State == ledger.DeliveryActive && d.Holder == "" && d.Attempt == 0 && d.Failures == 0 && !d.Idle() &&
		(slices.Contains(x.asked[at], d.Cursor) || slices.Contains(x.asked[all], d.Cursor))
}

// trust looks at an update as its receiver should before it believes a word: who has
// signed it, when, and whether it carries what was configured.
func (x *hooks) trust(h *hook, r *http.Request, body []byte) {
	private, err := keyring.New(x.w.ring).Webhook(r.Context())
	if err != nil {
		x.w.broken("I11", "the keys cannot be had: %v", err)
		return
	}
	stamp := r.Header.Get("Webhook-Timestamp")
	if !signedBy(webhook.Signer(private).Public(), r.Header.Get("Webhook-Signature"), r.Header.Get("Webhook-Id")+"."+stamp+"."+string(body)) {
		x.w.broken("I11", "%s was sent what no published key has signed", r.URL.Path)
	}
	sent, err := strconv.ParseInt(stamp, 10, 64)
	if off := time.Since(time.Unix(sent, 0)).Abs(); err != nil || off > 5*time.Minute {
		x.w.broken("I11", "%s was sent an update of %s ago", r.URL.Path, off)
	}
	for name, token := range r.Header { // as it was set: a wire would make it canonical
		if strings.EqualFold(name, "X-A2A-Notification-Token") && slices.Equal(token, []string{h.token}) {
			return
		}
	}
	x.w.broken("I11", "%s was not sent the token that it has", r.URL.Path)
}

func signedBy(public []string, signatures, signed string) bool {
	for signature := range strings.FieldsSeq(signatures) {
		b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1a,"))
		for _, text := range public {
			key, errKey := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "whpk_"))
			if err == nil && errKey == nil && ed25519.Verify(key, []byte(signed), b) {
				return true
			}
		}
	}
	return false
}

// scopes are those of a tenant's keys.
var scopes = []auth.Scope{auth.Caller, auth.Producer, auth.OperatorRead, auth.OperatorAct}

// may is what a key for a role may do: who acts looks as well.
func may(role auth.Scope) []auth.Scope {
	if role == auth.OperatorAct {
		return []auth.Scope{auth.OperatorRead, role}
	}
	return []auth.Scope{role}
}
