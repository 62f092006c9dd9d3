package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
)

// extension is the URI under which the server puts its own metadata.
const extension = "urn:holdfast:a2a:durable-task:v1"

// peer is the SDK's client against one server, over one binding.
type peer struct {
	*a2aclient.Client

	base    string
	binding a2a.TransportProtocol
	card    *a2a.AgentCard
}

func newPeer(ctx context.Context, base, binding string) (*peer, error) {
	card, err := agentcard.DefaultResolver.Resolve(ctx, base)
	if err != nil {
		return nil, err
	}
	p := &peer{base: base, binding: a2a.TransportProtocol(binding), card: card}
	p.Client, err = a2aclient.NewFromCard(ctx, card, a2aclient.WithConfig(a2aclient.Config{PreferredTransports: []a2a.TransportProtocol{p.binding}}))
	return p, err
}

func text(s string) *a2a.Part { return a2a.NewTextPart(s) }

func data(v any) *a2a.Part {
	p := a2a.NewDataPart(v)
	p.MediaType = "application/json"
	return p
}

func message(parts ...*a2a.Part) *a2a.Message { return a2a.NewMessage(a2a.MessageRoleUser, parts...) }

// reply is a message to a task.
func reply(id a2a.TaskID, words string) *a2a.Message {
	m := message(text(words))
	m.TaskID = id
	return m
}

func textOf(m *a2a.Message) string {
	var out strings.Builder
	if m != nil {
		for _, part := range m.Parts {
			out.WriteString(part.Text())
		}
	}
	return out.String()
}

// own is our extension's metadata.
func own(metadata map[string]any) map[string]any {
	m, _ := metadata[extension].(map[string]any)
	return m
}

// send sends a message; the answer must be a task.
func (p *peer) send(ctx context.Context, m *a2a.Message, config *a2a.SendMessageConfig) (*a2a.Task, error) {
	result, err := p.SendMessage(ctx, &a2a.SendMessageRequest{Message: m, Config: config})
	if err != nil {
		return nil, err
	}
	task, ok := result.(*a2a.Task)
	if !ok {
		return nil, fmt.Errorf("the answer is a %T", result)
	}
	return task, nil
}

func (p *peer) get(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	return p.GetTask(ctx, &a2a.GetTaskRequest{ID: id})
}

func (p *peer) cancel(ctx context.Context, id a2a.TaskID) (*a2a.Task, error) {
	return p.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
}

// poll gets the task until it is as wanted.
func (p *peer) poll(ctx context.Context, id a2a.TaskID, until func(a2a.TaskStatus) bool) (*a2a.Task, error) {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for {
		task, err := p.get(ctx, id)
		if err != nil || until(task.Status) {
			return task, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the task is still %s: %w", task.Status.State, ctx.Err())
		case <-look.C:
		}
	}
}

func (p *peer) stream(ctx context.Context, m *a2a.Message, until func(*seen) bool) (*seen, error) {
	return fold(p.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: m}), until)
}

// subscribe follows a task to the end of the stream. after is a cursor, or empty.
func (p *peer) subscribe(ctx context.Context, id a2a.TaskID, after string) (*seen, error) {
	if after != "" {
		ctx = a2aclient.AttachServiceParams(ctx, a2aclient.ServiceParams{"Last-Event-ID": {after}})
	}
	return fold(p.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}), nil)
}

// seen is what a client knows of a task from its stream alone. The SDK's client
// brings no fold: this is A2A §4.2.2.
type seen struct {
	task      *a2a.Task
	sequences []uint64
	texts     []string // the status messages of the updates
	chunks    int
	replayed  int
}

var errEmpty = errors.New("the stream was empty")

// fold folds a stream to its end, or drops it once the condition holds.
func fold(events iter.Seq2[a2a.Event, error], until func(*seen) bool) (*seen, error) {
	s := &seen{}
	for event, err := range events {
		if err == nil {
			err = s.add(event)
		}
		if err != nil {
			return nil, err
		}
		if until != nil && until(s) {
			return s, nil
		}
	}
	switch {
	case s.task == nil:
		return nil, errEmpty
	case until != nil:
		return nil, errors.New("the stream ended before it could be cut")
	}
	return s, nil
}

func (s *seen) add(event a2a.Event) error {
	if task, ok := event.(*a2a.Task); ok {
		if s.task != nil {
			return errors.New("a stream carries the task once, at its beginning")
		}
		s.task = task
		return nil
	}
	if s.task == nil {
		return fmt.Errorf("the stream begins with a %T, not with the task", event)
	}
	info := event.TaskInfo()
	if err := same(info, s.task.TaskInfo(), "taskId and contextId of an update"); err != nil {
		return err
	}
	mine := own(event.Meta())
	sequence, _ := mine["sequence"].(float64)
	s.sequences = append(s.sequences, uint64(sequence))
	replay, _ := mine["replay"].(bool)
	if replay {
		s.replayed++
	}
	switch u := event.(type) {
	case *a2a.TaskStatusUpdateEvent:
		if u.Status.Message != nil {
			s.texts = append(s.texts, textOf(u.Status.Message))
		}
		if !replay {
			s.task.Status = u.Status
		}
	case *a2a.TaskArtifactUpdateEvent:
		if !replay {
			s.chunks++
			return s.addChunk(u)
		}
	default:
		return fmt.Errorf("the stream carries a %T", event)
	}
	return nil
}

func (s *seen) addChunk(u *a2a.TaskArtifactUpdateEvent) error {
	i := slices.IndexFunc(s.task.Artifacts, func(a *a2a.Artifact) bool { return a.ID == u.Artifact.ID })
	switch {
	case u.Append && i < 0:
		return fmt.Errorf("an append to an artifact that is not there: %s", u.Artifact.ID)
	case u.Append:
		s.task.Artifacts[i].Parts = append(s.task.Artifacts[i].Parts, u.Artifact.Parts...)
	case i >= 0:
		s.task.Artifacts[i] = u.Artifact
	default:
		s.task.Artifacts = append(s.task.Artifacts, u.Artifact)
	}
	return nil
}

// numbers are those of the texts that are numbers.
func (s *seen) numbers() []int {
	var list []int
	for _, t := range s.texts {
		if n, err := strconv.Atoi(t); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// ascends says that no sequence came twice or late.
func (s *seen) ascends() error {
	sorted := slices.Compact(slices.Sorted(slices.Values(s.sequences)))
	return same(s.sequences, sorted, "sequences")
}

// agrees compares what was folded with what GetTask says.
func (p *peer) agrees(ctx context.Context, s *seen) (*a2a.Task, error) {
	task, err := p.get(ctx, s.task.ID)
	if err != nil {
		return nil, err
	}
	return task, first(
		same(s.task.Status, task.Status, "status from the stream, and of GetTask"),
		same(s.task.Artifacts, task.Artifacts, "artifacts from the stream, and of GetTask"),
	)
}
