package watch

import "time"

const (
	// maxFrameBytes bounds one frame and one answer: a task with all its artifacts
	// must fit, a stream that never ends a frame must not fill the memory.
	maxFrameBytes = 64 << 20
	// firstDelay is the wait after the first failure; the door's restart takes less
	// than a second.
	firstDelay = 200 * time.Millisecond
	// maxDelay is how long a reply to a pause can go unnoticed.
	maxDelay = 5 * time.Second
	// defaultPatience outlives a deploy.
	defaultPatience = 5 * time.Minute
	// defaultSilence is three keep-alive comments of the door.
	defaultSilence = 45 * time.Second
)
