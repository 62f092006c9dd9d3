package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"
)

func listing(ctx context.Context, p *peer) (string, error) {
	contextID := "context-" + uuid.NewString()
	var made []a2a.TaskID
	for _, order := range [][]*a2a.Part{{text("echo"), text("0")}, {text("echo"), text("1")}, {text("echo"), text("2")}, {text("echo"), text("3")}, {text("ask")}} {
		m := message(order...)
		m.ContextID = contextID
		task, err := p.send(ctx, m, nil)
		if err != nil {
			return "", err
		}
		made = append(made, task.ID)
	}
	slices.Reverse(made)
	err := pages(ctx, p, contextID, made)
	if err != nil {
		return "", err
	}
	done, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, Status: a2a.TaskStateCompleted, IncludeArtifacts: true, HistoryLength: new(1)})
	if err != nil {
		return "", err
	}
	var found []a2a.TaskID
	for _, t := range done.Tasks {
		found = append(found, t.ID)
		err = first(err, same([]int{len(t.Artifacts), len(t.History)}, []int{1, 1}, "artifacts and histories"))
	}
	none, future := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, StatusTimestampAfter: new(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))})
	if future != nil {
		return "", future
	}
	_, large := p.ListTasks(ctx, &a2a.ListTasksRequest{PageSize: 1000})
	return "", first(err,
		same(found, made[1:], "completed tasks"),
		same([]int{len(none.Tasks), none.TotalSize}, []int{0, 0}, "tasks of the future"),
		refused(large, a2a.ErrInvalidParams, "a page too large"),
	)
}

func pages(ctx context.Context, p *peer, contextID string, want []a2a.TaskID) error {
	var found []a2a.TaskID
	var sizes [][3]int
	for token := ""; ; {
		page, err := p.ListTasks(ctx, &a2a.ListTasksRequest{ContextID: contextID, PageSize: 2, PageToken: token})
		if err != nil {
			return err
		}
		for _, t := range page.Tasks {
			found = append(found, t.ID)
			if len(t.Artifacts)+len(t.History) > 0 {
				return fmt.Errorf("artifacts or history without being asked for")
			}
		}
		sizes = append(sizes, [3]int{len(page.Tasks), page.PageSize, page.TotalSize})
		if token = page.NextPageToken; token == "" {
			return first(
				same(found, want, "tasks, latest first"),
				same(sizes, [][3]int{{2, 2, 5}, {2, 2, 5}, {1, 2, 5}}, "sizes of the pages"),
			)
		}
	}
}

// manyScripts has scripts, a combining mark, a character beyond the basic plane, and
// every character that some readers of lines take for the end of one.
const manyScripts = "Grüße, 你好, שלום, e\u0301, 🎉\u200d👩; \t\r\n\x0b\x0c\x1c\x1d\x1e\u0085\u2028\u2029; \ufeff\x7f\\\"</script>"

func nonASCII(ctx context.Context, p *peer) (string, error) {
	file := a2a.NewRawPart([]byte(manyScripts))
	file.Filename, file.MediaType = "Grüße 你好.txt", "text/plain; charset=utf-8"
	parts := a2a.ContentParts{text(manyScripts), file, data(map[string]any{manyScripts: []any{manyScripts}})}
	m := message(append(a2a.ContentParts{text("echo")}, parts...)...)
	m.Metadata = map[string]any{manyScripts: manyScripts}
	s, err := p.stream(ctx, m, nil)
	if err != nil {
		return "", err
	}
	task, err := p.agrees(ctx, s)
	if err != nil {
		return "", err
	}
	blocking, err := p.send(ctx, message(append(a2a.ContentParts{text("echo")}, parts...)...), nil)
	if err != nil {
		return "", err
	}
	return "", first(
		check(slices.Contains(s.texts, manyScripts), "the progress message differs"),
		same(textOf(task.Status.Message), manyScripts, "closing message"),
		same(task.Artifacts[0].Parts, parts, "artifact"),
		same(task.History[0].Metadata, m.Metadata, "metadata of the first message"),
		same(blocking.Artifacts[0].Parts, parts, "artifact of a blocking send"),
	)
}

func large(ctx context.Context, p *peer) (string, error) {
	var rows []any
	for n := range 8000 {
		rows = append(rows, map[string]any{"n": n, "text": strings.Repeat("x", 90), "none": nil, "half": float64(n) + 0.5})
	}
	value := map[string]any{"rows": rows}
	s, err := p.stream(ctx, message(text("echo"), data(value)), nil)
	if err != nil {
		return "", err
	}
	task, err := p.agrees(ctx, s)
	if err != nil {
		return "", err
	}
	note := ""
	for _, part := range []*a2a.Part{task.Artifacts[0].Parts[0], task.History[0].Parts[1]} {
		got := part.Data()
		if part.URL() != "" {
			note = "comes back as an address"
			if got, err = fetch(ctx, string(part.URL())); err != nil {
				return "", err
			}
		}
		if err := first(same(part.MediaType, "application/json", "media type"), same(got, value, "the part")); err != nil {
			return "", err
		}
	}
	return note, same(task.Status.State, a2a.TaskStateCompleted, "state")
}

// fetch gets what stands at an address that the server gave.
func fetch(ctx context.Context, address string) (any, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("A2A-Version", "1.0")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, answer.Status)
	}
	var v any
	return v, json.NewDecoder(answer.Body).Decode(&v)
}

func nulls(ctx context.Context, p *peer) (string, error) {
	value := map[string]any{
		"a": nil, "b": []any{nil, 1, nil}, "c": map[string]any{"d": nil, "": nil},
		"e": []any{}, "f": map[string]any{}, "g": "", "h": false, "i": 0,
	}
	parts := a2a.ContentParts{data(value), data([]any{nil}), data(false), data(0), data("")}
	m := message(append(a2a.ContentParts{text("echo")}, parts...)...)
	m.Metadata = map[string]any{"x": nil, "y": []any{nil}}
	s, err := p.stream(ctx, m, nil)
	if err != nil {
		return "", err
	}
	task, err := p.agrees(ctx, s)
	if err != nil {
		return "", err
	}
	_, null := p.send(ctx, message(text("echo"), data(nil)), nil)
	return "", first(
		same(task.Artifacts[0].Parts, parts, "artifact"),
		same(task.History[0].Parts[1:], parts, "first message"),
		same(task.History[0].Metadata, m.Metadata, "metadata of the first message"),
		refused(null, a2a.ErrInvalidParams, "a part that is null"),
	)
}
