package export

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLineBytes is more than any line has: an entry's payload has at most 384 KB,
// and a rejection's texts may be escaped.
const maxLineBytes = 1 << 20

// ErrNoExport is a file whose first line is nothing that an export has.
var ErrNoExport = errors.New("this is no export: local export writes one")

// ErrNewer is an export in a format that this build does not know.
var ErrNewer = errors.New("the export was written by a newer build: upgrade before reading it")

var errLong = fmt.Errorf("a line of more than %d bytes", maxLineBytes)

// nextLine returns the next line without its line feed; ended is false where the file
// ends without one. io.EOF: there is no more.
func nextLine(in *bufio.Reader) (line []byte, ended bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLineBytes:
			return line, false, errLong
		case err == nil:
			return line[:len(line)-1], true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) > 0:
			return line, false, nil
		}
		return nil, false, err
	}
}

// decode reads a line: one object, with the member of its kind and nothing else.
func decode(raw []byte) (Line, error) {
	var l Line
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return l, fmt.Errorf("no line of an export: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return l, errors.New("no line of an export: something follows its object")
	}
	if !l.whole() {
		return l, fmt.Errorf("no line of an export: kind %q and another member", l.Kind)
	}
	return l, nil
}
