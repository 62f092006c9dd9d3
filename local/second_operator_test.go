package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// reconstruct is what a second operator has beside a task's export: a program that
// shares nothing with this one.
const reconstruct = "../events/export/reconstruct.py"

// told is what it says of a task. From the ledger the same is written down by ledgerOf.
type told struct {
	Task, State string
	Sequence    uint64
	Chain       string
	Holder      string
	Fence       uint64
	LastHolder  string // of the entries
	LastFence   uint64
	Transitions []transition
	Rejections  []refusal
	Incidents   int
	Missing     []string
	Terminal    *ending
	Problems    []string
}

type transition struct {
	Seq      uint64
	From, To string
}

type refusal struct {
	Reason, Producer, Event string
	Fence                   uint64
}

type ending struct {
	State    string
	Sequence uint64
	Digest   string
	Manifest string
}

// stranger is a producer that does whatever comes to it, one thing after the other.
type stranger struct {
	*process
	dice   *rand.Rand
	task   string
	events int
	fence  map[string]uint64 // by producer
	seq    map[string]int
	last   map[string]string // the event that a producer sent last
	opened map[string]bool   // artifacts that were begun, and not sealed
	chunk  int
}

// event sends one; whatever is answered is right, but for a failure of the server.
func (s *stranger) event(producer, id string, seq int, fence uint64, payload map[string]any) {
	s.t.Helper()
	content := s.canonical(payload)
	event := map[string]any{"eventId": id, "producer": producer, "payload": json.RawMessage(content), "payloadDigest": fmt.Sprintf("%x", sha256.Sum256(content)), "observedAt": "2026-03-02T09:00:00.25Z"}
	if seq > 0 {
		event["sourceSequence"] = seq
	}
	if fence > 0 {
		event["fence"] = fence
	}
	body := s.canonical(event)
	status, answer := s.call(http.MethodPost, "/capitals/tasks/"+s.task+"/events", string(body))
	if status != http.StatusOK && (status < 400 || status >= 500) {
		s.t.Fatalf("%s: status %d, %s", body, status, answer)
	}
	s.last[producer] = id
	if status != http.StatusOK {
		return
	}
	s.seq[producer] = max(s.seq[producer], seq)
	var got struct{ Fence uint64 }
	if json.Unmarshal([]byte(answer), &got) == nil && got.Fence > 0 {
		s.fence[producer] = got.Fence
	}
}

// canonical is how a producer writes JSON (RFC 8785): a map's members are sorted, and no
// character is escaped that need not be.
func (s *stranger) canonical(v any) []byte {
	s.t.Helper()
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		s.t.Fatal(err)
	}
	return bytes.ReplaceAll(bytes.TrimSuffix(out.Bytes(), []byte("\n")), []byte(`\u2028`), []byte("\u2028"))
}

func (s *stranger) name() string {
	s.events++
	return fmt.Sprint("e-", s.events)
}

// report is the producer's next.
func (s *stranger) report(producer string, payload map[string]any) {
	s.t.Helper()
	s.event(producer, s.name(), s.seq[producer]+1, s.fence[producer], payload)
}

func (s *stranger) claim(producer string) {
	s.t.Helper()
	s.event(producer, s.name(), 0, 0, map[string]any{"kind": "claim", "leaseSeconds": 300})
}

// content is a chunk; now and then it opens the next revision, names a coordinate that
// is taken, or is the last.
func (s *stranger) content() map[string]any {
	s.chunk++
	text := fmt.Sprintf("line %d, blåbær & <more>\u2028\n", s.chunk)
	artifact := s.pick("draft", "notes/Ω")
	c := map[string]any{"artifactId": artifact, "append": s.opened[artifact], "part": map[string]any{"text": text}, "checksum": fmt.Sprintf("%x", sha256.Sum256([]byte(text)))}
	switch s.dice.IntN(5) {
	case 0:
		c["append"] = false
	case 1:
		delete(c, "append")
		c["revision"], c["number"] = 1, 1
	case 2:
		c["lastChunk"] = true
	}
	s.opened[artifact] = c["lastChunk"] == nil
	return c
}

