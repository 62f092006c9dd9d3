package accessreview

import (
	"errors"
	"fmt"
	"mime"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// Limits of one review. What it keeps must fit into a state of agent.MaxStateBytes.
const (
	maxSystems     = 150
	maxSystemBytes = 8 << 10 // names and owners together
	maxFindings    = 100
)

// validate checks a first message at the door.
func validate(m *a2a.Message) error {
	f, sent, err := readFile(m)
	if err != nil {
		return err
	}
	if !sent {
		if strings.TrimSpace(agent.Text(m)) == "" {
			return errors.New("send a file of grants as a text/csv part, or a text to review all systems")
		}
		return nil
	}
	if err := checkScope(f.systems); err != nil {
		return err
	}
	found := 0
	for _, s := range f.systems {
		for _, g := range f.grants[s.Name] {
			if _, _, ok := g.judge(f.asOf); ok {
				found++
			}
		}
	}
	if found > maxFindings {
		return fmt.Errorf("the file has %d findings and one review takes %d: review fewer systems at a time", found, maxFindings)
	}
	return nil
}

// readFile finds the file of grants in a first message, if one was sent.
func readFile(m *a2a.Message) (f file, sent bool, err error) {
	for i, p := range m.Parts {
		var content []byte
		media := mediaOf(p)
		switch c := p.Content.(type) {
		case a2a.Text:
			if media != mediaCSV {
				continue
			}
			content = []byte(c)
		case a2a.Raw:
			content = c
		case a2a.URL:
			return f, false, fmt.Errorf("part %d is an address: send the bytes of the file", i+1)
		default:
			return f, false, fmt.Errorf("part %d is neither text nor a file", i+1)
		}
		switch {
		case media != mediaCSV:
			return f, false, fmt.Errorf("part %d has media type %q: a file of grants is %s", i+1, p.MediaType, mediaCSV)
		case sent:
			return f, false, fmt.Errorf("part %d is a second file: send one", i+1)
		}
		if f, err = parseFile(content); err != nil {
			return f, false, fmt.Errorf("part %d, %s: %w", i+1, mediaCSV, err)
		}
		sent = true
	}
	return f, sent, nil
}

// mediaOf is a part's media type without its parameters.
func mediaOf(p *a2a.Part) string {
	media, _, err := mime.ParseMediaType(p.MediaType)
	if err != nil {
		return p.MediaType
	}
	return media
}

// checkScope says whether the systems fit into one review.
func checkScope(systems []System) error {
	if len(systems) > maxSystems {
		return fmt.Errorf("there are %d systems and one review takes %d: review fewer at a time", len(systems), maxSystems)
	}
	bytes := 0
	for _, s := range systems {
		bytes += len(s.Name) + len(s.Owner)
	}
	if bytes > maxSystemBytes {
		return fmt.Errorf("the names of systems and owners have %d bytes and one review takes %d: review fewer systems at a time", bytes, maxSystemBytes)
	}
	return nil
}
