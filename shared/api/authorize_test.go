package api_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/receipt"
)

// §7.6: callers see what is to be authorized, on the task and on its update, for as
// long as it is open.
func TestChallengeIsSeen(t *testing.T) {
	var a *approver
	both(t, []func(*world){approving(&a)}, func(w *world, c client) {
		t := w.t
		id := c.submit(message("m-1", "do it"))
		w.must(id, grant())
		s := c.open("SubscribeToTask", object{"id": id})
		s.must()
		terms := &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Timeout: time.Hour, Challenge: &lifecycle.Challenge{Action: "delete", Audience: "owners"}}
		w.must(id, lifecycle.Report{Verb: lifecycle.VerbPause, Next: "begin", Pause: terms, Message: says("May I?")})
		want := object{"number": 1.0, "action": "delete", "audience": "owners", "expiresAt": w.head(id).Challenge.ExpiresAt.Format("2006-01-02T15:04:05.000Z07:00")}
		if got, _ := own(s.must().update())["challenge"].(object); !maps.Equal(got, want) {
			t.Errorf("the update says %v, want %v", got, want)
		}
		if got, _ := own(c.ok("GetTask", object{"id": id}))["challenge"].(object); !maps.Equal(got, want) {
			t.Errorf("the task says %v, want %v", got, want)
		}
		if got := c.authorize(id, a.give(id, 1, "j-1", object{"aud": []string{"here", "owners"}})); got.status != http.StatusOK || own(got.result)["challenge"] != nil {
			t.Errorf("%d %s", got.status, got.raw)
		}
		if got := s.must(); got.state() != "TASK_STATE_WORKING" || own(got.update())["challenge"] != nil {
			t.Errorf("after the receipt: %v", got)
		}
		s.cut()
	})
}

// I12: a valid receipt, out of band, goes on with the task and tells the parked
// execution. Of the receipt are kept issuer, key ID, jti and digest. The same receipt
// again is a hit, also when the task has ended; for the next challenge it is refused.
func TestAuthorizeOutOfBand(t *testing.T) {
	var a *approver
	w := newWorld(t, approving(&a))
	c := w.client(t, false)
	id := w.asking(c, "m-1")
	text := a.give(id, 1, "j-1")
	got := c.authorize(id, text)
	if got.status != http.StatusOK || stateOf(got.result) != "TASK_STATE_WORKING" || got.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", got.status, got.raw)
	}
	if _, answers := w.told(); !slices.Equal(answers, []int{1}) {
		t.Errorf("told of %v", answers)
	}
	want := []lifecycle.ReceiptRef{{Challenge: 1, Issuer: "https://approvals.example.com", KeyID: "k-1", JTI: "j-1", Digest: lifecycle.DigestBytes([]byte(text))}}
	if kept := w.receipts(id); !slices.Equal(kept, want) {
		t.Errorf("kept %+v, want %+v", kept, want)
	}
	// Anybody of the tenant may bring it again.
	if again := c.with("Authorization", "Bearer local/other").authorize(id, text); again.status != http.StatusOK {
		t.Errorf("again: %s", again.raw)
	}
	w.must(id, grant(), pause(lifecycle.AuthRequired, false))
	if again := c.authorize(id, text); again.status != http.StatusOK || stateOf(again.result) != "TASK_STATE_AUTH_REQUIRED" {
		t.Errorf("a closed challenge's receipt again: %s", again.raw)
	}
	// The same jti under other content, and a receipt of the challenge before.
	c.unauthorized(id, a.give(id, 2, "j-1"), "AUTHORIZATION_RECEIPT_INVALID")
	c.unauthorized(id, a.give(id, 1, "j-2"), "AUTHORIZATION_RECEIPT_INVALID")
	if head := w.head(id); head.State != lifecycle.AuthRequired || head.Challenge.Number != 2 {
		t.Errorf("the head is %+v", head)
	}
	if got := c.authorize(id, a.give(id, 2, "j-3")); got.status != http.StatusOK || stateOf(got.result) != "TASK_STATE_WORKING" {
		t.Errorf("%d %s", got.status, got.raw)
	}
	w.must(id, grant(), complete())
	if again := c.authorize(id, text); again.status != http.StatusOK || stateOf(again.result) != "TASK_STATE_COMPLETED" {
		t.Errorf("of an ended task: %s", again.raw)
	}
	c.unauthorized(id, a.give(id, 2, "j-4"), "UNSUPPORTED_OPERATION")
	invalid := lifecycle.ReceiptInvalid
	if got := w.rejected(id); !slices.Equal(got, []lifecycle.Reason{invalid, invalid, lifecycle.PostTerminal}) {
		t.Errorf("rejections %v", got)
	}
	if counts, err := w.ledger.Counts(t.Context(), w.ref(id)); err != nil || counts.Hits != 3 {
		t.Errorf("%+v, %v", counts, err)
	}
}

