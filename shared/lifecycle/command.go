package lifecycle

import (
	"encoding/json"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Command is what somebody asks of a task. The set is closed.
type Command interface{ command() }

// Submit creates the task. It is decided against an empty task that has only
// its Ref.
type Submit struct {
	ContextID     string
	Agent         string
	AgentVersion  int
	Step          string // first step
	Message       *a2a.Message
	Principal     string
	RequestDigest Digest
	Policy        Policy
}

// Grant asks for the lease.
type Grant struct {
	Holder     string
	Generation uint64
	Lease      time.Duration
	Grace      time.Duration
}

// Renew extends the lease.
type Renew struct {
	Holder string
	Fence  uint64
	Lease  time.Duration
	// Grace is given for tasks that were left to their workers (Leave): somebody must
	// look again when the lease has run out. 0 leaves alone when somebody must look.
	Grace time.Duration
}

// Release gives the lease back without having moved on.
type Release struct {
	Holder string
	Fence  uint64
	Grace  time.Duration
}

// Verb is how a holder's report ends.
type Verb string

// Verbs of a Report.
const (
	VerbSubStep  Verb = "sub-step" // commit and go on in the same step
	VerbProgress Verb = "progress" // as SubStep, and the last checkpoint stays when State is empty
	VerbContinue Verb = "continue" // on to the next step
	VerbPause    Verb = "pause"    // wait for somebody
	VerbSleep    Verb = "sleep"    // wait for time
	VerbRetry    Verb = "retry"    // this attempt failed; another one at Until
	VerbWait     Verb = "wait"     // the same attempt goes on at Until
	VerbComplete Verb = "complete"
	VerbReject   Verb = "reject"
	VerbFail     Verb = "fail"
	VerbCancel   Verb = "cancel" // acknowledges a requested cancellation
)

// Report is what the holder of the lease has to say: updates, a checkpoint, and
// how it goes on. All of it becomes one commit.
type Report struct {
	Holder string
	Fence  uint64
	Verb   Verb
	// Place is set for outside producers.
	Place *Place
	// Updates are progress messages and chunks, in order.
	Updates []Update
	// State is the agent's state (Continue, SubStep, Pause, Sleep).
	State json.RawMessage
	// Next is the step to run next (Continue, Pause, Sleep).
	Next string
	// Message goes with the new state: question, result, reason.
	Message *a2a.Message
	// Pause holds the terms of a pause; its number is assigned.
	Pause *PauseTerms
	// Until is when to run again (Sleep, Retry, Wait).
	Until time.Time
	// Reason explains Retry, Wait, Fail and Reject; it is shown to operators.
	Reason string
	// Keep keeps the lease after Continue: the holder goes on at once.
	Keep  bool
	Grace time.Duration
}

// Update is one visible piece of progress.
type Update struct {
	Message *a2a.Message // a progress message, or
	Chunk   *Chunk       // a chunk; its coordinate is assigned
	Append  bool         // the chunk extends the open revision
	// Named says that the chunk says itself where it stands: it is taken there or not at
	// all. Append has no meaning then.
	Named bool
	// There is what stands at a named coordinate already, nil for nothing. The authority
	// reads it.
	There *There
}

// PauseTerms are what an agent asks for when it pauses.
type PauseTerms struct {
	State     a2a.TaskState // InputRequired or AuthRequired
	Timeout   time.Duration // 0: DefaultPause
	Outcome   a2a.TaskState // at the deadline; empty: Failed
	Named     bool
	Challenge *Challenge // AuthRequired; number and expiry are assigned
}

// Reply is a caller's message to the task.
type Reply struct {
	Message *a2a.Message
	// Pause is the pause that the reply names, nil when it names none.
	Pause *int
	Grace time.Duration
}

// Authorize presents a verified receipt for the open challenge.
type Authorize struct {
	Receipt ReceiptRef
	Grace   time.Duration
}

// RequestCancel asks to cancel. Nobody holds the lease: the task is canceled at
// once. Somebody does: the decision is only a mark for the holder to meet.
type RequestCancel struct {
	Principal string
}

// Expire ends what time has ended: a pause past its deadline, a task past its
// longest life.
type Expire struct{}

// Restart raises the generation, so that a new execution can take over.
type Restart struct {
	// Generation is the one that is to be followed; 0 for whichever there is. Two
	// who find the same task stuck give it one new execution.
	Generation uint64
	// HolderGone is proof that no process which could hold the lease is alive.
	HolderGone bool
	// EndWait ends a wait for another attempt, or for an effect that is held: an
	// operator has seen to what it waited for. A sleep is the agent's, and stays.
	EndWait bool
	Grace   time.Duration
}

// Leave leaves a task that nobody holds to workers from outside.
type Leave struct{}

// Abandon ends a task that nothing could bring forward.
type Abandon struct {
	Reason string
}

func (Submit) command()        {}
func (Grant) command()         {}
func (Renew) command()         {}
func (Release) command()       {}
func (Report) command()        {}
func (Reply) command()         {}
func (Authorize) command()     {}
func (RequestCancel) command() {}
func (Expire) command()        {}
func (Restart) command()       {}
func (Leave) command()         {}
func (Abandon) command()       {}
