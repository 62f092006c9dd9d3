// These tests check what the drill judges by: each way to be wrong is told apart. The
// acts are `go run ./local/drill`; here no process is started.

package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// recorded is a stream that has brought these frames.
func recorded(datas ...string) *stream {
	var body strings.Builder
	for _, data := range datas {
		id, data, _ := strings.Cut(data, " ")
		if id != "-" {
			body.WriteString("id: " + id + "\n")
		}
		body.WriteString("data: " + data + "\n\n")
	}
	return &stream{driver.Recorded(strings.NewReader(body.String()), parseFrame)}
}

func frames(t *testing.T, datas ...string) []frame {
	t.Helper()
	s := recorded(datas...)
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	return s.Kept()
}

func ownly(seq int, more string) string {
	return fmt.Sprintf(`"metadata":{%q:{"sequence":%d%s}}`, extensionURI, seq, more)
}

func taskAt(seq int, state, artifacts string) string {
	return fmt.Sprintf(`- {"task":{"id":"t","status":{"state":%q},"artifacts":[%s],%s}}`, state, artifacts, ownly(seq, ""))
}

func stateAt(seq int, state, more string) string {
	return fmt.Sprintf(`%d {"statusUpdate":{"status":{"state":%q,"message":{"parts":[{"text":"So."}]}},%s}}`, seq, state, ownly(seq, more))
}

func chunkAt(seq, number int, text, more string) string {
	return fmt.Sprintf(`%d {"artifactUpdate":{"artifact":{"artifactId":"draft","parts":[{"text":%q}]},"append":%t,%s}}`,
		seq, text, number > 1, ownly(seq, fmt.Sprintf(`,"number":%d,"checksum":%q%s`, number, digestOf([]byte(text)), more)))
}

const replay = `,"replay":true`

// Who starts from nothing folds what comes after the task; who had something folds all.
func TestFold(t *testing.T) {
	got := frames(t, taskAt(5, stateWorking, `{"artifactId":"draft","parts":[{"text":"a"}]}`),
		chunkAt(4, 1, "a", replay), chunkAt(6, 2, "b", ""), stateAt(7, stateCompleted, `,"receipt":{"sequence":7,"digest":"d","manifest":"m"}`))
	want := view{stateCompleted, "So.", map[string][]string{"draft": {"a", "b"}}, receipt{7, "d", "m"}}
	fresh, err := fromNothing(got)
	if err != nil {
		t.Fatal(err)
	}
	had := viewOf(task{})
	resumed, err := had.onward(got)
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.same("fresh", want); err != nil {
		t.Error(err)
	}
	if err := resumed.same("resumed", want); err != nil {
		t.Error(err)
	}
	if len(had.Artifacts) != 0 {
		t.Error("what the caller had was changed")
	}
	want.Artifacts["draft"][1] = "c"
	if err := fresh.same("fresh", want); err == nil {
		t.Error("other content is the same")
	}
}

func TestFoldRefuses(t *testing.T) {
	first := taskAt(1, stateWorking, "")
	for about, datas := range map[string][]string{
		"no task":           {chunkAt(2, 1, "a", "")},
		"a missing chunk":   {first, chunkAt(2, 2, "b", "")},
		"a repeated chunk":  {first, chunkAt(2, 1, "a", ""), chunkAt(3, 2, "b", ""), chunkAt(4, 2, "b", "")},
		"another checksum":  {first, strings.Replace(chunkAt(2, 1, "a", ""), `"text":"a"`, `"text":"z"`, 1)},
		"a task in between": {first, stateAt(2, stateWorking, ""), taskAt(3, stateWorking, "")},
	} {
		if v, err := fromNothing(frames(t, datas...)); err == nil {
			t.Errorf("%s gave %+v", about, v)
		}
	}
}

func TestStreamIDs(t *testing.T) {
	first := taskAt(1, stateWorking, "")
	for about, c := range map[string]struct {
		datas []string
		want  string
	}{
		"good":       {[]string{first, stateAt(2, stateWorking, ""), chunkAt(3, 1, "a", "")}, ""},
		"too many":   {[]string{first, stateAt(2, stateWorking, ""), stateAt(3, stateWorking, ""), stateAt(4, stateWorking, "")}, "want [2 3]"},
		"too few":    {[]string{first, stateAt(3, stateWorking, "")}, "want [2 3]"},
		"repeated":   {[]string{first, stateAt(2, stateWorking, ""), stateAt(2, stateWorking, "")}, "id 2 came after 2"},
		"a gap":      {[]string{first, stateAt(2, stateWorking, ""), stateAt(4, stateWorking, "")}, "want [2 3]"},
		"no task":    {[]string{stateAt(2, stateWorking, ""), stateAt(3, stateWorking, "")}, "did not begin with the task"},
		"descending": {[]string{first, stateAt(3, stateWorking, ""), stateAt(2, stateWorking, "")}, "id 2 came after 3"},
	} {
		err := brought(recorded(c.datas...), 2, 3)
		if got := fmt.Sprint(err); c.want == "" != (err == nil) || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %q", about, got, c.want)
		}
	}
	for _, data := range []string{`{}`, `{"task"`, `{"statusUpdate":{"metadata":{}}}`} {
		if f, err := parseFrame("2", data); err == nil {
			t.Errorf("%s is the frame %+v", data, f)
		}
	}
}
