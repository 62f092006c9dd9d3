// Package lambdahost runs the compiled binaries of Lambda functions on one machine: a
// small host that speaks the Runtime API (AWS Lambda, "Using the Lambda runtime API
// for custom runtimes") to child processes, with the environment that they would
// have, and an HTTP front that stands for API Gateway.
//
// It is a kit for tests and for the drivers of make integration. What it keeps of
// Lambda, because our functions depend on it:
//
//   - A process serves one invocation at a time, which is over when it asks for the
//     next one. More at once are more processes, up to a limit; then ErrThrottled.
//   - A response streams as it is written, through chunked transfer; its error is in the
//     trailers. Whoever invoked and went away is never made known to the function.
//   - A process that exits, or does not end by its deadline, is killed and replaced at
//     the next invocation; the one that it served fails with Lambda's error types.
//   - Requests end at 6 MB, streams at 200 MB, and the metadata of a streamed HTTP answer
//     stands in its first 16 KB.
//
// It has no IAM, no freezing between invocations, no billing and no cold-start
// latency but the process's own.
package lambdahost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Limits of Lambda ("Lambda quotas").
const (
	maxPayloadBytes = 6 << 20   // of a request, and of an answer that is not streamed
	maxStreamBytes  = 200 << 20 // of a streamed answer
)

var (
	// ErrThrottled: every process that the function may have is busy.
	ErrThrottled = errors.New("TooManyRequestsException: every process of the function is busy")
	// ErrTooLarge: the payload is larger than 6 MiB.
	ErrTooLarge = errors.New("RequestEntityTooLargeException: the payload is larger than 6 MB")
	// ErrClosed: the function was closed.
	ErrClosed = errors.New("the function was closed")
)

// FunctionError is what a function reported, or what Lambda says of one that could
// not.
type FunctionError struct {
	Type    string `json:"errorType"`
	Message string `json:"errorMessage"`
}

// Error implements error.
func (e *FunctionError) Error() string { return e.Type + ": " + e.Message }

// Config is a function.
type Config struct {
	// Binary is the path of the compiled bootstrap.
	Binary string
	// Name is the function's.
	Name string
	// Env are variables beside Lambda's own, as NAME=value; later ones win.
	Env []string
	// Processes is how many there may be at once, reserved concurrency; zero means one.
	Processes int
	// Logs gets what the processes print. nil drops it.
	Logs io.Writer
	// Now is the clock by which init is measured.
	Now func() time.Time
}

// Function runs the processes of one function.
type Function struct {
	config Config
	logs   *lineWriter

	mu     sync.Mutex
	closed bool
	idle   []*process // the most recent last, which is taken first
	living map[*process]bool
	count  int // invocations and processes, for their names
	inits  []time.Duration
}

// New makes a function. Processes start with invocations.
func New(c Config) *Function {
	if c.Logs == nil {
		c.Logs = io.Discard
	}
	c.Processes = max(c.Processes, 1)
	return &Function{config: c, logs: &lineWriter{to: c.Logs}, living: map[*process]bool{}}
}

// Invoke calls the function and returns when it begins to answer. A function that
// failed instead gives a *FunctionError; reading gives one when it failed later. When the
// context ends, the function goes on until its deadline.
func (f *Function) Invoke(ctx context.Context, payload []byte, deadlineAt time.Time) (io.ReadCloser, error) {
	if len(payload) > maxPayloadBytes {
		return nil, ErrTooLarge
	}
	v, err := f.assign(payload, deadlineAt)
	if err != nil {
		return nil, err
	}
	select {
	case r := <-v.begun:
		return r, nil
	case <-v.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case r := <-v.begun: // it began and ended at once
		return r, nil
	default:
		return nil, v.err
	}
}

// Call invokes the function and reads its whole answer.
func (f *Function) Call(ctx context.Context, payload []byte, deadlineAt time.Time) ([]byte, error) {
	r, err := f.Invoke(ctx, payload, deadlineAt)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(r)
}

// assign gives the invocation to an idle process or to a new one.
func (f *Function) assign(payload []byte, deadlineAt time.Time) (*invocation, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	var p *process
	switch n := len(f.idle); {
	case n > 0:
		p, f.idle = f.idle[n-1], f.idle[:n-1]
	case len(f.living) >= f.config.Processes:
		return nil, ErrThrottled
	default:
		f.count++
		var err error
		if p, err = f.start(strconv.Itoa(f.count)); err != nil {
			return nil, fmt.Errorf("starting a process of %s: %w", f.config.Name, err)
		}
		f.living[p] = true
	}
	f.count++
	v := newInvocation(fmt.Sprintf("00000000-0000-4000-8000-%012d", f.count), payload, deadlineAt)
	p.take(v)
	go p.bound(v)
	return v, nil
}

// ready takes back a process that asked for its next invocation.
func (f *Function) ready(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.living[p] {
		f.idle = append(f.idle, p)
	}
}

// gone forgets a process that has exited.
func (f *Function) gone(p *process) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.living, p)
	f.idle = slices.DeleteFunc(f.idle, func(other *process) bool { return other == p })
}

func (f *Function) initialised(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.inits = append(f.inits, d)
}

// Inits are the times that processes took from their start to their first request
// for an invocation, in the order in which they were ready.
func (f *Function) Inits() []time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.inits)
}

// Kill sends SIGKILL to every process, waits for their end and says how many there
// were. The next invocation starts a new one.
func (f *Function) Kill() int {
	f.mu.Lock()
	all := slices.Collect(maps.Keys(f.living))
	f.mu.Unlock()
	for _, p := range all {
		p.kill(nil)
	}
	for _, p := range all {
		<-p.exited
	}
	return len(all)
}

// Close kills every process and refuses what comes later.
func (f *Function) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.Kill()
}
