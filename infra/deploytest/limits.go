package main

import "time"

const (
	// playTime is for everything: most of it goes into builds.
	playTime = 15 * time.Minute
	// readyTime is for a server that has just been started.
	readyTime = time.Minute
	// waitTime is for something that a task must do. The first invocation of a function unpacks and starts it.
	waitTime = 2 * time.Minute
	// requestTime is API Gateway's limit for an answer that is not streamed, and a little.
	requestTime = 40 * time.Second
	lookEvery   = 250 * time.Millisecond
	stopTime    = 10 * time.Second

	// answerTime replaces the seven days of a pause in the second build; parkTime is how long the emulator's Await state
	// then waits: longer, so that Settle finds the deadline passed.
	answerTime = 6 * time.Second
	parkTime   = 8 * time.Second

	maxAnswerBytes = 8 << 20
)
