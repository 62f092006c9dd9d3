package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// operator is whoever asks, as a producer of entries.
var operator = "operator:" + auth.Principal{Tenant: tenant, Name: "night"}.Hash()

// wantActs holds what is on record against what was done: action, detail, and refused.
func (w *world) wantActs(t lifecycle.Task, want ...ledger.Acted) {
	w.Helper()
	got := w.acts(t)
	if len(got) != len(want) {
		w.Fatalf("on record are %+v, want %d", got, len(want))
	}
	for i, a := range got {
		if a.By != "night" || a.Action != want[i].Action || a.Detail != want[i].Detail || a.Refused != want[i].Refused || a.At.IsZero() {
			w.Errorf("on record is %+v, want %+v", a, want[i])
		}
	}
}

// wantProducer wants the last entries to be the operator's.
func (w *world) wantProducer(t lifecycle.Task, last int) {
	w.Helper()
	all := w.entries(t)
	for _, e := range all[len(all)-last:] {
		if e.Producer != operator {
			w.Errorf("entry %d (%s) is %s's, want %s's", e.Seq, e.Type, e.Producer, operator)
		}
	}
}

func TestCancel(t *testing.T) {
	w := newWorld(t)
	paused := w.do(w.submit(), granted(1), asks("Which?"))
	if says := w.act(paused.Task, "cancel", `{"note": "the customer called"}`); says != "The task is canceled." {
		t.Error(says)
	}
	w.wantActs(paused, ledger.Acted{Action: ledger.ActionCancel, Detail: "the customer called"})
	w.wantProducer(paused, 2)
	if now := w.task(paused); now.State != lifecycle.Canceled || len(w.answered) != 1 {
		t.Errorf("the task is %s; told of pauses %v", now.State, w.answered)
	}
	if why := w.refused(http.StatusConflict, paused.Task, "cancel", `{"note": ""}`); !strings.Contains(why, "has ended") {
		t.Error(why)
	}
	w.wantActs(paused, ledger.Acted{Action: ledger.ActionCancel, Detail: "the customer called"}, ledger.Acted{Action: ledger.ActionCancel},
		ledger.Acted{Action: ledger.ActionCancel, Refused: "The rules do not allow it: the task has ended as TASK_STATE_CANCELED."})

	held := w.do(w.submit(), granted(1))
	if says := w.act(held.Task, "cancel", `{"note": ""}`); !strings.Contains(says, "g1 holds the lease") {
		t.Error(says)
	}
	if now := w.task(held); now.Cancel == nil || now.Cancel.Principal != strings.TrimPrefix(operator, "operator:") || now.Seq != held.Seq {
		t.Errorf("the head is %+v", now.Head)
	}
}

func TestAnswer(t *testing.T) {
	w := newWorld(t)
	paused := w.do(w.submit(), granted(1), asks("Which?"))
	if says := w.act(paused.Task, "answer", `{"pause": 1, "text": "The second <one>."}`); !strings.Contains(says, "committed") {
		t.Error(says)
	}
	w.wantActs(paused, ledger.Acted{Action: ledger.ActionAnswer, Detail: "pause 1"})
	w.wantProducer(paused, 1)
	all := w.entries(paused)
	ev, err := all[len(all)-1].Event()
	w.ok(err)
	own, _ := ev.Message.Metadata[lifecycle.ExtensionURI].(map[string]any)
	if ev.Type != lifecycle.TypeReply || ev.Message.Role != a2a.MessageRoleUser || ev.Message.Parts[0].Text() != "The second <one>." || own["operator"] != true {
		t.Errorf("the entry is %+v, its message %+v", ev, ev.Message)
	}
	if len(w.answered) != 1 || w.answered[0] != 1 {
		t.Errorf("told of pauses %v", w.answered)
	}
	// Again, and to a question that nobody asked: refused, and nothing but the record.
	w.refused(http.StatusConflict, paused.Task, "answer", `{"pause": 1, "text": "The first."}`)
	again := w.do(paused, granted(1), asks("And now?"))
	if why := w.refused(http.StatusConflict, paused.Task, "answer", `{"pause": 1, "text": "The first."}`); !strings.Contains(why, "open is pause 2") {
		t.Error(why)
	}
	if n := len(w.entries(again)); n != int(again.Seq) {
		t.Errorf("%d entries, want %d", n, again.Seq)
	}
	for _, body := range []string{`{"pause": 2, "text": ""}`, `{"pause": 0, "text": "x"}`, `{"pause": 2, "text": "x", "more": 1}`, `{"pause": 2, "text": "` + strings.Repeat("x", 9000) + `"}`, `[]`, `{} {}`, ``} {
		a := w.ask(http.MethodPost, "/console/api/tasks/"+string(again.Task)+"/answer", body, with("Content-Type", "application/json"))
		if a.status != http.StatusBadRequest {
			t.Errorf("%.40s: %d %s", body, a.status, a.raw)
		}
	}
	approve := w.do(w.submit(), granted(1), lifecycle.Report{Verb: lifecycle.VerbPause, Next: "end", Pause: &lifecycle.PauseTerms{State: lifecycle.AuthRequired, Challenge: &lifecycle.Challenge{Action: "revoke"}}})
	if why := w.refused(http.StatusConflict, approve.Task, "answer", `{"pause": 1, "text": "I allow it."}`); !strings.Contains(why, "receipt") {
		t.Error(why)
	}
	if now := w.task(approve); now.Seq != approve.Seq {
		t.Error("an operator's word was kept where a receipt is needed (I12)")
	}
}

