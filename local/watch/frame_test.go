package watch

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestFrames(t *testing.T) {
	for name, c := range map[string]struct{ body, want string }{
		"two frames":            {"id: 1\ndata: a\n\nid: 2\ndata: b\n\n", "1=a|2=b"},
		"no id":                 {"data: a\n\n", "=a"},
		"an id of its own only": {"id: 1\ndata: a\n\ndata: b\n\n", "1=a|=b"},
		"CRLF":                  {"id: 1\r\ndata: a\r\n\r\n", "1=a"},
		"no space":              {"id:1\ndata:a\n\n", "1=a"},
		"one space is taken":    {"data:  a\n\n", "= a"},
		"several data lines":    {"data: a\ndata\ndata: b\n\n", "=a\n\nb"},
		"comments":              {": hello\n\nid: 1\n: between\ndata: a\n\n: keep-alive\n\n", "1=a"},
		"unknown fields":        {"event: message\nretry: 5\nwhatever\ndata: a\n\n", "=a"},
		"an id without data":    {"id: 7\n\ndata: a\n\n", "=a"},
		"empty data":            {"id: 1\ndata\n\n", "1="},
		"cut in a line":         {"id: 1\ndata: a\n\nid: 2\ndata: b", "1=a"},
		"cut before the end":    {"id: 1\ndata: a\n\nid: 2\ndata: b\n", "1=a"},
		"nothing":               {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, body := range []io.Reader{strings.NewReader(c.body), iotest.OneByteReader(strings.NewReader(c.body))} {
				f, got := newFrames(body, 100), []string{}
				one, err := f.next()
				for ; err == nil; one, err = f.next() {
					got = append(got, one.id+"="+string(one.data))
				}
				if !errors.Is(err, io.EOF) {
					t.Errorf("ended with %v", err)
				}
				if joined := strings.Join(got, "|"); joined != c.want {
					t.Errorf("got %q, want %q", joined, c.want)
				}
			}
		})
	}
}

func TestFramesAreBounded(t *testing.T) {
	for name, body := range map[string]string{
		"a long line":     "data: " + strings.Repeat("x", 10_000) + "\n\n",
		"many data lines": strings.Repeat("data: xxxxx\n", 1000) + "\n",
		"no end of lines": strings.Repeat("field\n", 1000),
	} {
		if _, err := newFrames(strings.NewReader(body), 5000).next(); err == nil || !strings.Contains(err.Error(), "larger than 5000") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// Keep-alive comments for days are no large frame.
	body := strings.Repeat(": keep-alive\n", 2000) + strings.Repeat(": keep-alive\n\n", 2000) + "data: a\n\n"
	if one, err := newFrames(strings.NewReader(body), 5000).next(); err != nil || string(one.data) != "a" {
		t.Errorf("got %q, %v", one.data, err)
	}
}
