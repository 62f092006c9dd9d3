package lifecycle

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// What is written must be readable: an entry that could not be decoded again
// would make its task unreadable for ever. These checks refuse it before.

// checkName holds a name that the head carries against its limit. Text that is
// not UTF-8 would be changed by the JSON that it is stored in.
func checkName(what, s string, limit int) *Rejection {
	switch {
	case len(s) > limit:
		return reject(LimitReached, "%s has %d bytes, the limit is %d", what, len(s), limit)
	case !utf8.ValidString(s):
		return reject(InvalidContent, "%s is not UTF-8", what)
	}
	return nil
}

// checkNames is checkName for several of one limit: what, s, what, s …
func checkNames(limit int, pairs ...string) *Rejection {
	for i := 0; i+1 < len(pairs); i += 2 {
		if r := checkName(pairs[i], pairs[i+1], limit); r != nil {
			return r
		}
	}
	return nil
}

// checkMessage accepts a message that can be read back. There may be none.
func checkMessage(m *a2a.Message) *Rejection {
	if m == nil {
		return nil
	}
	for _, p := range m.Parts {
		if r := checkPart(p); r != nil {
			return r
		}
	}
	return nil
}

// checkPart accepts a part that can be read back. A2A's JSON shows a part's kind
// by the field that is there: nil bytes, a null and an empty address leave none.
func checkPart(p *a2a.Part) *Rejection {
	if p == nil {
		return reject(InvalidContent, "a part that is null")
	}
	empty := false
	switch c := p.Content.(type) {
	case nil:
		empty = true
	case a2a.Raw:
		empty = c == nil
	case a2a.URL:
		empty = c == ""
	case a2a.Data:
		raw, err := json.Marshal(c.Value)
		if err != nil {
			return reject(InvalidContent, "a data part that is no JSON: %s", clip(err.Error()))
		}
		empty = string(raw) == "null"
	}
	if empty {
		return reject(InvalidContent, "a part without content")
	}
	return nil
}

// checkChunk accepts a chunk that can be read back, with the content that its
// checksum was taken over, and small enough to ride on an entry.
func checkChunk(c *Chunk) *Rejection {
	if r := checkPart(c.Part); r != nil {
		return r
	}
	if r := checkNames(MaxNameBytes, "an artifact's ID", string(c.Artifact)); r != nil {
		return r
	}
	size := c.Bytes
	switch content := c.Part.Content.(type) {
	case a2a.Text:
		if !utf8.ValidString(string(content)) {
			return reject(InvalidContent, "a text part of artifact %q that is not UTF-8: send it as raw bytes", c.Artifact)
		}
		size = int64(len(content))
	case a2a.URL:
		if !utf8.ValidString(string(content)) {
			return reject(InvalidContent, "an address of artifact %q that is not UTF-8", c.Artifact)
		}
		size = int64(len(content))
	case a2a.Raw:
		size = int64(len(content))
	}
	if _, moved := AsBlob(c.Part); !moved && size > MaxInlineBytes {
		return reject(LimitReached, "an inline chunk of %d bytes, the limit is %d: move it to the blob store", size, MaxInlineBytes)
	}
	return nil
}