// What does not hold changes nothing, in band or out of it; it is kept as a rejection.
func TestUnauthorized(t *testing.T) {
	var a *approver
	both(t, []func(*world){approving(&a)}, func(w *world, c client) {
		t := w.t
		id, other := w.asking(c, "m-1"), w.asking(c, "m-2")
		plain := client{t: t, base: w.server.URL, http: c.http, head: c.head}
		before := w.head(id)
		for name, bad := range map[string]string{
			"no JWS": "planted-secret", "another task": a.give(other, 1, "j"), "another tenant": a.give(id, 1, "j", nil, object{"tenant": "acme"}),
			"another challenge": a.give(id, 2, "j"), "another action": a.give(id, 1, "j", nil, object{"action": "read"}),
			"expired": a.give(id, 1, "j", object{"exp": 1}), "tampered": a.give(id, 1, "j") + "A", "another issuer": a.give(id, 1, "j", object{"iss": "x"}),
		} {
			p := plain.unauthorized(id, bad, "AUTHORIZATION_RECEIPT_INVALID")
			q := c.refused("SendMessage", object{"message": authorizing(id, "m-3", bad)}, "AUTHORIZATION_RECEIPT_INVALID")
			if p.message != q.message || q.code != map[bool]int{true: -32602, false: 400}[c.rpc] {
				t.Errorf("%s: %+v and %+v", name, p, q)
			}
		}
		plain.unauthorized(id, "", "AUTHORIZATION_RECEIPT_REQUIRED")
		c.refused("SendStreamingMessage", object{"message": authorizing(id, "m-3", "")}, "AUTHORIZATION_RECEIPT_REQUIRED")
		if after := w.head(id); after.Seq != before.Seq || after.State != lifecycle.AuthRequired {
			t.Errorf("the head is %+v", after)
		}
		reasons := w.rejected(id)
		if n := len(reasons); n != 18 || reasons[n-1] != lifecycle.ReceiptRequired || reasons[0] != lifecycle.ReceiptInvalid {
			t.Errorf("rejections %v", reasons)
		}
	})
}

