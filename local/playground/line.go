package playground

import (
	"fmt"
	"strings"

	"github.com/holdfast-a2a/holdfast/events/receiver"
)

// Line is a request for people.
func Line(r Request) string {
	at := r.At.Format("15:04:05.000")
	switch {
	case r.Told != "":
		return fmt.Sprintf("%s  webhook made to fail: %s", at, r.Told)
	case r.Refused != "":
		return fmt.Sprintf("%s  webhook refused: %s", at, r.Refused)
	}
	what := r.Kind
	if r.State != "" {
		what = strings.ToLower(strings.TrimPrefix(r.State, "TASK_STATE_"))
	}
	line := fmt.Sprintf("%s  webhook %s %4d  %-16s %s", at, r.Task, r.Sequence, what, r.Outcome)
	switch r.Outcome {
	case receiver.Repeat:
		line += ", stored before under " + r.ID
	case receiver.Late:
		line += ", behind one that was stored"
	}
	return line
}
