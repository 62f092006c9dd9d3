package boot

import (
	"cmp"
	"time"

	"github.com/holdfast-a2a/holdfast/infra/dynamo"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/health"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Defaults of what only functions have.
const (
	// defaultReserve is enough for the last commit of a step, and for a stream to end.
	defaultReserve = 10 * time.Second
	// defaultSweepMost bounds a sweep: one that falls behind goes on a minute later.
	defaultSweepMost = 1_000
	// bufferedReserve and bufferedStream belong to a buffered integration, which API
	// Gateway ends after 29 s.
	bufferedReserve = 2 * time.Second
	bufferedStream  = 25 * time.Second
)

// storage is where tasks are.
type storage struct {
	tables dynamo.Names
	bucket string
	// deployment tells its metrics from others' of the account.
	deployment string
}

func readStorage(v *variables) storage {
	return storage{
		tables: dynamo.Names{
			Tasks:   v.needed(tasksTable, "the name of the streamed table"),
			Private: v.needed(privateTable, "the name of the table that is not streamed"),
		},
		bucket:     v.needed(blobsBucket, "the name of the bucket of large parts"),
		deployment: cmp.Or(v.text(deployment), defaultDeployment),
	}
}

func readMachine(v *variables) string {
	return v.machine(stateMachine, "the ARN of the state machine's alias")
}

func readDeliveryMachine(v *variables) string {
	return v.machine(deliveryMachine, "the ARN of the delivery machine's alias")
}

// timing is how long things last.
type timing struct {
	lease, renewal, grace time.Duration
	// late and window are those of the lights.
	late, window time.Duration
}

func readTiming(v *variables) timing {
	t := timing{
		lease:   v.span(lease, lifecycle.DefaultLease, time.Second),
		renewal: v.span(renewal, lifecycle.DefaultRenewal, time.Millisecond),
		grace:   v.span(grace, lifecycle.DefaultGrace, time.Millisecond),
		late:    v.span(healthLate, health.DefaultLate, time.Second),
		window:  v.span(healthWindow, health.DefaultWindow, time.Second),
	}
	if 2*t.renewal > t.lease {
		v.wrong(renewal, "is %s: at most half of the lease of %s, so that one renewal may be lost", t.renewal, t.lease)
	}
	return t
}

// readReserve reads what is kept free at the end of an invocation.
func readReserve(v *variables, otherwise time.Duration) time.Duration {
	return v.span(reserve, otherwise, time.Second)
}

// door is how the API answers.
type door struct {
	base                                        string
	streams                                     bool
	reserve, waitBudget, keepAlive, streamLimit time.Duration
}

func readDoor(v *variables) door {
	d := door{
		base: v.address(publicURL), streams: v.flag(streaming, true),
		waitBudget: v.span(waitBudget, api.DefaultWaitBudget, time.Second),
		keepAlive:  v.span(keepAlive, api.DefaultKeepAlive, time.Second),
	}
	if d.streams {
		d.reserve = readReserve(v, defaultReserve)
		d.streamLimit = v.span(streamLimit, api.DefaultStreamLimit, time.Second)
	} else {
		d.reserve = readReserve(v, bufferedReserve)
		d.streamLimit = v.span(streamLimit, bufferedStream, time.Second)
	}
	return d
}
