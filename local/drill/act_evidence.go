package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// playEvidence deletes the connection log, lets processes of their own export, verify
// and rebuild tasks without a server, and holds callers that start from nothing and
// callers that present cursors against one another.
func (d *drill) playEvidence(ctx context.Context) (string, error) {
	if d.t42s.Manifest == "" || d.twin.task == "" {
		return "", errors.New("there is no T-42")
	}
	t, err := d.t42.door.task(ctx, d.t42.task)
	if err != nil {
		return "", err
	}
	if err := d.kill(); err != nil {
		return "", err
	}
	log := filepath.Join(d.data(), "connections.ndjson")
	content, err := os.ReadFile(log)
	if err != nil {
		return "", err
	}
	connections := bytes.Count(content, []byte("\n"))
	if connections == 0 {
		return "", errors.New("the connection log is empty: nothing would be lost with it")
	}
	if err := os.Remove(log); err != nil {
		return "", err
	}
	samples, err := d.checkExports(ctx)
	if err != nil {
		return "", err
	}
	if err := d.rebuilt(ctx, t); err != nil {
		return "", err
	}
	if err := d.start(ctx); err != nil {
		return "", err
	}
	if err := d.readAgain(ctx, t); err != nil {
		return "", err
	}
	if err := d.finishTwin(ctx); err != nil {
		return "", err
	}
	d.note("%d exports verified and replayed", samples)
	return fmt.Sprintf("%d connections forgotten; %d exports verified against their receipts and replayed by processes of their own, a changed one refused; callers with nothing and callers with cursors see the same, of a task that has ended and of one at work",
		connections, samples), nil
}

// checkExports exports, verifies and replays a task of every sort.
func (d *drill) checkExports(ctx context.Context) (int, error) {
	step := max(1, len(d.rests)/16)
	n := 0
	for i, r := range d.rests {
		if i%step != 0 && i >= 3 && i < len(d.rests)-8 {
			continue
		}
		file, err := d.exportTo(ctx, r.task)
		if err != nil {
			return n, err
		}
		if _, err := d.tool(ctx, "verify", "--digest", r.head.Chain, file); err != nil {
			return n, err
		}
		text, err := d.tool(ctx, "replay", file)
		if err != nil {
			return n, err
		}
		var again replayed
		if err := json.Unmarshal(text, &again); err != nil {
			return n, err
		}
		if again.Task.Status.State != r.head.State || again.Task.Metadata.Own.Sequence != r.head.Seq || again.Task.Metadata.Own.Digest != r.head.Chain {
			return n, fmt.Errorf("task %s was replayed as %+v, it is %+v", r.task, again.Task.Metadata.Own, r.head)
		}
		n++
	}
	return n, nil
}

// replayed is a task as it was rebuilt.
type replayed struct {
	Task task `json:"task"`
}

