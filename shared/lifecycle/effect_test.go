package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// world is an outside system with one effect, the record of it, and the calls that are out. It counts what the
// other side did.
type world struct {
	record *lifecycle.Effect
	calls  []call
	acted  int
	now    time.Time
}

// call is one call that is out: at which revision it was begun, and whether the other side has acted on it.
type call struct {
	begun uint64
	until time.Time
	acted bool
}

// playEffect plays bytes as whatever may happen to one effect: callers that begin, act, answer, lie silent, come back
// late; reconciliations that ask; operators. It returns an error where I7 is broken.
func playEffect(bytes []byte, policy lifecycle.EffectPolicy) error {
	t := &tape{bytes}
	w := &world{now: start}
	var first json.RawMessage
	for len(t.bytes) > 0 {
		w.now = w.now.Add([]time.Duration{0, time.Second, 11 * time.Second, -time.Second}[t.of(4)])
		var err error
		if t.once(2) {
			err = w.begin(t, policy)
		} else {
			err = w.settle(t)
		}
		if err != nil {
			return err
		}
		if w.record == nil || w.record.State != lifecycle.EffectDone {
			if first != nil {
				return fmt.Errorf("I7: a recorded result is gone: %+v", w.record)
			}
			continue
		}
		if first == nil {
			first = w.record.Result
		}
		if string(first) != string(w.record.Result) {
			return fmt.Errorf("I7: the result was %s and is %s", first, w.record.Result)
		}
	}
	if policy != lifecycle.PolicyRetry && w.acted > 1 {
		return fmt.Errorf("I7: policy %s, and the other side acted %d times", policy, w.acted)
	}
	return nil
}

func (w *world) begin(t *tape, policy lifecycle.EffectPolicy) error {
	req := lifecycle.EffectRequest{
		Visit: 1, Name: "pay", Policy: policy, RequestDigest: lifecycle.Digest([]string{"R", "R", "R", "other"}[t.of(4)]), Holder: "h", Fence: uint64(t.of(4)),
		CallUntil: w.now.Add(time.Duration(t.of(3)) * 10 * time.Second),
	}
	before := w.record
	d, err := lifecycle.DecideEffect("t-1", before, req, w.now)
	switch {
	case lifecycle.RejectedFor(err, lifecycle.ConflictingContent):
		if before == nil || before.RequestDigest == req.RequestDigest {
			return fmt.Errorf("a conflict with nothing: %w", err)
		}
		return nil
	case lifecycle.RejectedFor(err, lifecycle.NotDue):
		return nil // no time is left
	case err != nil:
		return err
	case before != nil && before.RequestDigest != req.RequestDigest:
		return fmt.Errorf("I6: another request under the same name: %s", d.Act)
	case (before != nil && before.State == lifecycle.EffectDone) != (d.Act == lifecycle.ActReturn):
		return fmt.Errorf("I7: %s for an effect that is %+v", d.Act, before)
	case d.Act == lifecycle.ActWait && !d.WaitUntil.After(w.now):
		return fmt.Errorf("waits until %s at %s", d.WaitUntil, w.now)
	}
	switch d.Act {
	case lifecycle.ActCall:
		if before != nil && before.State == lifecycle.EffectIntended && before.CallUntil.After(w.now) {
			return fmt.Errorf("I7: called while another call may be out until %s", before.CallUntil)
		}
		w.record = &d.Next
		w.calls = append(w.calls, call{begun: d.Next.Revision, until: d.Next.CallUntil})
	case lifecycle.ActReconcile:
		// The other side answers for all calls at once; those that have not arrived by then do not arrive: asking is
		// right only for a side of which that is true.
		state, result := lifecycle.EffectFailed, json.RawMessage(nil)
		for i := range w.calls {
			if w.calls[i].acted {
				state, result = lifecycle.EffectDone, json.RawMessage(`"ok"`)
			}
			w.calls[i].until = start.Add(-time.Hour)
		}
		next, err := lifecycle.SettleCall(*w.record, d.Next.Revision, state, result, "asked", w.now)
		if err != nil {
			return err
		}
		w.record = &next
	}
	return nil
}

func (w *world) settle(t *tape) error {
	if len(w.calls) == 0 {
		return nil
	}
	c := &w.calls[t.of(len(w.calls))]
	if !c.acted && w.now.Before(c.until) && t.once(2) {
		c.acted = true
		w.acted++
	}
	state, result := lifecycle.EffectInDoubt, json.RawMessage(nil)
	switch answer := t.of(3); {
	case c.acted && answer == 0:
		state, result = lifecycle.EffectDone, json.RawMessage(`"ok"`)
	case !c.acted && answer == 0: // the caller knows that nothing was done, and does not try any more
		state, c.until = lifecycle.EffectFailed, start.Add(-time.Hour)
	case answer == 1:
		return nil // it never comes back
	case !c.acted && w.now.Before(c.until):
		return nil // it is still calling
	}
	before := *w.record
	next, err := lifecycle.SettleCall(before, c.begun, state, result, "own call", w.now)
	if err != nil {
		return err
	}
	if state != lifecycle.EffectDone && before.Revision != c.begun && next.Revision != before.Revision {
		return fmt.Errorf("I7: a late %s of the call begun at %d changed the record at %d", state, c.begun, before.Revision)
	}
	w.record = &next
	return nil
}