// TestResume: an operator gets a stuck task going again, whatever it is stuck in (case 19).
func TestResume(t *testing.T) {
	w := newWorld(t)
	at := w.clock.Now()

	lost := w.do(w.submit(), granted(1))
	if why := w.refused(http.StatusConflict, lost.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(why, "holds the lease") {
		t.Error(why)
	}
	w.clock.Advance(lease + time.Second)
	if says := w.act(lost.Task, "resume", `{"note": "nobody came", "generation": 1}`); says != "Execution 2 takes over." {
		t.Error(says)
	}
	if now := w.task(lost); now.Generation != 2 || now.Holder != "" || len(w.submitted) != 1 || w.submitted[0] != 2 {
		t.Errorf("the head is %+v; told of %v", now.Head, w.submitted)
	}
	w.do(lost, granted(2), ends(lifecycle.VerbComplete))
	if why := w.refused(http.StatusConflict, lost.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(why, "has ended as completed") {
		t.Error(why)
	}

	waiting := w.do(w.submit(), granted(1), waits(w.clock.Now().Add(time.Hour)))
	w.act(waiting.Task, "resume", `{"note": "it is up again", "generation": 1}`)
	w.wantProducer(waiting, 1)
	w.do(waiting, granted(2), ends(lifecycle.VerbComplete)) // at once

	asleep := w.do(w.submit(), granted(1), lifecycle.Report{Verb: lifecycle.VerbSleep, Next: "end", Until: w.clock.Now().Add(time.Hour)})
	if why := w.refused(http.StatusConflict, asleep.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(why, "sleeps") {
		t.Error(why)
	}
	paused := w.do(w.submit(), granted(1), asks("Which?"))
	if why := w.refused(http.StatusConflict, paused.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(why, "waits for an answer") {
		t.Error(why)
	}
	w.clock.Advance(time.Hour)
	if says := w.act(paused.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(says, "committed: failed") || w.task(paused).State != lifecycle.Failed {
		t.Errorf("%s; the task is %s", says, w.task(paused).State)
	}
	w.wantProducer(paused, 1)

	old := w.submit(func(s *lifecycle.Submit) { s.AgentVersion = 7 })
	if why := w.refused(http.StatusConflict, old.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(why, "desk@7") {
		t.Error(why)
	}
	outside := w.submit(func(s *lifecycle.Submit) { s.Agent, s.AgentVersion = "field", 1 })
	if why := w.refused(http.StatusConflict, outside.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(why, "claim") {
		t.Error(why)
	}

	unmet := w.do(w.submit(), granted(1))
	w.act(unmet.Task, "cancel", `{"note": ""}`)
	w.clock.Advance(lease + time.Second)
	if says := w.act(unmet.Task, "resume", `{"note": "", "generation": 1}`); !strings.Contains(says, "cancellation") || w.task(unmet).State != lifecycle.Canceled {
		t.Errorf("%s; the task is %s", says, w.task(unmet).State)
	}
	if !w.clock.Now().After(at) || len(w.submitted) != 2 {
		t.Errorf("executions were told of %v", w.submitted)
	}
}

// TestResumeOnce: whoever presses twice, or at the same time as others, restarts what they
// have seen once; the others are told so.
func TestResumeOnce(t *testing.T) {
	w := newWorld(t)
	task := w.do(w.submit(), granted(1), waits(w.clock.Now().Add(time.Hour)))
	path := "/console/api/tasks/" + string(task.Task) + "/resume"
	var answers [9]answer
	resume := func(i int) { answers[i] = w.ask(http.MethodPost, path, `{"note": "", "generation": 1}`) }
	var all sync.WaitGroup
	for i := range answers[1:] {
		all.Go(func() { resume(i) })
	}
	all.Wait()
	resume(len(answers) - 1)
	done := 0
	for _, a := range answers {
		if a.status == http.StatusOK {
			done++
		} else if p := a.problem(w); a.status != http.StatusConflict || p.Reason != "SUPERSEDED" || !strings.Contains(p.Message, "generation 2") {
			t.Errorf("%d %+v", a.status, p)
		}
	}
	if now := w.task(task); done != 1 || now.Generation != 2 || len(w.submitted) != 1 {
		t.Errorf("%d were done, the task is at generation %d, told of %v", done, now.Generation, w.submitted)
	}
	// Whoever has looked since may do it again.
	w.act(task.Task, "resume", `{"note": "", "generation": 2}`)
	for _, body := range []string{`{"note": ""}`, `{"note": "", "generation": 0}`, `{"note": "", "generation": -1}`} {
		w.refused(http.StatusBadRequest, task.Task, "resume", body)
	}

	held, _ := w.held()
	const body = `{"visit": 1, "name": "pay", "revision": 2, "done": true, "result": "1", "note": "the bank has it", "resume": true, "generation": 1}`
	w.act(held.Task, "settle", body)
	if says := w.act(held.Task, "settle", body); !strings.Contains(says, "does not go on now: Another execution has taken over") || w.task(held).Generation != 2 {
		t.Errorf("%s; the task is at generation %d", says, w.task(held).Generation)
	}
	w.refused(http.StatusBadRequest, held.Task, "settle", `{"visit": 1, "name": "pay", "revision": 3, "done": true, "result": "1", "note": "x", "resume": true}`)
}

// held is a task with an effect in doubt that nobody but an operator can settle.
func (w *world) held() (lifecycle.Task, lifecycle.Effect) {
	w.Helper()
	t := w.do(w.submit(), granted(1))
	d, err := w.authority.BeginEffect(w.Context(), t.Ref(), lifecycle.EffectRequest{
		Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, RequestDigest: "d", Holder: t.Holder, Fence: t.Fence, CallUntil: w.clock.Now().Add(20 * time.Second),
	})
	w.ok(err)
	w.ok(w.authority.SettleCall(w.Context(), t.Ref(), 1, "pay", d.Next.Revision, lifecycle.EffectInDoubt, nil, ""))
	t = w.do(t, lifecycle.Report{Verb: lifecycle.VerbWait, Until: w.clock.Now().Add(lifecycle.HoldLook), Reason: "effect pay is held"})
	e, err := w.memory.Effect(w.Context(), t.Ref(), 1, "pay")
	w.ok(err)
	return t, e
}

// TestSettle: an effect that is held keeps its task waiting, and an operator's word sets it
// free; no state is without a way out (case 19).
func TestSettle(t *testing.T) {
	w := newWorld(t)
	task, seen := w.held()
	const body = `{"visit": 1, "name": "pay", "revision": 2, "done": true, "result": " {\"ref\": \"r-1\"} ", "note": "the bank has it", "resume": true, "generation": 1}`
	var sheet struct {
		Stuck   []struct{ Reason string }
		Effects []struct {
			Doubt, Settle bool
			Remedy        string
		}
	}
	w.read("tasks/"+string(task.Task), &sheet)
	if len(sheet.Stuck) != 1 || sheet.Stuck[0].Reason != "effect-held" || len(sheet.Effects) != 1 || !sheet.Effects[0].Settle || !sheet.Effects[0].Doubt || !strings.Contains(sheet.Effects[0].Remedy, "operator") {
		t.Errorf("the sheet is %+v", sheet)
	}
	if says := w.act(task.Task, "settle", body); says != "Effect pay is settled: done. Execution 2 takes over." {
		t.Error(says)
	}
	now, err := w.memory.Effect(t.Context(), task.Ref(), 1, "pay")
	w.ok(err)
	if now.State != lifecycle.EffectDone || string(now.Result) != `{"ref":"r-1"}` || now.Evidence != "operator night: the bank has it" || now.Revision != seen.Revision+1 {
		t.Errorf("the effect is %+v", now)
	}
	w.wantActs(task, ledger.Acted{Action: ledger.ActionSettle, Detail: "effect pay of visit 1, done: the bank has it"}, ledger.Acted{Action: ledger.ActionResume, Detail: "its effect is settled"})
	w.do(task, granted(2)) // it need not wait for the hour to pass
	if d, err := w.authority.BeginEffect(t.Context(), task.Ref(), lifecycle.EffectRequest{Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, RequestDigest: "d", Holder: "g2", Fence: 2, CallUntil: w.clock.Now().Add(time.Second)}); err != nil || d.Act != lifecycle.ActReturn {
		t.Errorf("the step is told to %s (%v), want the recorded result", d.Act, err)
	}
	other := strings.Replace(body, "the bank has it", "I think so", 1)
	if why := w.refused(http.StatusConflict, task.Task, "settle", other); !strings.Contains(why, "changed") {
		t.Error(why) // what the operator saw is not what is there
	}

	w.refused(http.StatusConflict, task.Task, "settle", strings.Replace(body, "r-1", "r-2", 1)) // the note is the same, the result is not

	again, _ := w.held()
	if says := w.act(again.Task, "settle", `{"visit": 1, "name": "pay", "revision": 2, "done": false, "result": "", "note": "the bank has not", "resume": false}`); says != "Effect pay is settled: not done." {
		t.Error(says)
	}
	if e, err := w.memory.Effect(t.Context(), again.Ref(), 1, "pay"); err != nil || e.State != lifecycle.EffectFailed || e.Result != nil {
		t.Errorf("the effect is %+v (%v)", e, err)
	}
	if w.task(again).Generation != 1 {
		t.Error("it was resumed, and nobody asked for it")
	}
	for _, body := range []string{
		`{"visit": 1, "name": "pay", "revision": 3, "done": true, "result": "no JSON", "note": "x"}`,
		`{"visit": 1, "name": "pay", "revision": 3, "done": true, "result": "", "note": "x"}`,
		`{"visit": 1, "name": "pay", "revision": 3, "done": false, "note": ""}`,
		`{"visit": 1, "name": "", "revision": 3, "done": false, "note": "x"}`,
	} {
		w.refused(http.StatusBadRequest, again.Task, "settle", body)
	}
	w.refused(http.StatusNotFound, again.Task, "settle", `{"visit": 1, "name": "other", "revision": 1, "done": false, "note": "x"}`)
}

// A worker that died within the call of an effect that is held said nothing: its task is
// stuck all the same, and when it has ended, the effect is still to be settled.
func TestHeldByTheDead(t *testing.T) {
	w := newWorld(t)
	task := w.do(w.submit(), granted(1))
	_, err := w.authority.BeginEffect(w.Context(), task.Ref(), lifecycle.EffectRequest{
		Visit: 1, Name: "pay", Policy: lifecycle.PolicyHold, RequestDigest: "d", Holder: task.Holder, Fence: task.Fence, CallUntil: w.clock.Now().Add(20 * time.Second),
	})
	w.ok(err)
	w.clock.Advance(20*time.Second + lifecycle.ClockMargin)
	task = w.do(task, lifecycle.Report{Verb: lifecycle.VerbWait, Until: w.clock.Now().Add(lifecycle.HoldLook), Reason: "effect pay is held"})
	var sheet struct {
		Stuck   []struct{ Reason string }
		Effects []struct{ Settle bool }
	}
	w.read("tasks/"+string(task.Task), &sheet)
	if len(sheet.Stuck) != 1 || sheet.Stuck[0].Reason != "effect-held" {
		t.Errorf("the sheet has %+v", sheet.Stuck)
	}
	var list struct{ Rows []struct{ Task string } }
	if w.read("tasks?stuck=true", &list); len(list.Rows) != 1 {
		t.Errorf("stuck are %+v", list.Rows)
	}
	w.act(task.Task, "cancel", `{"note": ""}`)
	sheet.Stuck = nil
	w.read("tasks/"+string(task.Task), &sheet)
	if len(sheet.Stuck) != 0 || !sheet.Effects[0].Settle {
		t.Errorf("when it has ended: %+v", sheet)
	}
	w.act(task.Task, "settle", `{"visit": 1, "name": "pay", "revision": 1, "done": true, "result": "1", "note": "the bank has it", "resume": false}`)
	if e, err := w.memory.Effect(t.Context(), task.Ref(), 1, "pay"); err != nil || e.State != lifecycle.EffectDone {
		t.Errorf("the effect is %+v (%v)", e, err)
	}
}

func TestReplay(t *testing.T) {
	w := newWorld(t)
	task := w.do(w.submit(), granted(1))
	w.ok(w.memory.PutEndpoint(t.Context(), task.Ref(), ledger.Endpoint{ID: "hook", URL: "https://example.com/secret-path", Agent: "desk", Principal: "p"}))
	w.act(task.Task, "replay", `{"endpoint": "hook", "since": 1}`)
	w.refused(http.StatusNotFound, task.Task, "replay", `{"endpoint": "other", "since": 1}`)
	w.refused(http.StatusBadRequest, task.Task, "replay", `{"endpoint": "hook", "since": 3}`)
	w.refused(http.StatusBadRequest, task.Task, "replay", `{"endpoint": "hook"}`)
	if len(w.replayed) != 1 || w.replayed[0] != "hook after 1" {
		t.Errorf("replayed %v", w.replayed)
	}
	w.wantActs(task, ledger.Acted{Action: ledger.ActionReplay, Detail: "webhook hook, after entry 1"}, ledger.Acted{Action: ledger.ActionReplay, Detail: "webhook other, after entry 1"},
		ledger.Acted{Action: ledger.ActionReplay, Detail: "webhook other, after entry 1", Refused: "There is no such task, or no such part of it, in this tenant."})
	if a := w.ask(http.MethodGet, "/console/api/tasks/"+string(task.Task), ""); bytes.Contains(a.raw, []byte("secret-path")) {
		t.Error("the address of a webhook is shown (I9)")
	}
}

// unwilling is a ledger that keeps no acts.
type unwilling struct{ ledger.Ledger }

// Act implements ledger.Tasks.
func (unwilling) Act(context.Context, lifecycle.Ref, ledger.Acted) error {
	return errors.Join(errors.New("a secret of ours"), ledger.ErrUnavailable)
}

// TestNothingWithoutRecord: what cannot be recorded is not done.
func TestNothingWithoutRecord(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.config.Authority = &ledger.Authority{Ledger: unwilling{w.memory}, Now: w.clock.Now, NewID: a2a.NewMessageID}
	})
	task, _ := w.held()
	paused := w.do(w.submit(), granted(1), asks("Which?"))
	w.ok(w.memory.PutEndpoint(t.Context(), paused.Ref(), ledger.Endpoint{ID: "hook", URL: "https://example.com/", Agent: "desk", Principal: "p"}))
	before := [][]lifecycle.Entry{w.entries(task), w.entries(paused)}
	for _, c := range [][3]string{
		{string(paused.Task), "cancel", `{"note":""}`}, {string(paused.Task), "answer", `{"pause":1,"text":"x"}`}, {string(task.Task), "resume", `{"note":"","generation":1}`},
		{string(task.Task), "settle", `{"visit":1,"name":"pay","revision":2,"done":false,"note":"x"}`}, {string(paused.Task), "replay", `{"endpoint":"hook","since":0}`}, {string(task.Task), "export", `{}`},
	} {
		a := w.ask(http.MethodPost, "/console/api/tasks/"+c[0]+"/"+c[1], c[2])
		if a.status != http.StatusServiceUnavailable || bytes.Contains(a.raw, []byte("secret of ours")) || !strings.Contains(a.problem(w).Message, "incident") {
			t.Errorf("%s: %d %s", c[1], a.status, a.raw)
		}
	}
	if a, b := w.entries(task), w.entries(paused); len(a) != len(before[0]) || len(b) != len(before[1]) {
		t.Error("something was done that is not on record")
	}
	if e, err := w.memory.Effect(t.Context(), task.Ref(), 1, "pay"); err != nil || e.State != lifecycle.EffectInDoubt || len(w.replayed)+len(w.submitted)+len(w.answered) > 0 {
		t.Errorf("the effect is %s (%v); told %v %v %v", e.State, err, w.replayed, w.submitted, w.answered)
	}
	if !strings.Contains(w.log.String(), "a secret of ours") {
		t.Error("the log does not say what failed")
	}
}

// watcher notes what it is told.
type watcher struct{ told []string }

// RequestFailed implements console.Watch.
func (w *watcher) RequestFailed(_ context.Context, ref lifecycle.Ref, operation, incident string, err error) {
	w.told = append(w.told, fmt.Sprintf("%s %s %s: %v", ref, operation, incident, err))
}

// TestFaultsAreWatched: who watches is told of a fault, of which task it is if that is
// there, and of the incident that the operator has; nobody else logs it.
func TestFaultsAreWatched(t *testing.T) {
	watch := &watcher{}
	w := newWorld(t, func(w *world) {
		w.config.Authority = &ledger.Authority{Ledger: unwilling{w.memory}, Now: w.clock.Now, NewID: a2a.NewMessageID}
		w.config.NewID = func() string { return "incident-1" }
		w.config.Watch = watch
	})
	task := w.submit()
	for _, id := range []string{string(task.Task), "none", strings.Repeat("x", 500)} {
		w.ask(http.MethodPost, "/console/api/tasks/"+id+"/cancel", `{"note":""}`)
	}
	if len(watch.told) != 1 || !strings.HasPrefix(watch.told[0], task.Ref().String()+" console cancel incident-1: ") || !strings.Contains(watch.told[0], "a secret of ours") {
		t.Errorf("told %q", watch.told)
	}
	if strings.Contains(w.log.String(), "a secret of ours") {
		t.Errorf("it was logged as well: %s", w.log.String())
	}
}

// TestUnknownOutcome: the record says that nobody knows, and not that it was refused.
func TestUnknownOutcome(t *testing.T) {
	w := newWorld(t, func(w *world) {
		w.config.Replay = func(context.Context, lifecycle.Ref, string, uint64) error { return ledger.ErrUnavailable }
		w.config.NewID = func() string { return "incident-1" }
	})
	task := w.submit()
	w.refused(http.StatusServiceUnavailable, task.Task, "replay", `{"endpoint": "hook", "since": 0}`)
	acts, err := w.memory.Acts(t.Context(), task.Ref())
	if err != nil || len(acts) != 2 || acts[1].Refused != "Whether it was done is not known. Something failed on our side. Its incident is incident-1." {
		t.Errorf("on record are %+v (%v)", acts, err)
	}
}

// TestActBodies: an action says what it does not understand.
func TestActBodies(t *testing.T) {
	w := newWorld(t)
	task := w.submit()
	path := "/console/api/tasks/" + string(task.Task) + "/cancel"
	for name, c := range map[string]struct {
		kind, body string
		want       int
	}{
		"a form":       {"application/x-www-form-urlencoded", "note=x", http.StatusUnsupportedMediaType},
		"plain text":   {"text/plain", `{"note":"x"}`, http.StatusUnsupportedMediaType},
		"no kind":      {"", `{"note":"x"}`, http.StatusUnsupportedMediaType},
		"a long body":  {"application/json", `{"note":"` + strings.Repeat("x", 200<<10) + `"}`, http.StatusRequestEntityTooLarge},
		"a long note":  {"application/json", `{"note":"` + strings.Repeat("x", 600) + `"}`, http.StatusBadRequest},
		"another kind": {"application/json; charset=utf-8", `{"note":"x"}`, http.StatusOK},
	} {
		a := w.ask(http.MethodPost, path, c.body, with("Content-Type", c.kind))
		if a.status != c.want {
			t.Errorf("%s: %d %s, want %d", name, a.status, a.raw, c.want)
		}
	}
	if got := len(w.acts(task)); got != 1 {
		t.Errorf("%d actions are on record, want 1", got)
	}
	var log []string
	for line := range strings.Lines(w.log.String()) {
		if strings.Contains(line, "an operator acted") {
			log = append(log, line)
		}
	}
	if len(log) != 1 || strings.Contains(log[0], "night") || !strings.Contains(log[0], strings.TrimPrefix(operator, "operator:")) {
		t.Errorf("the log says %q", log)
	}
	var unused json.RawMessage
	w.read("session", &unused)
}