func (s *stranger) pick(from ...string) string { return from[s.dice.IntN(len(from))] }

// act does one thing.
func (s *stranger) act() {
	s.t.Helper()
	w := s.pick("w1", "w1", "w1", "w2")
	switch s.dice.IntN(12) {
	case 0:
		s.claim(w)
	case 1, 2:
		s.report(w, map[string]any{"kind": "status", "text": "under <way> & fine"})
	case 3, 4, 5:
		s.report(w, map[string]any{"kind": "chunk", "chunks": []any{s.content()}})
	case 6: // the same again, and other bytes under its name
		s.event(w, s.last[w], s.seq[w], s.fence[w], map[string]any{"kind": "status", "text": fmt.Sprint("other bytes ", s.dice.IntN(9))})
	case 7: // what stands already, under a new name
		s.event(w, s.name(), max(s.seq[w], 1), s.fence[w], map[string]any{"kind": "status", "text": "late"})
	case 8: // under a fence of somebody before
		s.event(w, s.name(), s.seq[w]+1, max(s.fence[w], 2)-1, map[string]any{"kind": "status", "text": "still here"})
	case 9: // nobody has asked for it
		s.report(w, map[string]any{"kind": "cancel"})
	case 10:
		s.report(w, map[string]any{"kind": "pause", "text": "Which one?"})
		s.call(http.MethodPost, "/capitals/message:send", fmt.Sprintf(`{"message":{"messageId":%q,"taskId":%q,"role":"ROLE_USER","parts":[{"text":"that"}]},"configuration":{"returnImmediately":true}}`, a2a.NewMessageID(), s.task))
	case 11:
		s.event(w, s.name(), 0, s.fence[w], map[string]any{"kind": s.pick("renew", "renew", "release")})
	}
}

// ends brings a task to one of the places where a second operator finds tasks.
func (s *stranger) ends(n int) {
	s.t.Helper()
	s.claim("w1")
	switch n % 5 {
	case 0:
		s.report("w1", map[string]any{"kind": "complete", "text": "Done."})
	case 1:
		s.report("w1", map[string]any{"kind": s.pick("fail", "reject"), "reason": "it is broken"})
	case 2:
		s.call(http.MethodPost, "/capitals/tasks/"+s.task+":cancel", "")
		s.report("w1", map[string]any{"kind": "status", "text": "after the end"})
	case 3:
		s.report("w1", map[string]any{"kind": "pause", "text": "What now?"})
	} // else it is held
	s.report("w2", map[string]any{"kind": "status", "text": "not mine"})
}

// randomTasks runs so many tasks, and returns them with the agents of those that are
// worked on outside. One in five is of an agent with steps.
func randomTasks(p *process, seed uint64, n int) (tasks []string, agents map[string]string) {
	p.t.Helper()
	agents = map[string]string{}
	for i := range n {
		dice := rand.New(rand.NewPCG(seed, uint64(i)))
		path, text := "/capitals/message:send", "work"
		if i%5 == 4 && i > 4 {
			path, text = "/message:send", fmt.Sprint("count ", 1+dice.IntN(6))
		}
		body := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":%q}]},"configuration":{"returnImmediately":%t}}`, a2a.NewMessageID(), text, text == "work")
		status, answer := p.call(http.MethodPost, path, body)
		var got struct{ Task struct{ ID string } }
		if err := json.Unmarshal([]byte(answer), &got); err != nil || status != http.StatusOK || got.Task.ID == "" {
			p.t.Fatalf("status %d, %s (%v)", status, answer, err)
		}
		tasks = append(tasks, got.Task.ID)
		if text != "work" {
			continue
		}
		agents[got.Task.ID] = "capitals"
		s := &stranger{process: p, dice: dice, task: got.Task.ID, fence: map[string]uint64{}, seq: map[string]int{}, opened: map[string]bool{}, last: map[string]string{"w1": "e-0", "w2": "e-0"}}
		s.claim("w1")
		for range 10 + dice.IntN(15) {
			s.act()
		}
		s.ends(i)
	}
	return tasks, agents
}

