package console

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var static embed.FS

// file is one of the page's.
type file struct {
	content []byte
	kind    string // media type
	tag     string
}

// mediaTypes by a file's ending: what the system says of them differs.
var mediaTypes = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}

// page is what /console leads to.
const page = "index.html"

func readFiles() (map[string]file, error) {
	out := map[string]file{}
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		kind := mediaTypes[path.Ext(name)]
		if kind == "" {
			return fmt.Errorf("console: %s has no media type", name)
		}
		sum := sha256.Sum256(content)
		out[strings.TrimPrefix(name, "static/")] = file{content, kind, `"` + hex.EncodeToString(sum[:16]) + `"`}
		return nil
	})
	return out, err
}

// contentPolicy lets a page do what the console's does and no more: its own modules and
// style sheets, requests to where it comes from. Nothing that a task brings can become
// markup or code: no inline script or style, no evaluation, no source of HTML.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// protect sets the headers of every answer.
func protect(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY") // for browsers that do not know frame-ancestors
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
}

// serveFile answers with the page or one of its files. They hold nothing of anybody's,
// so nobody is asked.
//
// Every address in the page is relative to /console itself, which may stand behind the
// stage of an API.
func (c *Console) serveFile(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), Base), "/")
	f, known := c.files[name]
	h := w.Header()
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "this address takes GET", http.StatusMethodNotAllowed)
		return
	case r.URL.EscapedPath() == Base:
		f = c.files[page]
	case name == "":
		h.Set("Location", "../console")
		w.WriteHeader(http.StatusMovedPermanently)
		return
	case !known || name == page:
		http.Error(w, "there is nothing at this address; the console is at /console", http.StatusNotFound)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "no-cache") // asked again, answered by the tag
	h.Set("ETag", f.tag)
	if r.Header.Get("If-None-Match") == f.tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(f.content)))
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.content)
	}
}
