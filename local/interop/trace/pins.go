package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

const (
	goModule  = "github.com/a2aproject/a2a-go/v2"
	npmModule = "@a2a-js/sdk"
)

// Pinned are the versions that this tree builds with and installs: format is that of
// the exports that it writes; the rest is read from go.mod and from package.json and
// package-lock.json, which must say the same.
func Pinned(format int, mod, pkg, lock []byte) (Versions, error) {
	v := Versions{Format: format}
	for s := bufio.NewScanner(bytes.NewReader(mod)); s.Scan(); {
		if words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(s.Text()), "require ")); len(words) >= 2 && words[0] == goModule {
			v.Go = goModule + " " + words[1]
		}
	}
	if v.Go == "" {
		return v, fmt.Errorf("go.mod does not require %s", goModule)
	}
	var wanted struct{ Dependencies map[string]string }
	var locked struct {
		Packages map[string]struct{ Version string }
	}
	if err := errors.Join(json.Unmarshal(pkg, &wanted), json.Unmarshal(lock, &locked)); err != nil {
		return v, err
	}
	version := wanted.Dependencies[npmModule]
	if is := locked.Packages["node_modules/"+npmModule].Version; version == "" || is != version {
		return v, fmt.Errorf("package.json wants %s %q, package-lock.json has %q", npmModule, version, is)
	}
	v.JavaScript = npmModule + " " + version
	return v, nil
}

// Explained holds a golden trace, and those before it, against the versions that are
// pinned: each is the one that its successor's migration began with, the last one is
// what is pinned, and what a migration claims to have changed is what has.
func (f Folder) Explained(pinned Versions) error {
	if f.Versions != pinned {
		return fmt.Errorf("the golden trace was made with %v, pinned is %v: move it into a migration and write it anew (events/export/migrations/README.md)", f.Versions, pinned)
	}
	pasts, err := f.Pasts()
	if err != nil {
		return err
	}
	var all []error
	for _, p := range pasts {
		fail := func(format string, args ...any) {
			all = append(all, fmt.Errorf("%s: %w", p.Name, fmt.Errorf(format, args...)))
		}
		if p.From != p.Folder.Versions {
			fail("migrates from %v, its golden trace was made with %v", p.From, p.Folder.Versions)
		}
		if p.To != p.next.Versions {
			fail("migrates to %v, the next golden trace was made with %v", p.To, p.next.Versions)
		}
		if strings.TrimSpace(p.Why) == "" {
			fail("does not say why")
		}
		changed, err := p.Changed()
		if err == nil {
			err = Judge(p.Changes, changed)
		}
		if err != nil {
			fail("%w", err)
		}
	}
	return errors.Join(all...)
}

// String is the versions in words.
func (v Versions) String() string {
	return fmt.Sprintf("format %d, %s, %s", v.Format, v.Go, v.JavaScript)
}
