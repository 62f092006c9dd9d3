package agent

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Say is an agent's message with one text part.
func Say(text string) *a2a.Message {
	return &a2a.Message{Role: a2a.MessageRoleAgent, Parts: a2a.ContentParts{a2a.NewTextPart(text)}}
}

// Text is the text of a message: its text parts, one a line.
func Text(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	out := ""
	for _, p := range m.Parts {
		if p == nil {
			continue
		}
		if s := p.Text(); s != "" {
			if out != "" {
				out += "\n"
			}
			out += s
		}
	}
	return out
}

// outgoing is a message as the agent's own.
func outgoing(m *a2a.Message) *a2a.Message {
	if m == nil {
		return nil
	}
	own := *m
	own.Role = a2a.MessageRoleAgent
	return &own
}

// checkUpdates refuses what could be written and never be read again: an entry with
// an empty part would make its whole task unreadable.
func checkUpdates(updates []Update) error {
	for _, u := range updates {
		if u.Chunk == nil {
			if err := checkMessage(u.Message); err != nil {
				return err
			}
			continue
		}
		if err := checkPart(u.Chunk.Part); err != nil {
			return Permanent(fmt.Errorf("a chunk of artifact %q: %w", u.Chunk.Artifact, err))
		}
	}
	return nil
}

func checkMessage(m *a2a.Message) error {
	if m == nil || len(m.Parts) == 0 {
		return Permanent(errors.New("a message needs at least one part"))
	}
	for i, p := range m.Parts {
		if err := checkPart(p); err != nil {
			return Permanent(fmt.Errorf("part %d of a message: %w", i+1, err))
		}
	}
	return nil
}

func checkPart(p *a2a.Part) error {
	empty := errors.New("the part has no content")
	if p == nil {
		return empty
	}
	switch c := p.Content.(type) {
	case a2a.Text:
	case a2a.Raw:
		if c == nil {
			return empty
		}
	case a2a.URL:
		if c == "" {
			return empty
		}
	case a2a.Data:
		if c.Value == nil {
			return empty
		}
		if _, err := json.Marshal(c.Value); err != nil {
			return fmt.Errorf("the data cannot be stored: %w", err)
		}
	default:
		return empty
	}
	return nil
}