// §7.6.3: in band, the receipt is taken out of the message before it is stored; the
// message again is the same message, with its receipt or without.
func TestAuthorizeInBand(t *testing.T) {
	var a *approver
	both(t, []func(*world){approving(&a)}, func(w *world, c client) {
		t := w.t
		id := w.asking(c, "m-1")
		given := a.give(id, 1, "j-1")
		got := c.ok("SendMessage", immediately(authorizing(id, "m-2", given)))
		if text(got, "task.status.state") != "TASK_STATE_WORKING" || text(got, "task.history.1.parts.0.text") != "Here it is." {
			t.Fatalf("%v", got)
		}
		meta, _ := dig(got, "task.history.1.metadata").(object)
		if meta["urn:other"] != "kept" || meta[lifecycle.ExtensionURI] != nil {
			t.Errorf("the message's metadata is %v", meta)
		}
		if _, answers := w.told(); !slices.Equal(answers, []int{1}) || len(w.receipts(id)) != 1 {
			t.Errorf("told of %v, kept %v", answers, w.receipts(id))
		}
		c.submit(authorizing(id, "m-2", given))
		c.submit(with(authorizing(id, "m-2", ""), object{"metadata": object{"urn:other": "kept"}}))
		if counts, err := w.ledger.Counts(t.Context(), w.ref(id)); err != nil || counts.Hits != 3 || counts.Rejections != 0 {
			t.Errorf("%+v, %v", counts, err)
		}
		entries, err := w.ledger.Entries(t.Context(), w.ref(id), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.Contains(string(e.Payload), given[:20]) {
				t.Errorf("entry %d holds the receipt", e.Seq)
			}
		}
		// In the request's metadata it does as well; on a stream the updates follow.
		w.must(id, grant(), pause(lifecycle.AuthRequired, false))
		s := c.open("SendStreamingMessage", object{"message": replying(id, "m-3", "And here."), "metadata": extension(object{"authorization": a.give(id, 2, "j-2")})})
		if first := s.must(); first.state() != "TASK_STATE_WORKING" {
			t.Errorf("the stream begins with %v", first)
		}
		w.must(id, grant(), complete())
		rest := s.rest()
		if len(rest) == 0 || rest[len(rest)-1].state() != "TASK_STATE_COMPLETED" {
			t.Errorf("the stream goes on with %v", rest)
		}
	})
}

// What cannot be a receipt for a task is said as such, and nothing is begun.
func TestAuthorizationOutOfPlace(t *testing.T) {
	var a *approver
	both(t, []func(*world){approving(&a)}, func(w *world, c client) {
		t := w.t
		c.refused("SendMessage", object{"message": with(message("m-1", "x"), object{"metadata": extension(object{"authorization": "planted-secret"})})}, "INVALID_PARAMS")
		p := c.refused("SendMessage", object{"message": with(message("m-1", "x"), object{"metadata": extension(object{"authorization": 7})})}, "INVALID_PARAMS")
		if !slices.Equal(p.fields, []string{"message.metadata." + lifecycle.ExtensionURI + ".authorization"}) {
			t.Errorf("fields %v", p.fields)
		}
		if w.count() != 0 {
			t.Error("a task was begun")
		}
		id := w.paused(c, false)
		plain := client{t: t, base: w.server.URL, http: c.http, head: c.head}
		plain.unauthorized(id, a.give(id, 1, "j"), "AUTHORIZATION_RECEIPT_INVALID")
		c.refused("SendMessage", object{"message": authorizing(id, "m-2", a.give(id, 1, "j"))}, "AUTHORIZATION_RECEIPT_INVALID")
		if w.head(id).State != lifecycle.InputRequired {
			t.Error("a receipt answered a question")
		}
		// I10: nothing tells a foreign task from none.
		foreign, none := plain.with("Authorization", "Bearer acme/x").authorize(id, a.give(id, 1, "j")), plain.authorize("none", a.give(id, 1, "j"))
		if foreign.err == nil || none.err == nil || foreign.err.reason != "TASK_NOT_FOUND" || foreign.err.message != none.err.message {
			t.Errorf("%s and %s", foreign.raw, none.raw)
		}
	})
}

// Many bring receipts at once: one closes the challenge, those with the same one get
// the same answer, and the execution is told once.
func TestConcurrentReceipts(t *testing.T) {
	var a *approver
	w := newWorld(t, approving(&a))
	c := w.client(t, false)
	id := w.asking(c, "m-1")
	texts := []string{a.give(id, 1, "j-1"), a.give(id, 1, "j-2")}
	var mu sync.Mutex
	var all sync.WaitGroup
	taken := [2]int{}
	for i := range 16 {
		all.Go(func() {
			got := c.authorize(id, texts[i%2])
			mu.Lock()
			defer mu.Unlock()
			switch {
			case got.status == http.StatusOK:
				taken[i%2]++
			case got.err == nil || got.err.reason != "AUTHORIZATION_RECEIPT_INVALID":
				t.Errorf("%d %s", got.status, got.raw)
			}
		})
	}
	all.Wait()
	if taken != [2]int{8, 0} && taken != [2]int{0, 8} {
		t.Errorf("taken %v, want all of one", taken)
	}
	if _, answers := w.told(); !slices.Equal(answers, []int{1}) || len(w.receipts(id)) != 1 {
		t.Errorf("told of %v, kept %v", answers, w.receipts(id))
	}
}