// ledgerOf is what the ledger has of a task, and what somebody who has seen the first
// entries lacks: the chunks in all others. have are the last chunks in those first ones.
func ledgerOf(t *testing.T, folder *sqlite.ReadOnly, task string, dice *rand.Rand) (want told, have []string) {
	t.Helper()
	ref := lifecycle.Ref{Tenant: node.Tenant, Task: a2a.TaskID(task)}
	h, err1 := folder.Head(t.Context(), ref)
	entries, err2 := folder.Entries(t.Context(), ref, 0, 1000)
	refused, err3 := folder.Rejections(t.Context(), ref)
	counts, err4 := folder.Counts(t.Context(), ref)
	if err1 != nil || err2 != nil || err3 != nil || err4 != nil {
		t.Fatal(err1, err2, err3, err4)
	}
	name := func(s a2a.TaskState) string { return strings.TrimPrefix(string(s), "TASK_STATE_") }
	want = told{
		Task: task, State: name(h.State), Sequence: h.Seq, Chain: string(h.Chain), Holder: h.Holder, Fence: h.Fence, Incidents: counts.Incidents,
		Transitions: []transition{}, Rejections: []refusal{}, Missing: []string{}, Problems: []string{},
	}
	for _, r := range refused {
		want.Rejections = append(want.Rejections, refusal{Reason: string(r.Reason), Producer: r.Producer, Event: r.EventID, Fence: r.Fence})
	}
	seen, last, state := dice.IntN(len(entries)+1), map[a2a.ArtifactID]string{}, ""
	for i, e := range entries {
		var said struct {
			State a2a.TaskState
			Chunk *struct {
				Artifact         a2a.ArtifactID
				Revision, Number int
			}
			Ending *struct{ ManifestDigest string }
		}
		if err := json.Unmarshal(e.Payload, &said); err != nil {
			t.Fatal(err)
		}
		if to := name(said.State); to != "" && to != state {
			want.Transitions = append(want.Transitions, transition{e.Seq, state, to})
			state = to
		}
		if c := said.Chunk; c != nil {
			coordinate := fmt.Sprintf("%s/%d/%d", c.Artifact, c.Revision, c.Number)
			if i < seen {
				last[c.Artifact] = coordinate
			} else {
				want.Missing = append(want.Missing, coordinate)
			}
		}
		if said.Ending != nil {
			want.Terminal = &ending{State: name(h.State), Sequence: h.Seq, Digest: string(h.Chain), Manifest: said.Ending.ManifestDigest}
		}
		if e.Fence > 0 {
			want.LastHolder, want.LastFence = e.Holder, e.Fence
		}
	}
	for _, coordinate := range last {
		have = append(have, "--have", coordinate)
	}
	slices.Sort(want.Missing)
	return want, have
}

// asked is what the second operator's program says of an export, with an exit code.
func asked(t *testing.T, python string, code int, args ...string) told {
	t.Helper()
	c := exec.CommandContext(t.Context(), python, append([]string{reconstruct}, args...)...)
	c.Dir, c.Env = ".", []string{"PATH=/nowhere"} // no server's address, no key
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	var got told
	if json.Unmarshal(out, &got) != nil || c.ProcessState.ExitCode() != code {
		t.Fatalf("%v: %v, %s%s", args, err, out, &errs)
	}
	slices.Sort(got.Missing)
	return got
}

// secondOperator gives false where there is no Python. What is called python3 may be a
// script that looks for one: the second operator has no environment to look in.
func secondOperator(t *testing.T) (python string, there bool) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		t.Logf("python3 is not installed: there is no second operator (%v)", err)
	}
	return strings.TrimSpace(string(out)), err == nil
}

