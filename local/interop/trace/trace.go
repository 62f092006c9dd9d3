// Package trace reads golden traces: exports of tasks that are committed, and what
// callers saw of those tasks. A task that was recorded once can be read for ever, and
// an upgrade, of an SDK or of the export's format, changes nothing that nobody
// explained.
//
// A folder with a golden trace has
//
//	NAME.ndjson       an export
//	NAME.seen.ndjson  what callers saw of the task: the update of each entry that they
//	                  see, and the task in the end, a StreamResponse a line, in
//	                  canonical JSON (RFC 8785)
//	golden.json       the versions that all of it was made with, and the table of
//	                  differences: what becomes of the lines of the second file when an
//	                  SDK reads them into its types and writes them again
//
// Two documents are the same if their canonical JSON is: neither the order of members
// nor how a number is written makes a difference, a member that is null differs from
// one that is absent. The table is complete: a difference that is not in it fails a
// test, and so does one that is in it and is not there any more.
//
// When a version changes, the folder as it was moves to migrations/NNN-NAME, with a
// migration.json that says from what to what, why, and which places of which documents
// are others now. Its claims are held against the documents, and the old exports are
// verified and replayed for ever. See events/export/migrations/README.md.
package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	goldenFile    = "golden.json"
	migrationFile = "migration.json"
	migrations    = "migrations"
	exportSuffix  = ".ndjson"
	seenSuffix    = ".seen.ndjson"
)

// Names of the SDKs in the table of differences.
const (
	Go         = "go"
	JavaScript = "javascript"
)

// Versions are what a golden trace was made with.
type Versions struct {
	Format     int    `json:"format"`     // of exports
	Go         string `json:"go"`         // module and version, as in go.mod
	JavaScript string `json:"javascript"` // package and version, as in package.json
}

// Golden is golden.json.
type Golden struct {
	Versions
	Differences []Row `json:"differences"`
}

// Migration is migration.json.
type Migration struct {
	From    Versions `json:"from"`
	To      Versions `json:"to"`
	Why     string   `json:"why"`
	Changes []Row    `json:"changes"`
}

// Document is a line of a file, or a file that is one document.
type Document struct {
	Name string // file and line: t42.seen.ndjson:3
	Raw  []byte
}

// Folder is a golden trace.
type Folder struct {
	Golden
	// Traces are the names of the exports, without their ending.
	Traces []string
	files  fs.FS
}

// Read reads a folder's golden.json and which exports there are.
func Read(files fs.FS) (Folder, error) {
	f := Folder{files: files}
	if err := readJSON(files, goldenFile, &f.Golden); err != nil {
		return f, err
	}
	names, err := fs.Glob(files, "*"+exportSuffix)
	if err != nil {
		return f, err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, seenSuffix) {
			f.Traces = append(f.Traces, strings.TrimSuffix(name, exportSuffix))
		}
	}
	if len(f.Traces) == 0 {
		return f, errors.New("no export here")
	}
	return f, nil
}

// Export is a trace's export.
func (f Folder) Export(name string) ([]byte, error) { return fs.ReadFile(f.files, name+exportSuffix) }

// Seen are the documents that callers saw of a trace. The last one is the task.
func (f Folder) Seen(name string) ([]Document, error) { return lines(f.files, name+seenSuffix) }

// AllSeen are the documents that callers saw of all traces.
func (f Folder) AllSeen() ([]Document, error) {
	var all []Document
	for _, name := range f.Traces {
		seen, err := f.Seen(name)
		if err != nil {
			return nil, err
		}
		all = append(all, seen...)
	}
	return all, nil
}

// all is everything in a golden trace, the table of differences included.
func (f Folder) all() ([]Document, error) {
	raw, err := fs.ReadFile(f.files, goldenFile)
	if err != nil {
		return nil, err
	}
	all := []Document{{goldenFile, raw}}
	for _, name := range f.Traces {
		export, err := lines(f.files, name+exportSuffix)
		if err != nil {
			return nil, err
		}
		all = append(all, export...)
	}
	seen, err := f.AllSeen()
	return append(all, seen...), err
}

// Past is a golden trace that was, and what became of it.
type Past struct {
	Folder
	Migration
	Name string
	next Folder
}

// Pasts are the golden traces before this one, from the oldest.
func (f Folder) Pasts() ([]Past, error) {
	entries, err := fs.ReadDir(f.files, migrations)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return !e.IsDir() })
	pasts := make([]Past, len(entries))
	next := f
	for i, e := range slices.Backward(entries) {
		dir := path.Join(migrations, e.Name())
		files, err := fs.Sub(f.files, dir)
		if err != nil {
			return nil, err
		}
		p := Past{Name: e.Name(), next: next}
		if p.Folder, err = Read(files); err == nil {
			err = readJSON(files, migrationFile, &p.Migration)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", dir, err)
		}
		pasts[i], next = p, p.Folder
	}
	return pasts, nil
}

// Changed is what is another in the golden trace that followed.
func (p Past) Changed() ([]Row, error) {
	was, err := p.all()
	if err != nil {
		return nil, err
	}
	is, err := p.next.all()
	if err != nil {
		return nil, err
	}
	return Compare(was, is)
}

// lines are the documents of an NDJSON file.
func lines(files fs.FS, name string) ([]Document, error) {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var out []Document
	for i, line := range bytes.Split(bytes.TrimSuffix(raw, []byte("\n")), []byte("\n")) {
		out = append(out, Document{name + ":" + strconv.Itoa(i+1), line})
	}
	return out, nil
}

func readJSON(files fs.FS, name string, to any) error {
	raw, err := fs.ReadFile(files, name)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