// A receipt at or after the deadline is refused, and the refusal commits the outcome.
func TestLateReceipt(t *testing.T) {
	var a *approver
	w := newWorld(t, approving(&a))
	c := w.client(t, false)
	id := w.asking(c, "m-1")
	w.clock.Advance(time.Hour)
	c.unauthorized(id, a.give(id, 1, "j-1"), "UNSUPPORTED_OPERATION")
	if w.head(id).State != lifecycle.Failed || len(w.receipts(id)) != 0 || !slices.Equal(w.rejected(id), []lifecycle.Reason{lifecycle.PauseExpired}) {
		t.Errorf("%+v, %v", w.head(id), w.rejected(id))
	}
}

// A door without issuers says so on its card and in its answer, and keeps nothing.
func TestNoReceipts(t *testing.T) {
	both(t, nil, func(w *world, c client) {
		t := w.t
		id := w.asking(c, "m-1")
		plain := client{t: t, base: w.server.URL, http: c.http, head: c.head}
		plain.unauthorized(id, "planted-secret", "UNSUPPORTED_OPERATION")
		c.refused("SendMessage", object{"message": authorizing(id, "m-2", "planted-secret")}, "UNSUPPORTED_OPERATION")
		if head := w.head(id); head.Seq != 3 || len(w.rejected(id)) != 0 {
			t.Errorf("%+v", head)
		}
		card := plain.send(plain.raw(t.Context(), "GET", "/.well-known/agent-card.json", ""))
		terms, _ := dig(card.result, "capabilities.extensions.0.params.authorizations").(object)
		if len(terms) != 1 {
			t.Errorf("the card says %v", terms)
		}
	})
}

// A door with issuers says on its card what receipts need; who may only look presents
// none; the form is held to like every other.
func TestReceiptTerms(t *testing.T) {
	var a *approver
	w := newWorld(t, approving(&a))
	c := w.client(t, false)
	card := c.send(c.raw(t.Context(), "GET", "/.well-known/agent-card.json", ""))
	if got := text(card.result, "capabilities.extensions.0.params.authorizations.issuers.0.audience"); got != "here" {
		t.Errorf("the card says %s", card.raw)
	}
	id := w.asking(c, "m-1")
	good := a.give(id, 1, "j-1")
	for what, r := range map[string]struct {
		client client
		method string
		body   string
		want   int
	}{
		"an operator": {c.with("Authorization", "Bearer local/x/operator:read"), "POST", good, 403},
		"a producer":  {c.with("Authorization", "Bearer local/x/producer"), "POST", good, 403},
		"a form":      {c.with("Content-Type", "application/x-www-form-urlencoded"), "POST", good, 415},
		"a GET":       {c, "GET", "", 405},
		"no JSON":     {c, "POST", `{"receipt"`, 400},
		"a list":      {c, "POST", `[]`, 400},
		"a number":    {c, "POST", `{"receipt":7}`, 400},
		"nothing":     {c, "POST", ``, 400},
		"a large one": {c, "POST", `{"receipt":"` + strings.Repeat("x", 5<<20) + `"}`, 413},
	} {
		body := r.body
		if body == good {
			body = fmt.Sprintf(`{"receipt":%q}`, good)
		}
		if got := c.send(r.client.raw(t.Context(), r.method, "/tasks/"+id+"/authorizations", body)); got.status != r.want {
			t.Errorf("%s: %d %.200s", what, got.status, got.raw)
		}
	}
	if w.head(id).State != lifecycle.AuthRequired {
		t.Error("one of them was taken")
	}
	a2aTyped := c.raw(t.Context(), "POST", "/tasks/"+id+"/authorizations", fmt.Sprintf(`{"receipt":%q}`, good))
	a2aTyped.Header.Set("Content-Type", "application/a2a+json")
	if got := c.send(a2aTyped); got.status != http.StatusOK {
		t.Errorf("as application/a2a+json: %d %s", got.status, got.raw)
	}
}