// rebuilt replays T-42 with its artifacts, and refuses an export in which one byte is
// another.
func (d *drill) rebuilt(ctx context.Context, is task) error {
	file := filepath.Join(d.dir, d.t42.task+".ndjson")
	folder := filepath.Join(d.dir, "replayed")
	text, err := d.tool(ctx, "replay", file, "--out", folder)
	if err != nil {
		return err
	}
	var again replayed
	if err := json.Unmarshal(text, &again); err != nil {
		return err
	}
	if err := viewOf(again.Task).same("who replays the export", viewOf(is)); err != nil {
		return err
	}
	written, err := os.ReadFile(filepath.Join(folder, draft))
	if err != nil {
		return err
	}
	if want := draftBefore + draftMiddle + draftLast; string(written) != want {
		return fmt.Errorf("the draft was replayed as %q, want %q", written, want)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed := bytes.Replace(content, []byte("orphaned"), []byte("orphaneD"), 1)
	if bytes.Equal(changed, content) {
		return errors.New("the export of T-42 does not hold its draft")
	}
	forged := filepath.Join(d.dir, "changed.ndjson")
	if err := os.WriteFile(forged, changed, 0o600); err != nil { //nolint:gosec // a file of the drill's own folder
		return err
	}
	if text, err := d.tool(ctx, "verify", forged); err == nil {
		return fmt.Errorf("an export in which a byte was changed: %s", text)
	}
	return nil
}

// readAgain reads T-42 as somebody who has nothing, and as somebody who has it up to
// E4 and nothing of the draft.
func (d *drill) readAgain(ctx context.Context, before task) error {
	at, id := d.t42.door, d.t42.task
	is, err := at.task(ctx, id)
	if err != nil {
		return err
	}
	if err := viewOf(is).same("who asks again", viewOf(before)); err != nil {
		return err
	}
	nothing, err := at.ledger(ctx, id, 0)
	if err != nil {
		return err
	}
	e4At := slices.IndexFunc(nothing.Entries, func(e entry) bool { return e.EventID == e4.id })
	if e4At < 0 {
		return errors.New("E4 is not in the ledger")
	}
	cursors, err := at.ledger(ctx, id, uint64(e4At)+1)
	if err != nil {
		return err
	}
	joined := append(slices.Clone(nothing.Entries[:e4At+1]), cursors.Entries...)
	for i := range joined {
		if joined[i].Chain != nothing.Entries[i].Chain || len(joined) != len(nothing.Entries) {
			return fmt.Errorf("behind the cursor E4 entry %d is another", i+1)
		}
	}
	all, err := at.artifact(ctx, id, draft, 0)
	if err != nil {
		return err
	}
	rest, err := at.artifact(ctx, id, draft, 1)
	if err != nil {
		return err
	}
	if len(all.Chunks) != 3 || len(rest.Chunks) != 2 || rest.Chunks[0] != all.Chunks[1] || rest.Chunks[1] != all.Chunks[2] {
		return fmt.Errorf("the draft is %+v, behind its first chunk %+v", all, rest)
	}
	return nil
}

// finishTwin follows the task that is at work with two callers, and finishes it.
func (d *drill) finishTwin(ctx context.Context) error {
	t := &d.twin
	nothing, err := t.subscribe(ctx, t.task, nil)
	if err != nil {
		return err
	}
	cursors, err := t.subscribe(ctx, t.task, object{"after": e4.id, "artifacts": []string{draft + "/0"}})
	if err != nil {
		return err
	}
	if err := t.tellAll(ctx, nil, untilEnd); err != nil {
		return err
	}
	for _, s := range []*stream{nothing, cursors} {
		if err := s.ends(ctx, d.running.product); err != nil {
			return err
		}
	}
	if err := errors.Join(brought(nothing, 12, 13), brought(cursors, 8, 9, 10, 11, 12, 13)); err != nil {
		return err
	}
	p, whole, err := pictureOf(ctx, t.door, t.task)
	if err != nil {
		return err
	}
	if diff := d.t42s.differs(p); diff != "" {
		return fmt.Errorf("the twin differs from act 1: %s", diff)
	}
	d.rest(t.door, t.task, whole.Head)
	is, err := t.door.task(ctx, t.task)
	if err != nil {
		return err
	}
	fresh, err := fromNothing(nothing.Kept())
	if err != nil {
		return err
	}
	return errors.Join(fresh.same("who started from nothing", viewOf(is)), d.seeTheSame(is, cursors, d.seen))
}

// exportTo exports a task into a file.
func (d *drill) exportTo(ctx context.Context, id string) (string, error) {
	text, err := d.tool(ctx, "export", "--data", d.data(), id)
	if err != nil {
		return "", err
	}
	file := filepath.Join(d.dir, id+".ndjson")
	return file, os.WriteFile(file, text, 0o600)
}

// tool runs a command of the product in a process of its own, and gives what it
// printed.
func (d *drill) tool(ctx context.Context, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.binary, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w: %.400s %.400s", strings.Join(args, " "), err, said.String(), out)
	}
	return out, nil
}

func splitLines(text []byte) [][]byte {
	return bytes.Split(bytes.TrimRight(text, "\n"), []byte("\n"))
}
