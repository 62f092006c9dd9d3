package policy

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// documents are those that every build has. An agent of one's own brings its document
// by putting it there.
//
//go:embed documents/*.json
var documents embed.FS

// Set is the documents of a deployment.
type Set struct {
	byID    map[string]Document
	sources map[string]string // where each comes from
}

// Shipped are the documents that every build has.
func Shipped() (*Set, error) {
	s := &Set{byID: map[string]Document{}, sources: map[string]string{}}
	shipped, err := fs.Sub(documents, "documents")
	if err != nil {
		return nil, err
	}
	return s, s.Load(shipped)
}

// Load adds all documents (*.json) of a folder. *Invalid, *Conflict.
func (s *Set) Load(folder fs.FS) error {
	names, err := fs.Glob(folder, "*.json")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("there are no policies in the folder: a document is a file *.json")
	}
	for _, name := range names {
		raw, err := fs.ReadFile(folder, name)
		if err != nil {
			return fmt.Errorf("policy %s: %w", name, err)
		}
		if err := s.Add(path.Base(name), raw); err != nil {
			return err
		}
	}
	return nil
}

// Add adds a document. The same one again is no error; another one under the same name
// and version is a *Conflict.
func (s *Set) Add(source string, raw []byte) error {
	d, err := Parse(source, raw)
	if err != nil {
		return err
	}
	if known, is := s.byID[d.ID()]; is && known.digest != d.digest {
		return &Conflict{ID: d.ID(), First: s.sources[d.ID()], Second: source}
	}
	s.byID[d.ID()], s.sources[d.ID()] = d, source
	return nil
}

// Find finds a document by name@version. *Unknown.
func (s *Set) Find(id string) (Document, error) {
	d, known := s.byID[id]
	if !known {
		return d, &Unknown{ID: id, Known: s.IDs()}
	}
	return d, nil
}

// IDs are the names and versions that are known.
func (s *Set) IDs() []string { return slices.Sorted(maps.Keys(s.byID)) }

// Unknown is a policy that nobody has a document of.
type Unknown struct {
	ID    string
	Known []string
}

// Error implements error.
func (e *Unknown) Error() string {
	return fmt.Sprintf("there is no policy %q: known are %s", e.ID, strings.Join(e.Known, ", "))
}

// Conflict is two documents under one name and version.
type Conflict struct{ ID, First, Second string }

// Error implements error.
func (e *Conflict) Error() string {
	return fmt.Sprintf("policy %s is in %s and, with other content, in %s: a document never changes under its version, give the new one a new version", e.ID, e.First, e.Second)
}