// An issuer whose keys cannot be had makes the receipt neither valid nor invalid.
func TestUnreachableIssuer(t *testing.T) {
	w := newWorld(t, func(w *world) {
		fetch := func(context.Context, string) ([]byte, error) { return nil, errors.New("connection refused") }
		v, err := receipt.New([]receipt.Issuer{{Name: "https://approvals.example.com", Audience: "here", KeysURL: "https://approvals.example.com/keys"}}, fetch, w.clock.Now)
		if err != nil {
			w.t.Fatal(err)
		}
		w.config.Receipts = v
	})
	c := w.client(t, false)
	id := w.asking(c, "m-1")
	var a *approver
	approving(&a)(w)
	got := c.authorize(id, a.give(id, 1, "j-1"))
	if got.status != http.StatusServiceUnavailable || len(w.rejected(id)) != 0 || w.head(id).State != lifecycle.AuthRequired {
		t.Errorf("%d %s, %v", got.status, got.raw, w.rejected(id))
	}
}

// A crash between the message and its receipt: the same request again does the rest.
func TestMessageBeforeItsReceipt(t *testing.T) {
	var a *approver
	w := newWorld(t, approving(&a))
	c := w.client(t, true)
	id := w.asking(c, "m-1")
	c.submit(with(authorizing(id, "m-2", ""), object{"metadata": object{"urn:other": "kept"}}))
	if w.head(id).State != lifecycle.AuthRequired {
		t.Fatal("a message authorized")
	}
	got := c.ok("SendMessage", immediately(authorizing(id, "m-2", a.give(id, 1, "j-1"))))
	if text(got, "task.status.state") != "TASK_STATE_WORKING" || len(w.receipts(id)) != 1 {
		t.Errorf("%v", got)
	}
}

// meanwhile lets something happen once a receipt was verified.
type meanwhile struct {
	api.Receipts
	then func()
}

// Verify implements api.Receipts.
func (m *meanwhile) Verify(ctx context.Context, text string, of lifecycle.Ref, challenge lifecycle.Challenge, openedAt time.Time) (lifecycle.ReceiptRef, error) {
	ref, err := m.Receipts.Verify(ctx, text, of, challenge, openedAt)
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
	return ref, err
}

// Whoever is second with a receipt gets the same answer as the first; a message that
// came with it is no answer to what the task has asked since.
func TestAuthorizedInTheMeantime(t *testing.T) {
	var a *approver
	var m *meanwhile
	w := newWorld(t, approving(&a), func(w *world) {
		m = &meanwhile{Receipts: w.config.Receipts}
		w.config.Receipts = m
	})
	c := w.client(t, false)
	id := w.asking(c, "m-1")
	text := a.give(id, 1, "j-1")
	m.then = func() {
		if first := c.authorize(id, text); first.status != http.StatusOK {
			t.Errorf("the first: %s", first.raw)
		}
	}
	if second := c.authorize(id, text); second.status != http.StatusOK || len(w.receipts(id)) != 1 {
		t.Errorf("the second: %s", second.raw)
	}
	w.must(id, grant(), pause(lifecycle.AuthRequired, false))
	text = a.give(id, 2, "j-2")
	m.then = func() {
		c.authorize(id, text)
		w.must(id, grant(), pause(lifecycle.InputRequired, false))
	}
	c.refused("SendMessage", object{"message": authorizing(id, "m-2", text)}, "INVALID_PARAMS")
	if w.head(id).State != lifecycle.InputRequired {
		t.Error("what came with a receipt answered a question")
	}
}
