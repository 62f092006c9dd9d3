package lifecycle_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// command reads a verb of the script:
//
//	submit [life=1h]
//	grant HOLDER [generation=2] [lease=30s]
//	renew HOLDER [fence=1]            release HOLDER [fence=1]
//	report HOLDER VERB [say="…"] [progress="…"] [chunk=ID:TEXT[:append][:last]] [next=STEP] [in=10m] [reason="…"] [keep] [fence=1]
//	report HOLDER pause … [for=auth] [action=A] [timeout=1h] [outcome=canceled] [named]
//	reply "…" [pause=1]               authorize challenge=1 [jti=A4]
//	cancel    expire    restart [gone]    leave    abandon "…"
//
// A report with seq=N is that of an outside producer: its place after what the same holder has reported.
//
// Everything may carry event=E1, the producer's own name for what it reports.
func (s *story) command(w words) (lifecycle.Command, lifecycle.Source) {
	holder := w.at(1)
	src := lifecycle.Source{Producer: "client", EventID: w.get("event", "")}
	fence := s.fences[holder]
	if f := w.get("fence", ""); f != "" {
		fence = s.number(f)
	}
	switch w.at(0) {
	case "submit":
		c := submit()
		c.Policy.Life = s.duration(w.get("life", "2160h"))
		return c, src
	case "grant":
		return lifecycle.Grant{Holder: holder, Generation: s.number(w.get("generation", strconv.FormatUint(s.task.Generation, 10))), Lease: s.duration(w.get("lease", "30s")), Grace: grace}, src
	case "renew":
		return lifecycle.Renew{Holder: holder, Fence: fence, Lease: lease, Grace: s.duration(w.get("grace", "0s"))}, src
	case "release":
		return lifecycle.Release{Holder: holder, Fence: fence, Grace: grace}, src
	case "report":
		src.Producer, src.Holder, src.Fence = "runner", holder, fence
		return s.reported(w, holder, fence), src
	case "reply":
		c := lifecycle.Reply{Message: user("m-"+strconv.Itoa(len(s.entries)+1), w.at(1)), Grace: grace}
		if p := w.get("pause", ""); p != "" {
			n := int(s.number(p))
			c.Pause = &n
		}
		return c, src
	case "authorize":
		return lifecycle.Authorize{Grace: grace, Receipt: lifecycle.ReceiptRef{
			Challenge: int(s.number(w.get("challenge", "1"))), Issuer: "idp.example", KeyID: "k1", JTI: w.get("jti", "A4"), Digest: lifecycle.DigestBytes([]byte("receipt")),
		}}, src
	case "cancel":
		return lifecycle.RequestCancel{Principal: "p-hash"}, src
	case "expire":
		return lifecycle.Expire{}, src
	case "restart":
		return lifecycle.Restart{HolderGone: w.flag("gone"), EndWait: w.flag("now"), Grace: grace}, src
	case "leave":
		return lifecycle.Leave{}, src
	case "abandon":
		return lifecycle.Abandon{Reason: w.at(1)}, src
	}
	s.t.Fatalf("unknown verb %q", w.at(0))
	return nil, src
}

func (s *story) reported(w words, holder string, fence uint64) lifecycle.Report {
	c := lifecycle.Report{
		Holder: holder, Fence: fence, Verb: lifecycle.Verb(w.at(2)), Next: w.get("next", ""), State: json.RawMessage(`{"n":1}`),
		Reason: w.get("reason", ""), Keep: w.flag("keep"), Grace: grace,
	}
	if text := w.get("say", ""); text != "" {
		c.Message = say(text)
	}
	for _, text := range w.named["progress"] {
		c.Updates = append(c.Updates, lifecycle.Update{Message: say(text)})
	}
	for _, spec := range w.named["chunk"] {
		f := strings.Split(spec, ":")
		options := " " + strings.Join(f[2:], " ") + " "
		c.Updates = append(c.Updates, lifecycle.Update{
			Chunk: chunk(a2a.ArtifactID(f[0]), f[1], strings.Contains(options, " last ")), Append: strings.Contains(options, " append "),
		})
	}
	if seq := w.get("seq", ""); seq != "" {
		c.Place = &lifecycle.Place{Seq: s.number(seq), Last: s.places[holder]}
	}
	if w.flag("stateless") {
		c.State = nil
	}
	if in := w.get("in", ""); in != "" {
		c.Until = s.now.Add(s.duration(in))
	}
	if c.Verb != lifecycle.VerbPause {
		return c
	}
	c.Pause = &lifecycle.PauseTerms{State: lifecycle.InputRequired, Timeout: s.duration(w.get("timeout", "1h")), Named: w.flag("named")}
	if w.get("outcome", "") == "canceled" {
		c.Pause.Outcome = lifecycle.Canceled
	}
	if w.get("for", "") == "auth" {
		c.Pause.State = lifecycle.AuthRequired
		c.Pause.Challenge = &lifecycle.Challenge{Action: w.get("action", "revoke"), Audience: "owners"}
	}
	return c
}

