package asl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"
)

// defaultMaxClosed is how many closed names, and how many closed tokens, a runtime remembers by default: about 10 MB when full.
const defaultMaxClosed = 65_536

// Options are what a [Runtime] needs from outside. Invoke, Now, Rand and NewToken must be there.
type Options struct {
	// Invoke calls a function with a payload and gives its result. It is called from many goroutines at once. The context ends with
	// the attempt's time limit, which is also its deadline; a result that comes later is ignored. The error's name is that of [Error],
	// else Lambda.Unknown. A panic becomes an error of that name, without its stack.
	Invoke func(ctx context.Context, function string, payload json.RawMessage) (json.RawMessage, error)
	// Now gives the instants of the context object.
	Now func() time.Time
	// Rand gives jitter, in [0, 1). It is called from many goroutines at once.
	Rand func() float64
	// NewToken gives a callback token that nobody can guess and that never comes again.
	NewToken func() string
	// MaxEvents is the longest history of an execution, in events; 0 is the service's own 25,000.
	MaxEvents int
	// MaxClosed is how many closed names and tokens are remembered, each; 0 is 65,536.
	MaxClosed int
	// OnTransition is told of every state that is entered, and of every retry, before the state acts. May be nil.
	OnTransition func(execution, state string)
	// OnEnd is told once of every execution that ends, but not of those that Stop drops. May be nil.
	OnEnd func(execution string, result Result)
}

// Result is how an execution ended.
type Result struct {
	Err         *Error          // nil: it succeeded
	Output      json.RawMessage // of an execution that succeeded
	Transitions int             // states entered and retries, as AWS bills them
	Events      int             // of the history, as far as the interpreter models it
}

// Stats are counts of one runtime.
type Stats struct {
	Running     int // executions that a goroutine works on now
	Parked      int // executions that wait for time or for a callback
	Started     uint64
	Succeeded   uint64
	Failed      uint64
	Transitions uint64
}

// Runtime runs executions of one machine. All methods may be called from any goroutine, and from inside Invoke all but
// Stop, which would wait for itself.
//
// At any instant an execution belongs to one goroutine or is parked. Whoever takes it over (a timer, a callback, an
// invocation that returns) must show the turn at which it was told to, and each take-over begins a new turn: so of a
// timeout, a callback and a result that meet, the first one counts and the others find that they are late.
type Runtime struct {
	machine *Machine
	options Options
	ctx     context.Context // of the invocations
	cancel  context.CancelFunc
	idle    chan struct{} // closed when a stopped runtime has no goroutine left

	mu           sync.Mutex
	stopped      bool
	goroutines   int // that work on executions
	open         map[string]*execution
	tokens       map[string]*execution // open tokens only
	closed       *memory               // names
	closedTokens *memory
	stats        Stats
}

// NewRuntime gives a runtime with no executions. The error names the option that is missing.
func NewRuntime(m *Machine, options Options) (*Runtime, error) {
	switch {
	case m == nil:
		return nil, errors.New("asl: a runtime needs a machine")
	case options.Invoke == nil:
		return nil, errors.New("asl: a runtime needs Options.Invoke")
	case options.Now == nil:
		return nil, errors.New("asl: a runtime needs Options.Now")
	case options.Rand == nil:
		return nil, errors.New("asl: a runtime needs Options.Rand")
	case options.NewToken == nil:
		return nil, errors.New("asl: a runtime needs Options.NewToken")
	}
	if options.MaxEvents == 0 {
		options.MaxEvents = maxHistory
	}
	if options.MaxClosed == 0 {
		options.MaxClosed = defaultMaxClosed
	}
	ctx, cancel := context.WithCancel(context.Background())
	return &Runtime{
		machine: m, options: options, ctx: ctx, cancel: cancel, idle: make(chan struct{}),
		open: map[string]*execution{}, tokens: map[string]*execution{},
		closed: newMemory(options.MaxClosed), closedTokens: newMemory(options.MaxClosed),
	}, nil
}

var executionName = regexp.MustCompile(fmt.Sprintf(`^[0-9A-Za-z_-]{1,%d}$`, maxNameLength))

// Start begins an execution and returns before its first state acts. Like StartExecution of a STANDARD machine it is
// idempotent only while the first execution runs: the same name with byte-identical input gives nil and starts nothing. Errors:
// [ErrExecutionExists], [ErrInvalidName], [ErrInvalidInput], [ErrStopped].
func (r *Runtime) Start(name string, input json.RawMessage) error {
	if !executionName.MatchString(name) {
		return fmt.Errorf("%w: %q", ErrInvalidName, name)
	}
	if len(input) > maxPayload {
		return fmt.Errorf("%w: larger than 256 KiB", ErrInvalidInput)
	}
	document, err := decode(input)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidInput, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped {
		return ErrStopped
	}
	if running := r.open[name]; running != nil {
		if bytes.Equal(running.rawInput, input) {
			return nil
		}
		return fmt.Errorf("%w: %s runs with another input", ErrExecutionExists, name)
	}
	if r.closed.has(name) {
		return fmt.Errorf("%w: %s is closed", ErrExecutionExists, name)
	}
	e := &execution{name: name, rawInput: bytes.Clone(input), input: document, data: document, events: 1} // ExecutionStarted
	r.open[name] = e
	r.stats.Started++
	r.goroutines++
	go r.work(e, moveTo(r.machine.start))
	return nil
}

// Stop ends all movement: no state is entered any more, parked executions are dropped, and running invocations are waited for; what they
// return is dropped too. When ctx ends first, the invocations' contexts are canceled and Stop returns the context's error
// without waiting further. A second Stop waits like the first.
func (r *Runtime) Stop(ctx context.Context) error {
	r.mu.Lock()
	if !r.stopped {
		r.stopped = true
		for _, e := range r.open {
			e.stopTimer()
		}
		clear(r.open)
		clear(r.tokens)
		r.stats.Parked = 0
		if r.goroutines == 0 {
			close(r.idle)
		}
	}
	r.mu.Unlock()
	defer r.cancel()
	select {
	case <-r.idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("asl: invocations still run: %w", context.Cause(ctx))
	}
}

// Stats gives the counts of this instant.
func (r *Runtime) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	stats := r.stats
	stats.Running = len(r.open) - stats.Parked
	return stats
}
