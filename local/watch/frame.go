package watch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// frame is one server-sent event, as the WHATWG's HTML standard frames them.
// Lines may end in LF or CRLF.
type frame struct {
	id   string
	data []byte
}

// frames reads frames from a body.
type frames struct {
	lines *bufio.Reader
	limit int
}

func newFrames(body io.Reader, limit int) *frames {
	return &frames{lines: bufio.NewReader(body), limit: limit}
}

// next returns the next frame that has data. A frame that was cut before the
// empty line that ends it is no frame: the error is io.EOF, or why the body broke.
func (f *frames) next() (frame, error) {
	var one frame
	room := f.limit
	some := false
	for {
		line, err := f.line(&room)
		if err != nil {
			return frame{}, err
		}
		if len(line) == 0 {
			if some {
				return one, nil
			}
			one = frame{}
			room = f.limit
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "": // a comment
			room = max(room, f.limit-len(one.data))
		case "id":
			one.id = string(value)
		case "data":
			if some {
				one.data = append(one.data, '\n')
			}
			one.data = append(one.data, value...)
			some = true
		}
	}
}

// line reads a line without its end, and takes it from the room that is left.
func (f *frames) line(room *int) ([]byte, error) {
	var line []byte
	for {
		part, err := f.lines.ReadSlice('\n')
		if *room -= len(part); *room < 0 {
			return nil, fmt.Errorf("a frame is larger than %d bytes", f.limit)
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return nil, err
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		return bytes.TrimSuffix(line, []byte("\r")), nil
	}
}
