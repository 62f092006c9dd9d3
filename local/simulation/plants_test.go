package simulation_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var (
	plantsToo = flag.Bool("plants", false, "plant bugs, one at a time, and count the seeds until each is found (TestPlants)")
	onlyPlant = flag.String("plant", "", "plant this one alone")
	most      = flag.Int("most", 10_000, "in how many seeds a planted bug must be found")
	until     = flag.Bool("until", false, "stop at the first seed that fails")
)

// change replaces a text that a file has once.
type change struct{ file, old, planted string }

// plants are bugs of the kinds that this product exists to be without. Each is built
// into a program of its own; nothing of it is in the product.
var plants = []struct {
	name    string
	changes []change
}{
	{"a fence is not checked", []change{{
		"shared/ledger/check.go", "seen.Seq == current.Seq && seen.Fence == current.Fence &&", "seen.Seq == current.Seq &&",
	}}},
	{"an effect is recorded before its call", []change{{
		"shared/agent/effect.go", "	result, callErr := call(callCtx, ticket.Key)\n",
		"	early, _ := json.Marshal(\"done 1\")\n	if err := s.EndEffect(ctx, EffectEnd{Ticket: ticket, Kind: EndDone, Result: early, Evidence: \"own call\"}); err != nil {\n		return zero, err\n	}\n	result, callErr := call(callCtx, ticket.Key)\n",
	}}},
	{"a cursor moves before its update is posted", []change{{
		"shared/webhook/sender.go", "		if u.Body != nil {\n			if going,", "		w.e.Delivery.Cursor = u.Seq\n		if u.Body != nil {\n			if going,",
	}}},
	{"a submission key is not looked up", []change{{
		"shared/api/send.go", "}, c.source(message.ID), key, endpoints...)", "}, c.source(message.ID), nil, endpoints...)",
	}}},
	{"an answer is taken after its deadline", []change{{
		"shared/lifecycle/decide.go", "func decideReply(t Task, c Reply, now time.Time) (Decision, error) {\n	if d, err := overdue(t, now); err != nil {\n		return d, err\n	}\n",
		"func decideReply(t Task, c Reply, now time.Time) (Decision, error) {\n",
	}}},
	{"an ended task is ended again", []change{{
		"shared/lifecycle/decide.go", "	if t.Terminal() {\n", "	if _, asks := cmd.(RequestCancel); t.Terminal() && !asks {\n",
	}, {
		"shared/lifecycle/state.go", "	if from.Terminal() {\n", "	if from.Terminal() && to == Canceled {\n		return nil\n	}\n	if from.Terminal() {\n",
	}, {
		"shared/lifecycle/shape.go", "	if t.Terminal() {\n", "	if t.Terminal() && ev.State != Canceled && ev.Cancel == nil {\n",
	}, {
		"shared/lifecycle/shape.go", "TypeCancelRequested: {from: []a2a.TaskState{Submitted, Working, InputRequired, AuthRequired}, carries", "TypeCancelRequested: {carries",
	}}},
	{"a list does not look at the tenant", []change{{
		"local/sqlite/list.go", "	var c conditions\n	c.and(\"tenant = ?\", q.Tenant)\n", "	var c conditions\n",
	}, {
		"shared/api/list.go", "	f := c.follow(h.Task)\n", "	f := c.follow(h.Task)\n	f.ref = h.Ref()\n",
	}}},
	{"a resumed stream skips an entry", []change{{
		"shared/api/cursor.go", "	return u.seq > p.seq\n", "	return u.seq > p.seq+1\n",
	}}},
	{"a lease is granted under the old fence", []change{{
		"shared/lifecycle/lease.go", "after.Holder, after.Fence = c.Holder, t.Fence+1", "after.Holder, after.Fence = c.Holder, max(t.Fence, 1)",
	}}},
	{"a purge takes a sibling", []change{{
		"local/sqlite/purge.go", "key, of := strings.Join(b.key, \", \"), \"task = ?\"", "key, of := strings.Join(b.key, \", \"), \"task >= ?\"",
	}}},
	{"a task is forgotten when it has ended", []change{{
		"shared/lifecycle/head.go", "	return h.Terminal() && !h.ExpiresAt.IsZero() && !now.Before(h.ExpiresAt)\n", "	return h.Terminal() && !h.ExpiresAt.IsZero()\n",
	}}},
	{"an answer's mark is not written", []change{{
		"shared/ledger/authority.go", "Entries: entries, Answered: d.Answered}", "Entries: entries}",
	}}},
	{"a cancellation that waits is not met", []change{{
		"shared/ledger/check.go", "seen.Holder == current.Holder && (seen.Cancel == nil) == (current.Cancel == nil)", "seen.Holder == current.Holder",
	}}},
	{"a call that may be under way is made again", []change{{
		"shared/lifecycle/effect.go", "	if !gone {\n", "	if !gone && prev.Fence == req.Fence {\n",
	}, {
		"shared/lifecycle/effect.go", "	case PolicyReconcile:\n		return EffectDecision{Act: ActReconcile", "	case PolicyReconcile:\n		if !gone {\n			return EffectDecision{Act: ActCall, Next: next}, nil\n		}\n		return EffectDecision{Act: ActReconcile",
	}}},
	{"a producer's count is not compared", []change{{
		"shared/ledger/ledgertest/memory.go", "r.producers[p.Producer].Seq+1 != p.Seq", "false",
	}, {
		"shared/lifecycle/producer.go", "	case p.Seq <= p.Last:\n", "	case false:\n",
	}}},
	{"an operator's action is not recorded", []change{{
		"shared/ledger/acted.go", "	if err := a.Ledger.Act(ctx, ref, record); err != nil {\n		return err, nil\n	}\n", "",
	}}},
	{"a survey forgets what stands", []change{{
		"shared/health/due.go", "!is && s.all", "(is || s.all) && s.all",
	}}},
	{"a step that was paused keeps its lease", []change{{
		"shared/lifecycle/report.go", "	after.free()\n	after.DueAt = earlier(p.DeadlineAt", "	after.DueAt = earlier(p.DeadlineAt",
	}}},
}

