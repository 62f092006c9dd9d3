// These tests check the checks: facts as they should be pass all of them, and each
// way to be wrong is caught by the one that is meant to. The story itself is
// `go run ./local/demo`; here nothing is started.

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// good are the facts of a performance without fault.
func good() facts {
	f := facts{held: "system-23", versionBefore: "1", versionAfter: "2", tasks: 1, submitted: []string{"t", "t", "t"}, answers: []string{"200"}}
	f.counters.Fetches, f.counters.Revocations = map[string]int{}, map[string]tally{}
	for i := range systemCount {
		name := fmt.Sprintf("system-%d", i+1)
		f.systems = append(f.systems, name)
		f.counters.Fetches[name] = 1
	}
	f.counters.Fetches[f.held] = 2
	type proposal map[string]string
	var proposals []proposal
	for i := range grantCount {
		name := fmt.Sprintf("system-%d", i+1)
		f.counters.Revocations[name+"/jdoe/admin"] = tally{Applied: 1}
		f.effects = append(f.effects, effect{Name: fmt.Sprint("revoke-", i+1), Key: fmt.Sprint("t:9:", i), State: "done", Calls: 1})
		proposals = append(proposals, proposal{"system": name, "account": "jdoe", "role": "admin"})
	}
	f.counters.Revocations["system-10/jdoe/admin"] = tally{Applied: 1, Repeats: 1}
	f.effects[9].Calls = 3
	f.counters.Totals.Revokes, f.counters.Totals.Applied, f.counters.Totals.Repeats = grantCount+2, grantCount, 1
	f.counters.Totals.Faults = faultCount

	text, _ := json.Marshal(map[string]any{"systems": systemCount, "revoked": grantCount, "proposals": proposals})
	f.final = artifactTask(string(text))
	f.ledger(
		`{"type":"submitted","payload":{"state":"TASK_STATE_SUBMITTED","message":{},"submission":{"agentVersion":1}}}`,
		`{"type":"started","fence":1,"holder":"g1","payload":{"state":"TASK_STATE_WORKING"}}`,
		`{"type":"progress","fence":1,"holder":"g1","payload":{"message":{},"checkpoint":{"step":"fetch"}}}`,
		`{"type":"checkpoint","fence":2,"holder":"g2","payload":{"checkpoint":{"step":"ask"}}}`,
		`{"type":"paused","fence":2,"holder":"g2","payload":{"state":"TASK_STATE_INPUT_REQUIRED","message":{}}}`,
		`{"type":"reply","payload":{"state":"TASK_STATE_WORKING","message":{}}}`,
		`{"type":"progress","fence":3,"holder":"g2","payload":{"message":{}}}`,
		`{"type":"chunk","fence":3,"holder":"g2","payload":{}}`,
		`{"type":"ended","fence":3,"holder":"g2","payload":{"state":"TASK_STATE_COMPLETED","message":{}}}`,
	)
	f.killed = page{Entries: slices.Clone(f.entries[:3]), Head: head{Seq: 3, Fence: 1}}
	f.paused = page{Entries: slices.Clone(f.entries[:5]), Head: head{Seq: 5, Fence: 2, State: stateInput}}
	f.woken = page{Head: f.paused.Head}
	snapshot := frame{task: true}
	f.streams = [][]frame{{{id: 2, task: true}, {id: 3}}, {snapshot, {id: 5}}, {snapshot, {id: 6}, {id: 7}, {id: 8}, {id: 9}}}
	f.cursors = []cursor{{fresh: true}, {after: 3}, {after: 5}}
	f.watched = []uint64{1, 2, 3, 5, 6, 7, 8, 9}
	for _, seq := range []uint64{1, 2, 3, 3, 5, 6, 7, 8, 9} {
		f.told = append(f.told, told{seq, fmt.Sprint("msg_", seq), ""})
	}
	f.told[8].state = stateCompleted
	return f
}

func artifactTask(text string) task {
	t := task{Artifacts: []artifact{{ID: "report", Parts: []part{{Text: &text}}}}}
	t.Status.State = stateCompleted
	return t
}

// ledger sets the entries, with sequences and chain, and the head behind them.
func (f *facts) ledger(lines ...string) {
	for i, line := range lines {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			panic(err)
		}
		e.Seq, e.Chain = uint64(i+1), fmt.Sprint("chain-", i+1)
		f.entries = append(f.entries, e)
	}
	f.head = head{Seq: uint64(len(lines)), State: stateCompleted, AgentVersion: 1, Fence: 3}
}

func TestChecksPass(t *testing.T) {
	f := good()
	for _, c := range checks {
		if figure, err := c.run(f); err != nil || figure == "" {
			t.Errorf("%s: %q, %v", c.name, figure, err)
		}
	}
	if err := verify(f, io.Discard); err != nil {
		t.Error(err)
	}
}

