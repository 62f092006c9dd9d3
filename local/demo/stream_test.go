package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

func TestStreamRead(t *testing.T) {
	update := func(state string) string { return `{"statusUpdate":{"status":{"state":"` + state + `"}}}` }
	body := "data: {\"task\":{\"status\":{\"state\":\"W\"}}}\n\n" +
		": keep-alive\n\n" +
		"id: 5\ndata: " + update("W") + "\n\n" +
		"id: 7\r\ndata: {\"artifactUpdate\":{}}\r\n\r\n" +
		"id: 9\ndata: " + update("C") + "\n" // cut before its end
	s := &stream{Stream: driver.Recorded(strings.NewReader(body), parseFrame), after: 4}
	if s.Err != nil {
		t.Fatal(s.Err)
	}
	want := []frame{{task: true, state: "W"}, {id: 5, state: "W"}, {id: 7}}
	if !slices.Equal(s.Kept(), want) {
		t.Errorf("kept %+v", s.Kept())
	}
	if nothing := (&stream{Stream: driver.Recorded(strings.NewReader(""), parseFrame), after: 4}); s.last() != 7 || nothing.last() != 4 {
		t.Errorf("the cursor is %d", s.last())
	}
}

func TestStreamReadRefuses(t *testing.T) {
	for _, body := range []string{"data: {\n\n", "data: {}\n\n", "id: x\ndata: {\"artifactUpdate\":{}}\n\n", "id: 0\ndata: {\"artifactUpdate\":{}}\n\n"} {
		if driver.Recorded(strings.NewReader(body), parseFrame).Err == nil {
			t.Errorf("read %q", body)
		}
	}
}
