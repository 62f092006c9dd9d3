package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// update is something that callers see, under the sequence of its entry.
type update struct {
	seq  uint64
	body a2a.Event
}

// sendStreamingMessage begins or continues a task and streams what becomes of it
// (A2A §3.1.2). A repeated one streams the task that there is.
func (c *call) sendStreamingMessage(q request) {
	cursor, err := c.cursor(q)
	if err == nil && cursor.given() && q.id != "" {
		err = c.within(q.id, cursor) // before the message is committed
	}
	if err != nil {
		c.refuse(err)
		return
	}
	f, fresh, err := c.accept(q)
	if err != nil {
		c.refuse(err)
		return
	}
	s := stream{call: c, follower: f, history: q.history}
	if !fresh { // nothing of a new task can be missing
		s.cursor = cursor
		err = s.open()
	}
	if err != nil {
		c.refuse(err)
		return
	}
	s.run()
}

// subscribeToTask streams what becomes of a task that has not ended (§3.1.6).
func (c *call) subscribeToTask(q request) {
	cursor, err := c.cursor(q)
	if err == nil {
		_, err = c.known(q.id)
	}
	s := stream{call: c, follower: c.follow(q.id), cursor: cursor}
	if err == nil {
		err = s.open()
	}
	if err == nil && s.view.State().Terminal() {
		out := refuse(a2a.ErrUnsupportedOperation, "The task has ended; get it, or read its entries at %s/tasks/%s/ledger.", c.base(), q.id)
		out.task = q.id
		err = out
	}
	if err != nil {
		c.refuse(err)
		return
	}
	if !cursor.given() && s.view.State() == lifecycle.InputRequired {
		s.waiting = s.view.Seq()
	}
	s.run()
}

// cursor is where the caller's last stream was cut: the Last-Event-ID header, or
// what the extension's metadata says; of artifacts only that can.
func (c *call) cursor(q request) (cursor, error) {
	var r reader
	out := q.after
	if id := c.r.Header.Get("Last-Event-ID"); id != "" {
		seq, err := strconv.ParseUint(id, 10, 64)
		if err != nil {
			r.wrong("Last-Event-ID", "must be the sequence of an update, as sent in its SSE id")
		}
		out.seq, out.event = &seq, ""
	}
	return out, r.err()
}

// stream sends a task, and then its updates as they are committed (§3.5.2), each
// with its sequence as SSE id.
//
// A resumed stream sends the task without an id, for it stands before what is
// missing; then exactly what is missing, once and ascending. Updates that the task
// contains already are marked as replay: they are not to be folded into it.
type stream struct {
	*call
	*follower
	history *int
	cursor  cursor
	// at is the cursor in the task's history.
	at position
	// waiting is the sequence at which a subscriber found the task in input-required
	// and stays, for it asked to see what comes; 0 otherwise.
	waiting uint64
	// missing are the updates behind the cursor when the stream was opened.
	missing []update
	sent    uint64 // the last sequence that the caller has
	out     *patientWriter
}

// open folds the task as it is, and finds the cursor in it.
func (s *stream) open() error {
	entries, err := s.ledger.Entries(s.r.Context(), s.ref, 0, 0)
	if err != nil {
		return err
	}
	var all []update
	if err := s.intact(s.r.Context(), s.add(entries, func(seq uint64, body a2a.Event) { all = append(all, update{seq, body}) })); err != nil {
		return err
	}
	if len(entries) == 0 { // purged a moment ago
		return notFound(s.ref.Task)
	}
	if !s.cursor.given() {
		return nil
	}
	s.at, err = s.cursor.in(entries, all)
	for _, u := range all {
		if s.at.lacks(u) {
			s.missing = append(s.missing, u)
		}
	}
	return err
}

// within checks a cursor against a task.
func (c *call) within(id a2a.TaskID, k cursor) error {
	h, err := c.known(id)
	if err != nil {
		return err
	}
	if k.event == "" && len(k.chunks) == 0 {
		return reached(*k.seq, h.Seq) // the head suffices
	}
	s := stream{call: c, follower: c.follow(id), cursor: k}
	return s.open()
}

// reached refuses a cursor that lies beyond the end.
func reached(cursor, end uint64) error {
	var r reader
	if cursor > end {
		r.wrong("Last-Event-ID", "is %d, but the task's last sequence is %d: leave it out to start anew", cursor, end)
	}
	return r.err()
}

