package export_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/local/sqlite"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// TestExportsDuringWrites: an export of a task that moves as fast as the ledger can is sound, whether it came to rest in
// between or is cut off at an entry; and some are of a task that had ended, and some are not. How many are cut off is
// chance, and may be none: TestMoving cuts one off for certain.
func TestExportsDuringWrites(t *testing.T) {
	const exports = 200
	file, err := sqlite.Open(t.TempDir(), sqlite.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for name, l := range map[string]ledger.Ledger{"the embedded ledger": file, "the model": ledgertest.NewMemory()} {
		t.Run(name, func(t *testing.T) {
			scopes := []export.Scope{export.Operator, export.Operator, export.Caller}
			n, moved, ended := 0, 0, 0
			err := ledgertest.Busy(t.Context(), l, 7, func(ref lifecycle.Ref) (bool, error) {
				var b bytes.Buffer
				_, err := export.Write(t.Context(), &b, l, ref, export.Options{Scope: scopes[n%len(scopes)], At: start})
				if err != nil {
					return false, err
				}
				report := sound(t, name, b.Bytes())
				if report.Head.Moved != nil {
					moved++
				}
				if report.Head.State.Terminal() {
					ended++
				}
				n++
				return n < exports, nil
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d exports, %d of them of a task that did not rest, %d of one that had ended", n, moved, ended)
			if ended == 0 || ended == n {
				t.Errorf("of %d exports %d are of a task that had ended", n, ended)
			}
		})
	}
}

// early is a ledger that shows a commit's artifacts before its head.
type early struct {
	ledger.Ledger

	left int // how often it does
	head lifecycle.Head
}

// Head implements ledger.Tasks.
func (l *early) Head(ctx context.Context, ref lifecycle.Ref) (lifecycle.Head, error) {
	if l.left--; l.left >= 0 {
		return l.head, nil
	}
	return l.Ledger.Head(ctx, ref)
}

// TestArtifactsAheadOfTheHead: an export waits for the head that belongs to the artifacts it has seen, and says so when
// that does not come.
func TestArtifactsAheadOfTheHead(t *testing.T) {
	for left, want := range map[int]bool{0: false, 1: false, 5: false, 50: true} {
		d := newDesk(t, ledgertest.NewMemory(), "task-1")
		d.submit()
		d.must(d.grant("a"), "")
		d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{piece("a", a2a.NewTextPart("x"), false, false)}}), "")
		before := d.head()
		d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{piece("a", a2a.NewTextPart("y"), true, false)}}), "")
		var b bytes.Buffer
		_, err := export.Write(t.Context(), &b, &early{d.ledger, left, before}, d.ref, export.Options{Scope: export.Operator, At: start})
		d.ok(err)
		report := sound(t, fmt.Sprint(left, " heads late"), b.Bytes())
		if moved := report.Head.Moved; (moved != nil) != want || moved != nil && moved.Seq != before.Seq+1 {
			t.Errorf("%d heads late: moved %+v, want %t", left, moved, want)
		}
		if !want && report.Seq != before.Seq+1 {
			t.Errorf("%d heads late: exported up to entry %d, the artifacts are at %d", left, report.Seq, before.Seq+1)
		}
	}
}

// TestCanceledWhileExported: output that came after a cancellation which is behind the export's last entry breaks
// nothing.
func TestCanceledWhileExported(t *testing.T) {
	d := newDesk(t, ledgertest.NewMemory(), "task-1")
	d.submit()
	d.must(d.grant("a"), "")
	moves := 0
	source := moving{d.ledger, func() error {
		if moves++; moves < 8 {
			d.must(d.report(lifecycle.Report{Verb: lifecycle.VerbSubStep}), "")
			return nil
		}
		if moves == 8 {
			d.must(lifecycle.RequestCancel{Principal: "p-hash"}, "")
			_ = d.try(d.report(lifecycle.Report{Verb: lifecycle.VerbSubStep}), "")
			d.late("w-1")
		}
		return nil
	}}
	var b bytes.Buffer
	_, err := export.Write(t.Context(), &b, source, d.ref, export.Options{Scope: export.Operator, At: start})
	d.ok(err)
	report := sound(t, "canceled meanwhile", b.Bytes())
	if report.Head.Moved == nil || report.Head.State != lifecycle.Working || report.Counts.Late != 1 {
		t.Errorf("moved %+v, %s, %+v", report.Head.Moved, report.Head.State, report.Counts)
	}
}
