package api

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Agent is what the door knows of an agent: how a task of it begins, and what its
// card says (A2A §4.4.1).
type Agent struct {
	Name string
	// Version is the one that new tasks run on.
	Version int
	// FirstStep is where new tasks begin.
	FirstStep   string
	Description string
	Skills      []a2a.AgentSkill
	InputModes  []string // media types; empty: text/plain
	OutputModes []string // media types; empty: text/plain
	// ExtendedSkills are on the extended card alone, which those see who have shown
	// who they are (§3.1.11). Without any there is no extended card.
	ExtendedSkills []a2a.AgentSkill
	// Extensions are those of the agent's own (§4.6). Requests that do not name one
	// which is required are refused.
	Extensions []a2a.AgentExtension
	// Validate refuses a first message before anything is written; its error's text
	// goes to the caller as InvalidParams, unless it wraps one of A2A's errors. nil
	// takes everything.
	Validate func(*a2a.Message) error
	// KeyedByMessageID makes the messageId the submission key of requests that bring
	// no other.
	KeyedByMessageID bool
	// Policy is what its new tasks are judged by. Without a version: Config.Policy.
	Policy lifecycle.Policy
	// Outside says that its tasks are worked on by outside producers: executions are
	// told nothing of them, and POST /tasks/{id}/events takes events.
	Outside bool
}

// Keys are the deployment's: every process of it has the same.
type Keys interface {
	// Code is a keyed digest, by which a page token is known again.
	Code(ctx context.Context, content []byte) ([]byte, error)
	// SignCard signs the canonical JSON of a card (§8.4.2), with each key that there is.
	SignCard(ctx context.Context, canonical []byte, keySetURL string) ([]a2a.AgentCardSignature, error)
	// KeySet is the JWK Set with the public keys of card signatures.
	KeySet(ctx context.Context) ([]byte, error)
}

// Executions is told what was committed, after the commit. Twice is once, and an
// error is only logged: the sweep finds what was not told.
type Executions interface {
	// Submitted: a new task waits for its first execution (generation 1).
	Submitted(ctx context.Context, h lifecycle.Head) error
	// Answered: a pause was closed, by a reply, a cancellation or its deadline. The
	// execution that is parked on it goes on, or ends.
	Answered(ctx context.Context, h lifecycle.Head, pause int) error
}
