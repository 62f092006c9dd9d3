package watch

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Line is an update as one line of text for people. Control characters, which
// could do anything to a terminal, are spaces in it.
func Line(u Update) string {
	var head, text string
	switch ev := u.Event.(type) {
	case *a2a.TaskArtifactUpdateEvent:
		head, text = "artifact", artifactText(ev)
	case *a2a.TaskStatusUpdateEvent:
		head, text = StateName(ev.Status.State), messageText(ev.Status.Message)
	case *a2a.Task:
		head, text = StateName(ev.Status.State), messageText(ev.Status.Message)
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

func messageText(m *a2a.Message) string {
	if m == nil {
		return ""
	}
	var texts []string
	for _, p := range m.Parts {
		if text := p.Text(); text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " ")
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
	text := name
	for _, p := range ev.Artifact.Parts {
		text += " " + partSize(p)
	}
	if !ev.Append {
		text += ", from its beginning"
	}
	if ev.LastChunk {
		text += ", complete"
	}
	return text
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

func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}
