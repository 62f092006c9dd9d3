package node

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
)

// notes is a log that is written and read at once.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(p)
}

// values are those of a metric, in the order in which they were written.
func (n *notes) values(t *testing.T, name string) (out []float64) {
	t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	for text := range strings.Lines(n.text.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if v, is := line[name].(float64); is && line["_aws"] != nil {
			out = append(out, v)
		}
	}
	return out
}

func (n *Node) light(t *testing.T, id health.ID) health.Light {
	t.Helper()
	answer, err := n.watch.lights(t.Context(), Tenant)
	if err != nil {
		t.Fatal(err)
	}
	report, _ := answer.(health.Report)
	for _, l := range report.Lights {
		if l.Invariant == id {
			return l
		}
	}
	t.Fatalf("no light %s", id)
	return health.Light{}
}

// A node sweeps as often as it is told to, and measures less often: what is late is so
// for longer. A task whose version is not here is on a light and in a metric, and both
// say so no more when it is gone; a node whose sweep has stopped says that.
func TestNodeIsWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, quick())
		log := &notes{}
		agents, err := catalog.New(r.agents...)
		if err != nil {
			t.Fatal(err)
		}
		n, err := New(Config{
			Ledger: r.memory, Blobs: ledgertest.NewMemoryBlobs(), Catalog: agents, HoldersGone: true, Timing: DefaultTiming(),
			Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.NewJSONHandler(log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		for name, watch := range map[string]any{
			"dispatch": n.Dispatcher.Watch, "sweep": n.sweeper.Watch, "deliveries": n.deliveries.sender.Watch, "webhooks": n.push.Watch,
		} {
			if watch != n.watch.monitor {
				t.Errorf("nobody is told by %s", name)
			}
		}
		ref := r.submit("gone")
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		const minute = time.Minute
		<-time.NewTimer(minute + time.Second).C
		if l := n.light(t, health.UnknownVersion); l.Light != health.Amber || l.Count != 1 || l.Tasks[0].Task != ref.Task {
			t.Errorf("%+v", l)
		}
		if l := n.light(t, health.SweepSilent); l.Light != health.Green {
			t.Errorf("%+v", l)
		}
		if sweeps, looks := len(log.values(t, "Sweeps")), log.values(t, "UnknownVersions"); sweeps != 12 || len(looks) != 3 || looks[0] != 1 {
			t.Errorf("%d sweeps, which found %v", sweeps, looks)
		}
		r.stop(n, minute)
		<-time.NewTimer(defaultLate + time.Second).C
		if l := n.light(t, health.SweepSilent); l.Light != health.Red {
			t.Errorf("a node that has stopped: %+v", l)
		}
	})
}

// A node that could not measure gives no sign of life from its sweep, and measures at
// the next one.
func TestBlindSweepIsSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, quick())
		log := &notes{}
		agents, err := catalog.New(r.agents...)
		if err != nil {
			t.Fatal(err)
		}
		faults := &ledgertest.Faults{Plan: ledgertest.Always("Expired", ledgertest.FailBefore)}
		n, err := New(Config{
			Ledger: r.memory, Blobs: ledgertest.NewMemoryBlobs(), Catalog: agents, HoldersGone: true, Timing: DefaultTiming(),
			Now: time.Now, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 }, Logger: slog.New(slog.NewJSONHandler(log, nil)),
		})
		if err != nil {
			t.Fatal(err)
		}
		sighted := n.watch.reporter.Ledger
		n.watch.reporter.Ledger = faults.Ledger(r.memory)
		for range 2 {
			if err := n.watch.measure(t.Context()); err == nil {
				t.Error("a blind survey measures")
			}
		}
		if err := n.Start(); err != nil {
			t.Fatal(err)
		}
		<-time.NewTimer(time.Minute).C
		if sweeps := log.values(t, "Sweeps"); len(sweeps) != 0 {
			t.Errorf("%d blind sweeps", len(sweeps))
		}
		r.stop(n, time.Minute)
		n.watch.reporter.Ledger = sighted
		if err := n.watch.measure(t.Context()); err != nil || len(log.values(t, "TasksPastDue")) != 1 {
			t.Errorf("%v: %v", err, log.values(t, "TasksPastDue"))
		}
	})
}