// effect reads
//
//	effect begin HOLDER NAME [policy=retry] [request=R] [for=10s] [dead-before=now] [visit=1]
//	effect settle NAME done|failed|in-doubt [result=R] [begun=REVISION] [evidence="…"]
func (s *story) effect(w words) string {
	if w.at(1) == "settle" {
		return s.settle(w)
	}
	holder, named := w.at(2), w.at(3)
	visit := s.number(w.get("visit", strconv.FormatUint(s.task.Visit, 10)))
	key := lifecycle.EffectKey(s.task.Task, visit, named)
	req := lifecycle.EffectRequest{
		Visit: visit, Name: named, Policy: lifecycle.EffectPolicy(w.get("policy", "retry")), RequestDigest: lifecycle.DigestBytes([]byte(w.get("request", "R"))),
		Holder: holder, Fence: s.fences[holder], CallUntil: s.now.Add(s.duration(w.get("for", "10s"))),
	}
	if w.get("dead-before", "") == "now" {
		req.DeadBefore = s.now
	}
	d, err := lifecycle.DecideEffect(s.task.Task, s.effects[key], req, s.now)
	if err != nil {
		return "refused " + err.Error() + "\n"
	}
	switch d.Act {
	case lifecycle.ActCall:
		e := d.Next
		s.effects[key] = &e
		return fmt.Sprintf("call with key %s until %s\n%s\n", d.Next.Key, s.instant(d.Next.CallUntil), s.record(d.Next))
	case lifecycle.ActWait:
		return fmt.Sprintf("wait until %s\n", s.instant(d.WaitUntil))
	case lifecycle.ActReturn:
		return fmt.Sprintf("return %s\n", d.Next.Result)
	}
	return fmt.Sprintf("%s\n%s\n", d.Act, s.record(d.Next))
}

func (s *story) settle(w words) string {
	key := lifecycle.EffectKey(s.task.Task, s.number(w.get("visit", strconv.FormatUint(s.task.Visit, 10))), w.at(2))
	prev := s.effects[key]
	if prev == nil {
		s.t.Fatalf("effect %s was never begun", key)
	}
	var result json.RawMessage
	if r := w.get("result", ""); r != "" {
		result = json.RawMessage(strconv.Quote(r))
	}
	begun := s.number(w.get("begun", strconv.FormatUint(prev.Revision, 10)))
	next, err := lifecycle.SettleCall(*prev, begun, lifecycle.EffectState(w.at(3)), result, w.get("evidence", "own call"), s.now)
	if err != nil {
		return "refused " + err.Error() + "\n"
	}
	unchanged := ""
	if next.Revision == prev.Revision {
		unchanged = " (unchanged)"
	}
	s.effects[key] = &next
	return s.record(next) + unchanged + "\n"
}

func (s *story) record(e lifecycle.Effect) string {
	out := fmt.Sprintf("= %s calls=%d revision=%d policy=%s by %s under fence %d", e.State, e.Calls, e.Revision, e.Policy, e.Holder, e.Fence)
	if e.Result != nil {
		out += " result=" + string(e.Result)
	}
	if e.Evidence != "" {
		out += fmt.Sprintf(" (%s)", e.Evidence)
	}
	return out
}
