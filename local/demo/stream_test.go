package main

import (
	"slices"
	"strings"
	"testing"
)

func TestStreamRead(t *testing.T) {
	update := func(state string) string { return `{"statusUpdate":{"status":{"state":"` + state + `"}}}` }
	body := "data: {\"task\":{\"status\":{\"state\":\"W\"}}}\n\n" +
		": keep-alive\n\n" +
		"id: 5\ndata: " + update("W") + "\n\n" +
		"id: 7\r\ndata: {\"artifactUpdate\":{}}\r\n\r\n" +
		"id: 9\ndata: " + update("C") + "\n" // cut before its end
	s := &stream{after: 4}
	if err := s.read(strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	want := []frame{{task: true, state: "W"}, {id: 5, state: "W"}, {id: 7}}
	if !slices.Equal(s.kept(), want) {
		t.Errorf("kept %+v", s.kept())
	}
	if s.last() != 7 || (&stream{after: 4}).last() != 4 {
		t.Errorf("the cursor is %d", s.last())
	}
}

func TestStreamReadRefuses(t *testing.T) {
	for _, body := range []string{"data: {\n\n", "data: {}\n\n", "id: x\ndata: {\"artifactUpdate\":{}}\n\n", "id: 0\ndata: {\"artifactUpdate\":{}}\n\n"} {
		if err := (&stream{}).read(strings.NewReader(body)); err == nil {
			t.Errorf("read %q", body)
		}
	}
}