// Every check catches something, so that none is there for show.
func TestChecksCatch(t *testing.T) {
	caught := map[string]bool{}
	for _, c := range []struct {
		check, about, want string
		spoil              func(*facts)
	}{
		{"fetches", "a doubled fetch", "system-7 was fetched 2 times", func(f *facts) { f.counters.Fetches["system-7"] = 2 }},
		{"fetches", "a third fetch of the held one", "system-23 was fetched 3 times", func(f *facts) { f.counters.Fetches[f.held] = 3 }},
		{"fetches", "a system left out", "system-40 was fetched 0 times", func(f *facts) { delete(f.counters.Fetches, "system-40") }},
		{"fetches", "a system too many", "41 systems were fetched", func(f *facts) { f.counters.Fetches["other"] = 1 }},
		{"fetches", "another data set", "39 systems instead of 40", func(f *facts) { f.systems = f.systems[:39] }},

		{"revocations", "applied twice", "system-3/jdoe/admin was applied 2 times", func(f *facts) { f.counters.Revocations["system-3/jdoe/admin"] = tally{Applied: 2} }},
		{"revocations", "not applied", "system-3/jdoe/admin was applied 0 times", func(f *facts) { f.counters.Revocations["system-3/jdoe/admin"] = tally{} }},
		{"revocations", "one missing", "13 grants", func(f *facts) { delete(f.counters.Revocations, "system-3/jdoe/admin") }},
		{"revocations", "a conflict", "1 conflicts", func(f *facts) { f.counters.Totals.Conflicts = 1 }},
		{"revocations", "a fault that was not played", "3 faults", func(f *facts) { f.counters.Totals.Faults = 3 }},
		{"revocations", "no second try", "not tried again", func(f *facts) { f.counters.Totals.Repeats = 0 }},

		{"effects", "in doubt", "revoke-5 is in-doubt", func(f *facts) { f.effects[4].State = "in-doubt" }},
		{"effects", "a shared key", "two effects have the key", func(f *facts) { f.effects[4].Key = f.effects[3].Key }},
		{"effects", "one missing", "13 effects", func(f *facts) { f.effects = f.effects[1:] }},
		{"effects", "an unrecorded call", "15 calls are recorded and 16 arrived", func(f *facts) { f.effects[9].Calls = 2 }},

		{"sequences", "a gap", "entry 4 has the sequence 5", func(f *facts) { f.entries = slices.Delete(f.entries, 3, 4) }},
		{"sequences", "a repeated sequence", "entry 4 has the sequence 3", func(f *facts) { f.entries[3].Seq = 3 }},
		{"sequences", "two ends", `entry 8 of 9 is "ended"`, func(f *facts) { f.entries[7].Type = "ended" }},
		{"sequences", "no end", `entry 9 of 9 is "progress"`, func(f *facts) { f.entries[8].Type = "progress" }},
		{"sequences", "nothing", "after 0 entries", func(f *facts) { f.entries = nil }},
		{"sequences", "a head elsewhere", "at 10 after 9 entries", func(f *facts) { f.head.Seq = 10 }},

		{"survival", "a rewritten entry", "entry 2 is not what it was", func(f *facts) { f.entries[1].Chain = "other" }},
		{"survival", "a lost tail", "5 entries before a kill, 4 in the end", func(f *facts) { f.entries = f.entries[:4] }},
		{"survival", "work during a pause", "working at 6", func(f *facts) { f.woken.Head = head{Seq: 6, State: "working"} }},

		{"fences", "a fence that falls", "entry 5 has fence 1 after fence 2", func(f *facts) { f.entries[4].Fence = 1 }},
		{"fences", "two holders", "fence 2 has two holders", func(f *facts) { f.entries[4].Holder = "other" }},
		{"fences", "the same fence over the first kill", "1 in the next commit", func(f *facts) { f.entries[3].Fence, f.entries[3].Holder = 1, "g1" }},
		{"fences", "the same fence over the second kill", "2 in the next commit", func(f *facts) {
			for i := range f.entries[6:] {
				f.entries[6+i].Fence = 2
			}
		}},

		{"streams", "an id twice on one connection", "connection 3: id 7 came after 7", func(f *facts) { f.streams[2][1].id, f.streams[2][2].id = 7, 7 }},
		{"streams", "an id again after a reconnect", "id 3 came after 3", func(f *facts) { f.streams[1][1].id = 3 }},
		{"streams", "an id behind a later one", "id 7 came after 8", func(f *facts) { f.streams[2][2].id, f.streams[2][3].id = 8, 7 }},
		{"streams", "a lost update", "the entries [7] and they were not streamed, [] were", func(f *facts) { f.streams[2] = slices.Delete(f.streams[2], 2, 3) }},
		{"streams", "an update of a checkpoint", "the entries [] and they were not streamed, [4] were", func(f *facts) { f.streams[1] = slices.Insert(f.streams[1], 1, frame{id: 4}) }},
		{"streams", "an id on a resumed snapshot", "its snapshot has the id 5", func(f *facts) { f.streams[1][0].id = 5 }},
		{"streams", "no id on a fresh snapshot", "its snapshot has the id 0", func(f *facts) { f.streams[0][0].id = 0 }},
		{"streams", "no snapshot", "did not begin with the task", func(f *facts) { f.streams[1] = f.streams[1][1:] }},
		{"streams", "an update without an id", "an update came without an id", func(f *facts) { f.streams[2][1].id = 0 }},
		{"streams", "no stream", "no stream was opened", func(f *facts) { f.streams = nil }},

		{"watch", "a repeated update", "id 3 came after 3", func(f *facts) { f.watched[3] = 3 }},
		{"watch", "a lost end", "the task ended at 9", func(f *facts) { f.watched = f.watched[:7] }},
		{"watch", "an exit code", "exit status 3", func(f *facts) { f.watchErr = errors.New("exit status 3") }},

		{"webhook", "none", "nothing was told", func(f *facts) { f.told = nil }},
		{"webhook", "a lost update", "the entries [6] and they were not told", func(f *facts) { f.told = slices.Delete(f.told, 5, 6) }},
		{"webhook", "a lost end", "the entries [9] and they were not told", func(f *facts) { f.told = f.told[:8] }},
		{"webhook", "an update of a checkpoint", "[4] were told", func(f *facts) { f.told = slices.Insert(f.told, 4, told{4, "msg_4", ""}) }},
		{"webhook", "another order", "id 7 came after 8", func(f *facts) { f.told[6], f.told[7] = f.told[7], f.told[6] }},
		{"webhook", "again under another id", "id 3 came after 3", func(f *facts) { f.told[3].id = "msg_other" }},
		{"webhook", "another update under the same id", "5 came under msg_3, as 3 had", func(f *facts) { f.told[4].id = "msg_3" }},
		{"webhook", "again after a later one", "2 came under msg_2", func(f *facts) { f.told[3] = f.told[1] }},
		{"webhook", "another end", "the task is TASK_STATE_COMPLETED at 9", func(f *facts) { f.told[8].state = stateInput }},

		{"version", "moved to the new version", "ended on 2", func(f *facts) { f.head.AgentVersion = 2 }},
		{"version", "began on another", "began on version 2", func(f *facts) { f.entries[0].Payload.Submission.AgentVersion = 2 }},
		{"version", "no submission", "holds no submission", func(f *facts) { f.entries[0].Payload.Submission = nil }},
		{"version", "no redeploy", "1 after it", func(f *facts) { f.versionAfter = "1" }},
		{"version", "a step of the new version", "[collect ask]", func(f *facts) { f.entries[2].Payload.Checkpoint.Step = "collect" }},

		{"submission", "another task", "gave [t t u]", func(f *facts) { f.submitted[2] = "u" }},
		{"submission", "a second task", "has 2 tasks", func(f *facts) { f.tasks = 2 }},
		{"submission", "sent only once", "1 submissions", func(f *facts) { f.submitted = f.submitted[:1] }},

		{"answers", "two replies", "2 replies", func(f *facts) { f.entries[6].Type = "reply" }},
		{"answers", "none", "0 replies", func(f *facts) { f.entries[5].Type = "progress" }},

		{"report", "not completed", "TASK_STATE_FAILED", func(f *facts) { f.final.Status.State = "TASK_STATE_FAILED" }},
		{"report", "none", "0 artifacts", func(f *facts) { f.final.Artifacts = nil }},
		{"report", "no JSON", "the report's JSON", func(f *facts) { f.final = artifactTask("# Report") }},
		{"report", "no text", "begin with text", func(f *facts) { f.final.Artifacts[0].Parts[0].Text = nil }},
		{"report", "too few", "0 revocations", func(f *facts) { f.final = artifactTask(`{"systems":40}`) }},
		{"report", "another grant", "the revocation of system-14/jdoe/admin", func(f *facts) {
			f.counters.Revocations["system-14/jdoe/viewer"] = f.counters.Revocations["system-14/jdoe/admin"]
			delete(f.counters.Revocations, "system-14/jdoe/admin")
		}},
	} {
		t.Run(c.check+"/"+c.about, func(t *testing.T) {
			f := good()
			c.spoil(&f)
			caught[c.check] = true
			i := slices.IndexFunc(checks, func(one check) bool { return one.name == c.check })
			if _, err := checks[i].run(f); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q in it", err, c.want)
			}
			if err := verify(f, io.Discard); err == nil || strings.Contains(driver.OneLine(err), "\n") || !strings.Contains(driver.OneLine(err), c.want) {
				t.Errorf("the verdict is %v", err)
			}
		})
	}
	for _, c := range checks {
		if !caught[c.name] {
			t.Errorf("nothing shows that %q catches anything", c.name)
		}
	}
}

func TestDigestCoversAllParts(t *testing.T) {
	text, other := "a", "b"
	whole := artifact{Parts: []part{{Text: &text}, {Text: &other}, {Raw: []byte("c")}, {Data: json.RawMessage(`1`)}, {URL: "u"}}}
	sum, size := digest(whole)
	if size != 5 {
		t.Errorf("size %d", size)
	}
	for i := range whole.Parts {
		less := artifact{Parts: slices.Delete(slices.Clone(whole.Parts), i, i+1)}
		if got, _ := digest(less); got == sum {
			t.Errorf("part %d does not count", i)
		}
	}
}
