package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/export"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// replay rebuilds a task from its export alone.
func replay(_ context.Context, args []string, out, logs io.Writer) error {
	f := flagSet("replay", "[flags] FILE\n\nPrints the task, its head and its artifacts, folded from the export's entries. \"-\" is standard input.", logs)
	folder := f.String("out", "", "also write the artifacts into this folder, a file each")
	names, err := parseAll(f, args)
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return fmt.Errorf("one export is replayed at a time, not %d: local replay FILE", len(names))
	}
	var task *export.Replayed
	err = withInput(names[0], func(in io.Reader) error {
		var report export.Report
		var err error
		if task, report, err = export.Replay(in, nil); err != nil {
			return fmt.Errorf("%s: %w", names[0], err)
		}
		return broken(names[0], report, logs)
	})
	if err != nil {
		return err
	}
	if *folder != "" {
		if err := writeArtifacts(*folder, task.Artifacts, logs); err != nil {
			return err
		}
	}
	seen, err := api.TaskJSON(task.Task)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	return enc.Encode(replayed{task.Header, seen, task.Head, task.Artifacts})
}

// replayed is what replay prints: the task is in the words of GetTask's answer.
type replayed struct {
	Header    export.Header    `json:"header"`
	Task      json.RawMessage  `json:"task"`
	Head      export.Head      `json:"head"`
	Artifacts []export.Content `json:"artifacts"`
}

// writeArtifacts writes each artifact whose content is in the export, and names the
// bytes that the others lack.
func writeArtifacts(folder string, artifacts []export.Content, logs io.Writer) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	for _, a := range artifacts {
		for _, b := range a.Blobs {
			fmt.Fprintf(logs, "artifact %q, chunk %d: %d bytes with SHA-256 %s are in the blob store: GET …/tasks/TASK/blobs/%s\n", a.ID, b.Number, b.Bytes, b.SHA256, b.SHA256)
		}
		if len(a.Blobs) > 0 {
			continue
		}
		content, err := contentOf(a.Parts)
		if err != nil {
			return fmt.Errorf("artifact %q: %w", a.ID, err)
		}
		path := filepath.Join(folder, fileNameOf(a.ID))
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, os.ErrExist) {
			return fmt.Errorf("%s is there already: name an empty folder", path)
		}
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		fmt.Fprintf(logs, "artifact %q: %d bytes in %s\n", a.ID, len(content), path)
	}
	return nil
}

// contentOf joins the chunks of an artifact; data and addresses stand on a line each.
func contentOf(parts []*a2a.Part) ([]byte, error) {
	var out []byte
	for _, p := range parts {
		content, err := lifecycle.PartContent(p)
		if err != nil {
			return nil, err
		}
		out = append(out, content...)
		switch p.Content.(type) {
		case a2a.Data, a2a.URL:
			out = append(out, '\n')
		}
	}
	return out, nil
}

// fileNameOf is a file name for any artifact ID, different for different ones.
func fileNameOf(id a2a.ArtifactID) string {
	name := url.PathEscape(string(id))
	if strings.HasPrefix(name, ".") {
		name = "%2E" + name[1:]
	}
	return name
}
