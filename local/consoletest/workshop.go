package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// workshop is what was built and installed.
type workshop struct {
	root, dir string // of the module; where pictures and logs are
	server    string // the binary
	script    string // the driver
	chromium  string
}

func prepare(ctx context.Context) (workshop, error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTime)
	defer cancel()
	root, err := driver.Root(ctx)
	if err != nil {
		return workshop{}, err
	}
	w := workshop{root: root, dir: filepath.Join(root, "dist", "console")}
	if err := errors.Join(os.RemoveAll(w.dir), os.MkdirAll(w.dir, 0o755)); err != nil {
		return w, err
	}
	if w.server, err = driver.Build(ctx, root, filepath.Join(w.dir, "server"), "./local/consoletest/server"); err != nil {
		return w, err
	}
	// Without a font a headless browser draws no text.
	w.chromium, err = w.install(ctx, "need chromium fonts-dejavu-core chromium >&2; command -v chromium")
	if err != nil {
		return w, err
	}
	// node looks for packages in the folders above a module, and none may stand in the tree.
	packages, err := w.install(ctx, "need node nodejs >&2; node_modules local/consoletest/browser")
	if err != nil {
		return w, err
	}
	browser := filepath.Join(w.dir, "browser")
	w.script = filepath.Join(browser, "main.mjs")
	return w, errors.Join(os.CopyFS(browser, os.DirFS(filepath.Join(root, "local", "consoletest", "browser"))), os.Symlink(packages, filepath.Join(browser, "node_modules")))
}

// install calls functions of the script that installs pinned tools.
func (w workshop) install(ctx context.Context, call string) (string, error) {
	return driver.Output(ctx, w.root, "bash", "-c", "set -euo pipefail; . infra/checks/tools.sh; "+call)
}

// makeKeys writes a file of API keys, one for each part that somebody plays, and returns
// the keys.
func makeKeys(dir string) (keys map[string]string, file string, err error) {
	type entry struct {
		Tenant string   `json:"tenant"`
		Name   string   `json:"name"`
		SHA256 string   `json:"sha256"`
		Scopes []string `json:"scopes"`
	}
	var list []entry
	keys = map[string]string{}
	for part, e := range map[string]entry{
		"caller": {"local", "caller", "", []string{"caller"}}, "reader": {"local", "reader", "", []string{"operator:read"}},
		"operator": {"local", "night", "", []string{"operator:read", "operator:act"}}, "stranger": {"other", "stranger", "", []string{"operator:read", "operator:act"}},
	} {
		var secret [32]byte
		_, _ = rand.Read(secret[:]) // never fails (crypto/rand)
		keys[part] = base64.RawURLEncoding.EncodeToString(secret[:])
		sum := sha256.Sum256([]byte(keys[part]))
		e.SHA256 = hex.EncodeToString(sum[:])
		list = append(list, e)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, "", err
	}
	file = filepath.Join(dir, "keys.json")
	return keys, file, os.WriteFile(file, text, 0o600)
}
