package lambdahost

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"os/exec"
	"sync"
	"time"
)

// exitTime is how long the pipes of a killed process are waited for: a child of its
// own may hold them open.
const exitTime = 5 * time.Second

// process is one process of a function, with a Runtime API of its own.
type process struct {
	function *Function
	cmd      *exec.Cmd
	server   *http.Server
	next     chan *invocation // what it is to do next
	exited   chan struct{}
	startAt  time.Time
	passing  sync.WaitGroup // answers that are on their way; none begins when it is dead

	mu      sync.Mutex
	asked   bool        // it has asked for an invocation, so its init is over
	current *invocation // what it was given, and has not completed
	failed  error       // what it said of that
	dead    bool
	cause   error // why it was killed, or what it said of its init; nil: it exited
}

// start starts a process. The function's lock is held.
func (f *Function) start(name string) (*process, error) {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &process{function: f, next: make(chan *invocation, 1), exited: make(chan struct{}), startAt: f.config.Now()}
	p.server = &http.Server{Handler: p.runtimeAPI(), ReadHeaderTimeout: exitTime}
	p.cmd = exec.Command(f.config.Binary) //nolint:noctx // it outlives every context; Kill and Close end it
	p.cmd.Env = environment(f.config, listener.Addr().String(), name)
	p.cmd.Stdout, p.cmd.Stderr = f.logs, f.logs
	p.cmd.WaitDelay = exitTime
	if err := p.cmd.Start(); err != nil {
		_ = listener.Close()
		return nil, err
	}
	go func() { _ = p.server.Serve(listener) }()
	go p.wait()
	return p, nil
}

// wait cleans up when the process has exited. What it had sent before is passed on
// first.
func (p *process) wait() {
	text := "exit status 0"
	if err := p.cmd.Wait(); err != nil {
		text = err.Error()
	}
	p.function.gone(p)
	p.drain()
	_ = p.server.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		p.current.end(cmp.Or[error](p.failed, p.cause, &FunctionError{Type: "Runtime.ExitError", Message: "Runtime exited with error: " + text}))
	}
	close(p.exited)
}

// drain waits until what the process had sent was passed on. Whoever invoked it and
// neither reads nor closes the response is waited for no longer than exitTime.
func (p *process) drain() {
	p.mu.Lock()
	p.dead = true
	p.mu.Unlock()
	passed := make(chan struct{})
	go func() {
		p.passing.Wait()
		close(passed)
	}()
	patience := time.NewTimer(exitTime)
	defer patience.Stop()
	select {
	case <-passed:
	case <-patience.C:
	}
}

// take gives the process, which is idle or new, something to do.
func (p *process) take(v *invocation) {
	p.mu.Lock()
	p.current, p.failed = v, nil
	p.mu.Unlock()
	p.next <- v
}

// bound ends an invocation at its deadline, as Lambda does: with the process.
func (p *process) bound(v *invocation) {
	ctx, cancel := context.WithDeadline(context.Background(), v.deadlineAt)
	defer cancel()
	select {
	case <-v.done:
	case <-ctx.Done():
		p.kill(&FunctionError{Type: "Sandbox.Timedout", Message: "RequestId: " + v.id + " Error: Task timed out"})
	}
}

// kill ends the process. The first cause stays.
func (p *process) kill(cause error) {
	p.because(cause)
	_ = p.cmd.Process.Kill()
}

func (p *process) because(cause error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == nil {
		p.cause = cause
	}
}

// report keeps what the process says of its invocation until that is completed.
func (p *process) report(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failed = err
}

// answer is the invocation of an ID whose answer begins, if the process has it. The
// caller says when it was passed on.
func (p *process) answer(id string) *invocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.id != id || p.dead {
		return nil
	}
	p.passing.Add(1)
	return p.current
}

// working is the invocation of an ID, if the process has it.
func (p *process) working(id string) *invocation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil || p.current.id != id {
		return nil
	}
	return p.current
}