var foundAt = regexp.MustCompile(`(?m)^\s*seeds_test\.go:\d+: seed (\d+) \([^)]*\): (.*)$`)

// TestPlants plants each bug into a program of its own and runs seeds until one of them
// fails. It runs when it is asked to: it builds the suite anew for every bug.
func TestPlants(t *testing.T) {
	if !*plantsToo && *onlyPlant == "" {
		return
	}
	found, latest := 0, 0
	for _, p := range plants {
		if *onlyPlant != "" && !strings.Contains(p.name, *onlyPlant) {
			continue
		}
		out, err := planted(t, p.changes)
		first := foundAt.FindStringSubmatch(out)
		ran := regexp.MustCompile(`sim: (\d+) seeds, `).FindStringSubmatch(out)
		if err == nil || first == nil || ran == nil {
			t.Errorf("%s: not found (%v)\n%.3000s", p.name, err, out)
			continue
		}
		fmt.Printf("%-55s after %5s seeds, with seed %s: %.160s\n", p.name, ran[1], first[1], first[2])
		n, _ := strconv.Atoi(ran[1])
		found, latest = found+1, max(latest, n)
	}
	verdict = fmt.Sprintf("PASS sim-plants: %d planted bugs, each found, the hardest after %d seeds", found, latest)
	if t.Failed() {
		verdict = fmt.Sprintf("FAIL sim-plants: %d planted bugs were found, others not", found)
	}
}

// Every plant still has its place in the sources: one that has lost it proves nothing.
func TestPlantsFit(t *testing.T) {
	for _, p := range plants {
		t.Run(p.name, func(t *testing.T) { changed(t, p.changes) })
	}
}

// changed are the sources with their changes, by path.
func changed(t *testing.T, changes []change) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, c := range changes {
		path, err := filepath.Abs(filepath.Join("..", "..", c.file))
		if err != nil {
			t.Fatal(err)
		}
		if texts[path] == "" {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			texts[path] = string(b)
		}
		if n := strings.Count(texts[path], c.old); n != 1 {
			t.Fatalf("%s has %q %d times", c.file, c.old, n)
		}
		texts[path] = strings.Replace(texts[path], c.old, c.planted, 1)
	}
	return texts
}

// planted builds and runs the suite with changed sources.
func planted(t *testing.T, changes []change) (string, error) {
	t.Helper()
	dir, replace := t.TempDir(), map[string]string{}
	for path, text := range changed(t, changes) {
		replace[path] = filepath.Join(dir, fmt.Sprintf("%d.go", len(replace)))
		if err := os.WriteFile(replace[path], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	overlay, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "simulation.test")
	if err := os.WriteFile(overlay, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", program, ".")
	build.Stdout, build.Stderr = &out, &out
	if err := build.Run(); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	run := exec.CommandContext(t.Context(), program, "-test.run", "^TestSeeds$", "-test.v", "-until", "-seeds", fmt.Sprint(*most))
	run.Stdout, run.Stderr = &out, &out
	err = run.Run()
	return out.String(), err
}
