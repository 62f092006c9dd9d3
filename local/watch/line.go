package watch

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// maxTextRunes is how much of a message stands in a line.
const maxTextRunes = 120

// Line is an update as one line of text for people. Long texts are cut, and control
// characters, which could do anything to a terminal, are spaces in it.
func Line(u Update) string {
	var head, text string
	switch ev := u.Event.(type) {
	case *a2a.TaskArtifactUpdateEvent:
		head, text = "artifact", artifactText(ev)
	case *a2a.TaskStatusUpdateEvent:
		head, text = StateName(ev.Status.State), clip(Text(ev.Status.Message))
	case *a2a.Task:
		head, text = StateName(ev.Status.State), clip(Text(ev.Status.Message))
	default:
		head = "message"
	}
	return strings.TrimRight(printable(fmt.Sprintf("%6d  %-14s  %s", u.Seq, head, text)), " ")
}

// StateName is a state as people write it: input-required.
func StateName(s a2a.TaskState) string {
	name := strings.TrimPrefix(string(s), "TASK_STATE_")
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}

// Text is the text of a message, in as many lines as it has, without other control
// characters. A message that is nil has none.
func Text(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var texts []string
	for _, p := range m.Parts {
		if text := p.Text(); text != "" {
			texts = append(texts, text)
		}
	}
	lines := strings.Split(strings.Join(texts, "\n"), "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

// clip bounds a text to what fits a line.
func clip(s string) string {
	runes := 0
	for i := range s {
		if runes++; runes > maxTextRunes {
			return s[:i] + "…"
		}
	}
	return s
}

// artifactText says which artifact grew by how much.
func artifactText(ev *a2a.TaskArtifactUpdateEvent) string {
	if ev.Artifact == nil {
		return ""
	}
	name := ev.Artifact.Name
	if name == "" {
		name = string(ev.Artifact.ID)
	}
	var text strings.Builder
	text.WriteString(name)
	for _, p := range ev.Artifact.Parts {
		text.WriteString(" " + partSize(p))
	}
	if !ev.Append {
		text.WriteString(", from its beginning")
	}
	if ev.LastChunk {
		text.WriteString(", complete")
	}
	return text.String()
}

func partSize(p *a2a.Part) string {
	var size int
	switch content := p.Content.(type) {
	case a2a.Text:
		size = len(content)
	case a2a.Raw:
		size = len(content)
	case a2a.URL:
		return "at " + string(content)
	case a2a.Data:
		text, err := json.Marshal(content.Value)
		if err != nil {
			return "of unknown size"
		}
		size = len(text)
	}
	return fmt.Sprintf("+%d bytes", size)
}

// printable puts spaces in the place of control characters, those included that turn
// the direction of text around.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
}
