package lambdahost

import (
	"io"
	"sync"
	"time"
)

// invocation is one call of a function, from its assignment to a process until that
// asks for the next one or exits.
type invocation struct {
	id         string
	payload    []byte
	deadlineAt time.Time
	begun      chan io.ReadCloser // gets the response when it begins
	done       chan struct{}
	once       sync.Once
	err        error          // of the function; set before done is closed
	to         *io.PipeWriter // of the response
	from       *io.PipeReader
}

func newInvocation(id string, payload []byte, deadlineAt time.Time) *invocation {
	v := &invocation{id: id, payload: payload, deadlineAt: deadlineAt, begun: make(chan io.ReadCloser, 1), done: make(chan struct{})}
	v.from, v.to = io.Pipe()
	return v
}

// end completes the invocation. The response ends only now, so that whoever has
// read it to its end finds the process idle.
func (v *invocation) end(err error) {
	v.once.Do(func() {
		v.err = err
		_ = v.to.CloseWithError(err) // nil is io.EOF
		close(v.done)
	})
}
