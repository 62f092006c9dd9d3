package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// scenarios are what each client goes through.
var scenarios = []scenario{
	{"card", card},
	{"blocking send", blockingSend},
	{"non-blocking send and poll", nonBlockingSend},
	{"streaming to the end", streaming},
	{"cut and resubscribe", resubscribe},
	{"resume behind a cursor", cursor},
	{"quiet stream", quiet},
	{"input-required and answer", inputRequired},
	{"cancel", cancel},
	{"push configuration", push},
	{"list with paging", listing},
	{"terminal-task errors", terminal},
	{"non-ASCII text", nonASCII},
	{"1 MB data part", large},
	{"null values", nulls},
}

var immediately = &a2a.SendMessageConfig{ReturnImmediately: true}

func card(_ context.Context, p *peer) (string, error) {
	var interfaces, skills []string
	for _, i := range p.card.SupportedInterfaces {
		interfaces = append(interfaces, fmt.Sprint(i.ProtocolBinding, " ", i.ProtocolVersion))
	}
	for _, s := range p.card.Skills {
		skills = append(skills, s.ID)
	}
	announced := slices.ContainsFunc(p.card.Capabilities.Extensions, func(e a2a.AgentExtension) bool { return e.URI == extension })
	return "", first(
		same(p.card.Name, "interop", "name"),
		same(interfaces, []string{"JSONRPC 1.0", "HTTP+JSON 1.0"}, "interfaces"),
		check(p.card.Capabilities.Streaming, "the card announces no streaming"),
		check(announced, "the card does not announce the extension"),
		same(skills, []string{"show"}, "skills"),
	)
}

func blockingSend(ctx context.Context, p *peer) (string, error) {
	m := message(text("echo"), text("hello"))
	task, err := p.send(ctx, m, nil)
	if err != nil {
		return "", err
	}
	again, err := p.send(ctx, m, nil)
	if err != nil {
		return "", fmt.Errorf("the same message again: %w", err)
	}
	return "", first(
		same(task.Status.State, a2a.TaskStateCompleted, "state"),
		same(textOf(task.Status.Message), "hello", "closing message"),
		check(len(task.Artifacts) == 1 && len(task.History) > 0, "%d artifacts, %d messages", len(task.Artifacts), len(task.History)),
		same(task.Artifacts[0].Parts, a2a.ContentParts{text("hello")}, "artifact"),
		same(task.History[0].ID, m.ID, "first message of the history"),
		same(again.ID, task.ID, "task of the same message sent again"),
	)
}

func nonBlockingSend(ctx context.Context, p *peer) (string, error) {
	task, err := p.send(ctx, message(text("count 10")), immediately)
	if err != nil {
		return "", err
	}
	if task.Status.State.Terminal() {
		return "", fmt.Errorf("the answer was not immediate")
	}
	done, err := p.poll(ctx, task.ID, func(s a2a.TaskStatus) bool { return s.State.Terminal() })
	if err != nil {
		return "", err
	}
	short, err := p.GetTask(ctx, &a2a.GetTaskRequest{ID: task.ID, HistoryLength: new(2)})
	if err != nil {
		return "", err
	}
	return "", first(
		same(textOf(done.Status.Message), "Counted to 10", "closing message"),
		same(len(short.History), 2, "messages of a history of 2"),
	)
}

func streaming(ctx context.Context, p *peer) (string, error) {
	s, err := p.stream(ctx, message(text("write")), nil)
	if err != nil {
		return "", err
	}
	task, err := p.agrees(ctx, s)
	if err != nil {
		return "", err
	}
	artifacts := map[a2a.ArtifactID]a2a.ContentParts{}
	for _, a := range task.Artifacts {
		artifacts[a.ID] = a.Parts
	}
	err = first(
		same(task.Status.State, a2a.TaskStateCompleted, "state"),
		same(artifacts, map[a2a.ArtifactID]a2a.ContentParts{
			"draft":   {text("one\n"), text("two\n"), text("three\n"), text("four\n"), text("five\n")},
			"figures": {a2a.NewDataPart(map[string]any{"lines": 5, "none": nil, "list": []any{nil, true, "x"}})},
		}, "artifacts"),
		same(s.chunks, 7, "artifact updates"),
		check(slices.Contains(s.texts, "half way"), "the progress message is missing"),
	)
	for order, state := range map[string]a2a.TaskState{"fail": a2a.TaskStateFailed, "reject": a2a.TaskStateRejected} {
		if err != nil {
			break
		}
		if s, err = p.stream(ctx, message(text(order)), nil); err != nil {
			break
		}
		if task, err = p.agrees(ctx, s); err == nil {
			err = same(task.Status.State, state, "state of "+order)
		}
	}
	return "", err
}

// upTo cuts a stream once a text has come.
func upTo(words string) func(*seen) bool {
	return func(s *seen) bool { return slices.Contains(s.texts, words) }
}

// numbersFrom are those up to 40.
func numbersFrom(n int) []int {
	var list []int
	for ; n <= 40; n++ {
		list = append(list, n)
	}
	return list
}

// countedTo40 compares what was folded with GetTask, and with what was asked for.
func (p *peer) countedTo40(ctx context.Context, s *seen) error {
	task, err := p.agrees(ctx, s)
	if err != nil {
		return err
	}
	var parts a2a.ContentParts
	for _, n := range numbersFrom(1) {
		parts = append(parts, text(strconv.Itoa(n)))
	}
	return first(
		same(textOf(task.Status.Message), "Counted to 40", "closing message"),
		same(len(task.Artifacts), 1, "number of artifacts"),
		same(task.Artifacts[0].Parts, parts, "artifact"),
	)
}

func resubscribe(ctx context.Context, p *peer) (string, error) {
	cut, err := p.stream(ctx, message(text("count 40")), upTo("3"))
	if err != nil {
		return "", err
	}
	s, err := p.subscribe(ctx, cut.task.ID, "")
	if err != nil {
		return "", err
	}
	numbers := s.numbers()
	if len(numbers) == 0 {
		return "", fmt.Errorf("the stream was resumed too late to tell anything")
	}
	return "", first(
		same(s.replayed, 0, "replays without a cursor"),
		s.ascends(),
		same(numbers, numbersFrom(numbers[0]), "numbers after the resubscription"),
		p.countedTo40(ctx, s),
	)
}

func cursor(ctx context.Context, p *peer) (string, error) {
	cut, err := p.stream(ctx, message(text("count 40")), upTo("5"))
	if err != nil {
		return "", err
	}
	n := len(cut.sequences)
	s, err := p.subscribe(ctx, cut.task.ID, strconv.FormatUint(cut.sequences[n-3], 10))
	if err != nil {
		return "", err
	}
	return "", first(
		same(s.sequences[:2], cut.sequences[n-2:], "first sequences behind the cursor"),
		check(s.replayed >= 2, "what the task contains is no replay"),
		s.ascends(),
		same(s.numbers(), numbersFrom(5), "numbers behind the cursor"),
		p.countedTo40(ctx, s),
	)
}

func quiet(ctx context.Context, p *peer) (string, error) {
	s, err := p.stream(ctx, message(text("quiet 7")), nil)
	if err != nil {
		return "", err
	}
	task, err := p.agrees(ctx, s)
	if err != nil {
		return "", err
	}
	return "", same(task.Status.State, a2a.TaskStateCompleted, "state")
}