// FuzzDecideEffect: a recorded result is never called again nor overwritten, nobody calls while another call may be
// out, and where the policy is to ask or to hold the other side acts once at most (I7, cases 21 and 22).
func FuzzDecideEffect(f *testing.F) {
	f.Add([]byte("some bytes that make something of it, and then some more of them"), byte(0))
	f.Add([]byte{1, 1, 0, 1, 1, 0, 0, 1, 0, 2, 1, 0, 1, 1}, byte(1))
	f.Fuzz(func(t *testing.T, bytes []byte, policy byte) {
		policies := []lifecycle.EffectPolicy{lifecycle.PolicyRetry, lifecycle.PolicyReconcile, lifecycle.PolicyHold}
		if err := playEffect(bytes, policies[int(policy)%len(policies)]); err != nil {
			t.Fatal(err)
		}
	})
}

// TestEffects is FuzzDecideEffect over seeded bytes.
func TestEffects(t *testing.T) {
	t.Parallel()
	for seed := range uint64(thinned(t, 20_000)) {
		for _, policy := range []lifecycle.EffectPolicy{lifecycle.PolicyRetry, lifecycle.PolicyReconcile, lifecycle.PolicyHold} {
			if err := playEffect(seeded(seed, 96), policy); err != nil {
				t.Fatalf("seed %d, %s: %v", seed, policy, err)
			}
		}
	}
}

// TestSettleDoubt: an operator says what became of an effect that is in doubt, and of no other (case 19).
func TestSettleDoubt(t *testing.T) {
	d, err := lifecycle.DecideEffect("t-1", nil, lifecycle.EffectRequest{Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, CallUntil: start.Add(time.Second)}, start)
	if err != nil {
		t.Fatal(err)
	}
	later := start.Add(time.Second + lifecycle.ClockMargin)
	done := func(e lifecycle.Effect, at time.Time, result string) error {
		_, err := lifecycle.SettleDoubt(e, lifecycle.EffectDone, []byte(result), "asked", at)
		return err
	}
	doubt, err := lifecycle.SettleEffect(d.Next, lifecycle.EffectInDoubt, nil, "timeout", start)
	if err != nil {
		t.Fatal(err)
	}
	settled, err := lifecycle.SettleDoubt(doubt, lifecycle.EffectDone, []byte(`{"ref": 1}`), "asked", start)
	if err != nil || settled.State != lifecycle.EffectDone || string(settled.Result) != `{"ref": 1}` || settled.Evidence != "asked" || settled.Revision != 3 {
		t.Errorf("%+v, %v", settled, err)
	}
	notDone, err := lifecycle.SettleDoubt(d.Next, lifecycle.EffectFailed, []byte(`"ignored"`), "asked", later)
	if err != nil || notDone.State != lifecycle.EffectFailed || notDone.Result != nil {
		t.Errorf("%+v, %v", notDone, err)
	}
	for name, c := range map[string]struct {
		err  error
		want lifecycle.Reason
	}{
		"while its call may be out":   {done(d.Next, start, `1`), lifecycle.NotDue},
		"by a clock that runs ahead":  {done(d.Next, later.Add(-time.Millisecond), `1`), lifecycle.NotDue},
		"when its caller is gone":     {done(d.Next, later, `1`), ""},
		"when it is done":             {done(settled, later, `1`), lifecycle.IllegalTransition},
		"when it was not done":        {done(notDone, later, `1`), lifecycle.IllegalTransition},
		"with a result that is none":  {done(doubt, later, `done`), lifecycle.InvalidContent},
		"with no result":              {done(doubt, later, ``), lifecycle.InvalidContent},
		"with a result without bound": {done(doubt, later, `"`+strings.Repeat("x", lifecycle.MaxEffectResultBytes)+`"`), lifecycle.LimitReached},
	} {
		if c.want == "" && c.err != nil || c.want != "" && !lifecycle.RejectedFor(c.err, c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	if _, err := lifecycle.SettleDoubt(doubt, lifecycle.EffectInDoubt, nil, "", later); !lifecycle.RejectedFor(err, lifecycle.IllegalTransition) {
		t.Errorf("settled as in doubt: %v", err)
	}
}

// TestSettleEffect: what is not a settlement is refused, and so is a result beyond the limit.
func TestSettleEffect(t *testing.T) {
	d, err := lifecycle.DecideEffect("t-1", nil, lifecycle.EffectRequest{Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, CallUntil: start.Add(time.Second)}, start)
	if err != nil || d.Act != lifecycle.ActCall {
		t.Fatalf("%s, %v", d.Act, err)
	}
	for _, state := range []lifecycle.EffectState{"", lifecycle.EffectIntended, "paid"} {
		if _, err := lifecycle.SettleEffect(d.Next, state, nil, "", start); !lifecycle.RejectedFor(err, lifecycle.IllegalTransition) {
			t.Errorf("settled as %q: %v", state, err)
		}
	}
	if _, err := lifecycle.SettleEffect(d.Next, lifecycle.EffectDone, make([]byte, lifecycle.MaxEffectResultBytes+1), "", start); !lifecycle.RejectedFor(err, lifecycle.LimitReached) {
		t.Errorf("a result beyond the limit: %v", err)
	}
	if next, err := lifecycle.SettleEffect(d.Next, lifecycle.EffectFailed, nil, "operator", start); err != nil || next.State != lifecycle.EffectFailed || next.Revision != d.Next.Revision+1 {
		t.Errorf("%+v, %v", next, err)
	}
	if a, b := lifecycle.EffectKey("t-1", 1, "pay"), lifecycle.EffectKey("t-1", 2, "pay"); a == b {
		t.Errorf("two visits share the key %s", a)
	}
}
