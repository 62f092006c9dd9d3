package lifecycle_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// sixSteps is the life of a task of six steps as the runner reports it: submitted, one lease, six commits of
// one progress message and a checkpoint of 200 bytes each, the last of them with a sealed chunk of 1 KB, and the
// end. It returns the task and its entries.
func sixSteps(tb testing.TB, visit func(lifecycle.Task, []lifecycle.Entry)) (lifecycle.Task, []lifecycle.Entry) {
	tb.Helper()
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	state := []byte(`{"fetched":["crm","erp","git","hr","idp","mail"],"findings":{"stale":12,"orphaned":3},"note":"` + string(make200()) + `"}`)
	text := string(make200()) + string(make200()) + string(make200()) + string(make200()) + string(make200())
	chunk := &lifecycle.Chunk{Artifact: "report", Name: "Report", Last: true, Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text))}
	task := lifecycle.Task{Head: lifecycle.Head{Tenant: "local", Task: "0195a4b2-1111-7abc-8def-000000000042"}}
	var all []lifecycle.Entry
	fence, commit := uint64(0), 0
	do := func(cmd lifecycle.Command) {
		d, err := lifecycle.Decide(task, cmd, now)
		if err != nil {
			tb.Fatal(err)
		}
		next, entries, err := lifecycle.Seal(task, d, lifecycle.Source{Producer: "runner", Holder: "0195a4b2-1111-7abc-8def-000000000042-g1", Fence: fence}, "0195a4b2-1111-7abc-8def-00000000"+strconv.Itoa(1000+commit), now)
		if err != nil {
			tb.Fatal(err)
		}
		commit++
		task, all = next, append(all, entries...)
		if visit != nil {
			visit(task, entries)
		}
	}
	say := func(s string) *a2a.Message {
		return &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(s)}}
	}
	do(lifecycle.Submit{ContextID: "0195a4b2-2222-7abc-8def-000000000042", Agent: "bench", AgentVersion: 1, Step: "one", Principal: "p", Policy: lifecycle.DefaultPolicy(),
		RequestDigest: lifecycle.DigestBytes(nil), Message: &a2a.Message{ID: "m1", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("Review the access of 40 systems, please.")}}})
	do(lifecycle.Grant{Holder: "0195a4b2-1111-7abc-8def-000000000042-g1", Generation: 1, Lease: 30 * time.Second, Grace: 30 * time.Second})
	fence = task.Fence
	steps := []string{"one", "two", "three", "four", "five", "six"}
	for i := range steps {
		r := lifecycle.Report{Holder: "0195a4b2-1111-7abc-8def-000000000042-g1", Fence: fence, Verb: lifecycle.VerbContinue, Keep: true, State: state,
			Updates: []lifecycle.Update{{Message: say("step " + strconv.Itoa(i+1) + " of 6 is done")}}}
		if i+1 < len(steps) {
			r.Next = steps[i+1]
		} else {
			r.Verb, r.State, r.Keep, r.Message = lifecycle.VerbComplete, nil, false, say("All six steps are done.")
			r.Updates = append(r.Updates, lifecycle.Update{Chunk: chunk})
		}
		do(r)
	}
	return task, all
}

func make200() []byte {
	b := make([]byte, 200)
	for i := range b {
		b[i] = "the quick brown fox "[i%20]
	}
	return b
}

// BenchmarkSixStepTask decides and seals the eight commits of a task of six steps.
func BenchmarkSixStepTask(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		sixSteps(b, nil)
	}
}

func BenchmarkApply(b *testing.B) {
	_, entries := sixSteps(b, nil)
	ref := lifecycle.Ref{Tenant: "local", Task: entries[0].Task}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lifecycle.Fold(ref, entries); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}

// BenchmarkView folds a history of 100 entries into what GetTask answers.
func BenchmarkView(b *testing.B) {
	bk := started(b)
	bk.quick = true
	for bk.task.Seq < 100 {
		r := bk.report(lifecycle.VerbSubStep)
		r.Updates = []lifecycle.Update{{Message: say("progress of about forty characters, like so")}, {Chunk: chunk("report", "a line of the report, and then another", false), Append: bk.task.Artifacts > 0}}
		bk.must(b, r, start)
	}
	entries, ref := bk.entries[:100], bk.task.Ref()
	b.ReportAllocs()
	for b.Loop() {
		v, err := lifecycle.Seen(ref, entries, blobURL)
		if err != nil {
			b.Fatal(err)
		}
		v.Task()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(entries)), "ns/entry")
}

// BenchmarkCanonical is the canonical form of a typical payload.
func BenchmarkCanonical(b *testing.B) {
	_, entries := sixSteps(b, nil)
	ev, err := entries[3].Event()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := lifecycle.Canonical(ev); err != nil {
			b.Fatal(err)
		}
	}
}