// With the log of connections gone and the server ended, whoever has nothing but the
// exports finds what the ledger has: of twenty tasks, who holds each, what was accepted
// and what refused, which chunks are missing, and the digest of its end.
func TestSecondOperator(t *testing.T) {
	python, there := secondOperator(t)
	if !there {
		return
	}
	const tasks = 20
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	data, exports := t.TempDir(), t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// Nothing moves by itself between an export and the end.
	p := launch(ctx, t, "serve", "--addr", "127.0.0.1:0", "--data", data, "--outside", "capitals", "--sweep", "1h", "--grace", "1h")
	all, agents := randomTasks(p, seed, tasks)
	for _, task := range all {
		out, logs, err := played(t, "export", "--server", p.url, "--agent", agents[task], task)
		if err != nil {
			t.Fatalf("%v, %s", err, logs)
		}
		if err := os.WriteFile(filepath.Join(exports, task), []byte(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(data, "connections.ndjson")); err != nil {
		t.Fatal(err)
	}
	folder, err := sqlite.OpenReadOnly(data)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	var sum struct{ held, ended, paused, refused, incidents, missing, moves int }
	for i, task := range all {
		want, have := ledgerOf(t, folder, task, rand.New(rand.NewPCG(seed, uint64(tasks+i))))
		got := asked(t, python, 0, append(have, filepath.Join(exports, task))...)
		if !reflect.DeepEqual(want, got) {
			t.Errorf("task %s, %v:\n%+v\nthe ledger has\n%+v", task, have, got, want)
		}
		if want.Holder != "" {
			sum.held++
		}
		if want.Terminal != nil {
			sum.ended++
		}
		if want.State == "INPUT_REQUIRED" {
			sum.paused++
		}
		sum.refused += len(want.Rejections)
		sum.incidents += want.Incidents
		sum.missing += len(want.Missing)
		sum.moves += len(want.Transitions)
	}
	t.Logf("%d tasks: %+v", tasks, sum)
	if sum.held == 0 || sum.ended == 0 || sum.paused == 0 || sum.refused == 0 || sum.incidents == 0 || sum.missing == 0 || sum.moves < 2*tasks {
		t.Errorf("%+v: the tasks have not come to what was to be told", sum)
	}
}

// A changed export is not believed. What cannot be told from a file alone is what
// nobody can tell: local verify says so too.
func TestSecondOperatorIsNotDeceived(t *testing.T) {
	python, there := secondOperator(t)
	if !there {
		return
	}
	if got := asked(t, python, 0, recorded); got.Task != "T-42" || got.Fence != 3 || got.LastHolder != "execution-g1" || len(got.Rejections) != 5 || got.Terminal == nil {
		t.Errorf("%+v", got)
	}
	asked(t, python, 0, "../events/export/contents.ndjson") // every sort of part
	for name, c := range map[string]struct{ from, to, want string }{
		"a payload":      {"part-1", "part-9", "entry 7: the payload is not what its digest says"},
		"a holder":       {`"holder":"execution-g1","fence":3,"opId"`, `"holder":"execution-g2","fence":3,"opId"`, "entry 11 does not follow"},
		"an instant":     {`"acceptedAt":"2026-03-02T09:00:01Z","holder"`, `"acceptedAt":"2026-03-02T09:00:02Z","holder"`, "entry 2 does not follow"},
		"a rejection":    {`"reason":"fence-lost"`, `"reason":"post-terminal"`, "the trailer's digest"},
		"the end":        {`"manifestDigest":"`, `"manifestDigest":"0`, "the manifest's digest is"},
		"the head":       {`"state":"TASK_STATE_COMPLETED","statusAt"`, `"state":"TASK_STATE_FAILED","statusAt"`, "the head is not what the entries come to"},
		"a trailer":      {`{"kind":"trailer"`, `{"kind":"header"`, "it has no trailer"},
		"no line at all": {`{"kind":"effect"`, `"effect"`, "is not one of an export"},
	} {
		got := asked(t, python, 1, changed(t, c.from, c.to))
		if !strings.Contains(strings.Join(got.Problems, "\n"), c.want) {
			t.Errorf("%s: %q, want %q", name, got.Problems, c.want)
		}
	}
}
