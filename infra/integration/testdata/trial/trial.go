// Package hello, in this build, is an agent on trial: it does what tests ask it to.
//
//	ask N      asks N questions, one after the other, and says what was answered
//	work       asks once, then reports "half-way" as a sub-step and completes
//	authorize  asks for an authorization, and completes with it
//	produce    emits all that is too large for one item of a table
package hello

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/agent"
)

// What is produced, beside the text that the caller sends.
const (
	notes    = 2000 // progress messages, which become the history
	objects  = 300  // artifacts in all
	pieces   = 3    // chunks of one of them, each a commit
	rawBytes = 5 << 20
	perTurn  = 40 // progress messages of one commit
	perStep  = 8  // artifacts of one commit
)

type trial struct {
	Left    int      `json:"left,omitempty"`
	Answers []string `json:"answers,omitempty"`
	Work    bool     `json:"work,omitempty"`
	Half    bool     `json:"half,omitempty"`
	Notes   int      `json:"notes,omitempty"`
}

// Agent is the agent.
var Agent = agent.New("trial", 1,
	agent.Step[trial]{Name: "begin", Run: begin},
	agent.Step[trial]{Name: "ask", Run: ask},
	agent.Step[trial]{Name: "answer", Run: answer},
	agent.Step[trial]{Name: "work", Run: work},
	agent.Step[trial]{Name: "act", Run: act},
	agent.Step[trial]{Name: "note", Run: note, Timeout: 5 * time.Minute},
	agent.Step[trial]{Name: "large", Run: large},
	agent.Step[trial]{Name: "many", Run: many, Timeout: 5 * time.Minute},
).Describe(agent.Card{Description: "Does what tests ask it to."}).KeyedByMessageID()

func begin(_ context.Context, t *agent.Task[trial]) (agent.Next, error) {
	switch word, rest, _ := strings.Cut(t.Message.Parts[0].Text(), " "); word {
	case "ask":
		n, err := strconv.Atoi(rest)
		t.State.Left = n
		return agent.Continue("ask"), agent.Permanent(err)
	case "work":
		t.State.Left, t.State.Work = 1, true
		return agent.Continue("ask"), nil
	case "authorize":
		return agent.Authorize("act", "May I act?", "act", agent.For(time.Hour)), nil
	case "produce":
		return agent.Continue("large"), nil
	default:
		return agent.Complete("Nothing to do."), nil
	}
}

func act(context.Context, *agent.Task[trial]) (agent.Next, error) {
	return agent.Complete("Acted."), nil
}

func ask(_ context.Context, t *agent.Task[trial]) (agent.Next, error) {
	return agent.Pause(fmt.Sprintf("Question %d?", len(t.State.Answers)+1), "answer", agent.For(time.Hour)), nil
}

func answer(_ context.Context, t *agent.Task[trial]) (agent.Next, error) {
	t.State.Answers = append(t.State.Answers, agent.Text(t.Message))
	switch t.State.Left--; {
	case t.State.Left > 0:
		return agent.Continue("ask"), nil
	case t.State.Work:
		return agent.Continue("work"), nil
	}
	return agent.Complete("You said " + strings.Join(t.State.Answers, ", ") + "."), nil
}

func work(ctx context.Context, t *agent.Task[trial]) (agent.Next, error) {
	if !t.State.Half {
		t.State.Half = true
		t.Report("half-way")
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	return agent.Complete("You said " + strings.Join(t.State.Answers, ", ") + "."), nil
}

// large emits the caller's second part as it came, and as many bytes as no item takes.
func large(_ context.Context, t *agent.Task[trial]) (agent.Next, error) {
	if len(t.Message.Parts) != 2 {
		return agent.Next{}, agent.Permanent(fmt.Errorf("%d parts, want a word and a text", len(t.Message.Parts)))
	}
	t.Emit(agent.Chunk{Artifact: "text", Part: a2a.NewTextPart(t.Message.Parts[1].Text()), Last: true})
	t.Emit(agent.Chunk{Artifact: "raw", Part: a2a.NewRawPart(bytes.Repeat([]byte("holdfast"), rawBytes/8)), Last: true})
	return agent.Continue("note"), nil
}

func note(ctx context.Context, t *agent.Task[trial]) (agent.Next, error) {
	for t.State.Notes < notes {
		for range perTurn {
			t.State.Notes++
			t.Report("note " + strconv.Itoa(t.State.Notes))
		}
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	return agent.Continue("many"), nil
}

// many goes on with the artifacts where an earlier attempt had got to.
func many(ctx context.Context, t *agent.Task[trial]) (agent.Next, error) {
	for n := t.Progress("pieces").Chunks + 1; n <= pieces; n++ {
		t.Emit(agent.Chunk{Artifact: "pieces", Part: a2a.NewTextPart(fmt.Sprintf("piece %d. ", n)), Append: n > 1, Last: n == pieces})
		if err := t.Commit(ctx); err != nil {
			return agent.Next{}, err
		}
	}
	inCommit := 0
	for n := 4; n <= objects; n++ { // after text, raw and pieces
		id := a2a.ArtifactID(fmt.Sprintf("object-%03d", n))
		if t.Progress(id).Sealed {
			continue
		}
		t.Emit(agent.Chunk{Artifact: id, Part: a2a.NewTextPart(string(id)), Last: true})
		if inCommit++; inCommit%perStep == 0 {
			if err := t.Commit(ctx); err != nil {
				return agent.Next{}, err
			}
		}
	}
	return agent.Complete("Produced."), nil
}