// run sends until the task or the caller is done, or the stream must be cut.
func (s *stream) run() {
	s.out = s.patientWriter()
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold updates back
	s.w.WriteHeader(http.StatusOK)

	record := Connection{At: lifecycle.Millis(s.Now()), ID: s.NewID(), Event: "open", Kind: s.name, Tenant: s.ref.Tenant, Task: s.ref.Task}
	if s.cursor.given() {
		record.From, s.sent = s.at.seq, s.at.seq
	}
	s.record(record)
	record.Reason = s.pump()
	record.At, record.Event, record.To = lifecycle.Millis(s.Now()), "close", s.sent
	s.record(record)
}

func (s *stream) record(c Connection) {
	if s.Connections != nil {
		s.Connections.Record(c)
	}
}

// pump returns the reason for which the stream closes.
func (s *stream) pump() string {
	ctx, cancel := s.patience(s.StreamLimit)
	defer cancel()
	err := s.begin()
	for err == nil {
		switch state := s.view.State(); {
		case state.Terminal():
			return ClosedTerminal
		case state == lifecycle.InputRequired && s.view.Seq() != s.waiting:
			return ClosedInput
		}
		err = s.next(ctx)
	}
	switch {
	case s.r.Context().Err() != nil || errors.Is(err, errNotTaken):
		return ClosedCaller
	case s.Closing.Err() != nil:
		return ClosedStopping
	case ctx.Err() != nil:
		return ClosedLimit
	}
	s.failed(s.ref, s.NewID(), err)
	return ClosedFault
}

// begin sends the task and what is missing.
func (s *stream) begin() error {
	first := update{seq: s.view.Seq(), body: s.view.Task()}
	if s.cursor.given() {
		first.seq = 0
	}
	for _, u := range s.missing {
		markReplay(u.body)
	}
	err := s.send(append([]update{first}, s.missing...))
	s.missing = nil
	return err
}

// markReplay marks an update that the task before it contains.
func markReplay(body a2a.Event) {
	if own, ok := body.Meta()[lifecycle.ExtensionURI].(map[string]any); ok {
		own["replay"] = true
	}
}

// next waits for commits and sends what callers see of them.
func (s *stream) next(ctx context.Context) error {
	quiet := time.NewTicker(s.KeepAlive)
	defer quiet.Stop()
	for {
		if err := s.watch(ctx, quiet.C); err != nil {
			return err
		}
		var updates []update
		err := s.read(ctx, func(seq uint64, body a2a.Event) { updates = append(updates, update{seq, body}) })
		if len(updates) > 0 {
			return errors.Join(s.send(updates), err)
		}
		if err != nil {
			return err
		}
	}
}

// watch waits for a commit. When there is nothing to be said for long it writes a
// comment, beside the watch: beginning that anew would have it look more often.
func (s *stream) watch(ctx context.Context, quiet <-chan time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	news, seq := make(chan error, 1), s.view.Seq()
	go func() { news <- s.ledger.Watch(ctx, s.ref, seq) }()
	for {
		select {
		case err := <-news:
			return err
		case <-quiet:
			if _, err := s.out.Write([]byte(": keep-alive\n\n")); err != nil {
				return err
			}
		}
	}
}

// maxBurst is how much of a long replay is held before it is sent.
const maxBurst = 64 << 10

// send writes updates as SSE events (§9.4.2, §11.7).
func (s *stream) send(updates []update) error {
	b := takeBuffer()
	defer giveBuffer(b)
	for i, u := range updates {
		if err := s.event(b, u); err != nil {
			return err
		}
		if b.Len() < maxBurst && i < len(updates)-1 {
			continue
		}
		if _, err := s.out.Write(b.Bytes()); err != nil {
			return err
		}
		b.Reset()
		s.sent = max(s.sent, u.seq)
	}
	return nil
}

func (s *stream) event(b *bytes.Buffer, u update) error {
	if u.seq > 0 {
		b.WriteString("id: ")
		b.Write(strconv.AppendUint(b.AvailableBuffer(), u.seq, 10))
		b.WriteByte('\n')
	}
	b.WriteString("data: ")
	body := wireUpdateOf(u.body)
	if task, ok := u.body.(*a2a.Task); ok {
		body.Task = wireTaskOf(task, s.history)
	}
	begin := b.Len()
	if err := s.frame(b, body); err != nil {
		return err
	}
	escapeNextLine(b, begin)
	b.WriteString("\n\n")
	return nil
}

// escapeNextLine escapes U+0085, which the encoder leaves as it is. SSE ends lines
// at CR and LF only, but readers that split at everything that Unicode calls a line
// break (the Python client's) would cut the event there.
func escapeNextLine(b *bytes.Buffer, begin int) {
	const nextLine = "\u0085"
	if !bytes.Contains(b.Bytes()[begin:], []byte(nextLine)) {
		return
	}
	line := bytes.ReplaceAll(b.Bytes()[begin:], []byte(nextLine), []byte(`\u0085`))
	b.Truncate(begin)
	b.Write(line)
}
