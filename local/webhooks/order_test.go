// These tests check the checks: attempts as they should be pass, and each way to be wrong
// is caught. The acts themselves are `go run ./local/webhooks`; here nothing is started.

package main

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func at(seconds float64, seq uint64, answer string) try {
	id := map[uint64]string{1: "msg_a", 2: "msg_b", 4: "msg_c"}[seq]
	return try{at: time.Unix(0, int64(seconds*1e9)), seq: seq, id: id, answer: answer, taken: answer == "200" || answer == "answer lost"}
}

func TestInOrder(t *testing.T) {
	visible := []uint64{1, 2, 4}
	good := []try{at(0, 1, "500"), at(4, 1, "answer lost"), at(8, 1, "200"), at(8, 2, "200"), at(8, 4, "200")}
	o, err := inOrder(good, visible, true)
	if err != nil || o != (order{attempts: 5, updates: 3, again: 2}) {
		t.Errorf("%+v, %v", o, err)
	}
	if s := o.String(); s != "5 attempts, 3 updates taken in order, 2 tried again under the id of before" {
		t.Error(s)
	}
	if s := timeline(good, time.Unix(0, 0)); s != "500 at 0.0 ms, answer lost at 4.0 s, 3 × 200 at 8.0 s" {
		t.Error(s)
	}
	if o, err := inOrder(good[:1], visible, false); err != nil || o.String() != "1 attempt, 0 updates taken in order, none tried again" {
		t.Errorf("%s, %v", o, err)
	}
	other := at(9, 2, "200")
	other.id = "msg_other"
	stolen := at(9, 4, "200")
	stolen.id = "msg_b"
	for want, tries := range map[string][]try{
		"were taken of":                    good[:4],
		"update 2 came when []":            {at(0, 2, "200")},
		"update 2 came when [] had":        {at(0, 1, "500"), at(0, 2, "200")},
		"update 3 came":                    {at(0, 1, "200"), {seq: 3, id: "msg_d"}},
		"update 1 came when [1 2]":         {at(0, 1, "200"), at(0, 2, "200"), at(1, 1, "200")},
		"update 2 came under msg_b and ":   {at(0, 1, "200"), at(0, 2, "500"), other},
		"updates 2 and 4 came under":       {at(0, 1, "200"), at(0, 2, "200"), stolen},
		`updates 0 and 1 came under ""`:    {{seq: 1}},
		"[1] were taken of [1 2 4]":        {at(0, 1, "200"), at(0, 2, "500")},
		"update 4 came when [1] had been ": {at(0, 1, "200"), at(0, 2, "reset"), at(0, 4, "200")},
	} {
		if _, err := inOrder(tries, visible, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestTimelineIsShort(t *testing.T) {
	var tries []try
	for i := range 20 {
		tries = append(tries, at(float64(100*i), 1, "500"))
	}
	if s := timeline(tries, time.Unix(0, 0)); strings.Count(s, "500") != 6 || !strings.Contains(s, "…") || !strings.HasSuffix(s, "500 at 31.7 min") {
		t.Error(s)
	}
}

func TestQuantile(t *testing.T) {
	var all []time.Duration
	for i := range 1000 {
		all = append(all, time.Duration(i+1))
	}
	if p50, p99 := quantile(all, 0.5), quantile(all, 0.99); p50 != 501 || p99 != 991 {
		t.Errorf("%d and %d", p50, p99)
	}
	if one := quantile(all[:1], 0.99); one != 1 {
		t.Error(one)
	}
}

func TestVisible(t *testing.T) {
	text := driver.Object{}
	var l page
	for i, e := range []struct {
		kind, state string
		message     *driver.Object
	}{{"submitted", "A", &text}, {"started", "B", nil}, {"checkpoint", "", nil}, {"progress", "", &text}, {"message", "", &text}, {"chunk", "", nil}, {"checkpoint", "B", nil}, {"ended", "C", nil}} {
		one := entry{Seq: uint64(i + 1), Type: e.kind}
		one.Payload.State, one.Payload.Message = e.state, e.message
		l.Entries = append(l.Entries, one)
	}
	if got := l.visible(); len(got) != 5 || got[0] != 1 || got[1] != 2 || got[2] != 4 || got[3] != 6 || got[4] != 8 {
		t.Errorf("%v", got)
	}
}
