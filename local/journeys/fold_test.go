package journeys_test

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// folded is what a client makes of a stream, with nothing but the SDK's nouns.
type folded struct {
	status    a2a.TaskStatus
	artifacts []*a2a.Artifact
	said      []*a2a.Message // by the agent, but for the present status
	context   string
}

// add folds a frame of a stream in; a replay into a snapshot is not.
func (c *folded) add(f frame) {
	switch ev := f.event.(type) {
	case *a2a.Task:
		c.status, c.artifacts, c.context = ev.Status, slices.Clone(ev.Artifacts), ev.ContextID
		c.said = agentsOf(ev.History)
	case *a2a.TaskStatusUpdateEvent:
		if m := c.status.Message; m != nil {
			c.said = append(c.said, m)
		}
		c.status, c.context = ev.Status, ev.ContextID
	case *a2a.TaskArtifactUpdateEvent:
		i := slices.IndexFunc(c.artifacts, func(a *a2a.Artifact) bool { return a.ID == ev.Artifact.ID })
		switch {
		case i < 0:
			c.artifacts = append(c.artifacts, ev.Artifact)
		case ev.Append:
			whole := *c.artifacts[i]
			whole.Parts = append(slices.Clone(whole.Parts), ev.Artifact.Parts...)
			c.artifacts[i] = &whole
		default:
			c.artifacts[i] = ev.Artifact
		}
	}
}

func agentsOf(history []*a2a.Message) []*a2a.Message {
	return slices.DeleteFunc(slices.Clone(history), func(m *a2a.Message) bool { return m.Role != a2a.MessageRoleAgent })
}

// fold folds a whole stream.
func fold(frames []frame) *folded {
	c := &folded{}
	for _, f := range frames {
		c.add(f)
	}
	return c
}

// equals says how the fold differs from a task, empty for not at all.
func (c *folded) equals(t a2a.Task) string {
	for what, pair := range map[string][2]any{
		"the status":           {c.status, t.Status},
		"the artifacts":        {c.artifacts, t.Artifacts},
		"what the agent said":  {c.said, agentsOf(t.History)},
		"the task's contextId": {c.context, t.ContextID},
	} {
		a, errA := json.Marshal(pair[0])
		b, errB := json.Marshal(pair[1])
		if errA != nil || errB != nil || string(a) != string(b) {
			return fmt.Sprintf("%s: the stream gives\n%s\nGetTask says\n%s (%v, %v)", what, a, b, errA, errB)
		}
	}
	return ""
}
