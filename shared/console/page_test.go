package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestPage: the page comes with its policy, and everything that it names is there.
func TestPage(t *testing.T) {
	w := newWorld(t)
	nobody := func(r *http.Request) { r.Header.Del("Authorization") }
	page := w.ask(http.MethodGet, "/console", "", nobody)
	if page.status != http.StatusOK || !strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %v", page.status, page.header)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?:src|href)="(console/[^"]+)"`).FindAllStringSubmatch(string(page.raw), -1) {
		named[strings.TrimPrefix(m[1], "console/")] = true
	}
	all, err := filepath.Glob("static/*")
	w.ok(err)
	for _, path := range all {
		name := filepath.Base(path)
		if name != "index.html" && !named[name] {
			t.Errorf("the page does not name %s: it would load late, or never", name)
		}
		delete(named, name)
	}
	for name := range named {
		t.Errorf("the page names %s, which is not there", name)
	}
	for _, path := range all {
		if name := filepath.Base(path); name != "index.html" {
			a := w.ask(http.MethodGet, "/console/"+name, "", nobody)
			want, err := os.ReadFile(path)
			w.ok(err)
			if a.status != http.StatusOK || string(a.raw) != string(want) || a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Content-Security-Policy") == "" {
				t.Errorf("%s: %d %v", name, a.status, a.header)
			}
			if again := w.ask(http.MethodGet, "/console/"+name, "", nobody, with("If-None-Match", a.header.Get("ETag"))); again.status != http.StatusNotModified || len(again.raw) > 0 {
				t.Errorf("%s again: %d", name, again.status)
			}
		}
	}
	for path, want := range map[string]int{"/console/": http.StatusMovedPermanently, "/console/none.js": 404, "/console/index.html": 404, "/console/static/app.js": 404, "/console/../console/app.js": 404, "/consoles": 404, "/console/api": 404, "/console/api/": 404} {
		if a := w.ask(http.MethodGet, path, "", nobody); a.status != want {
			t.Errorf("%s: %d, want %d", path, a.status, want)
		}
	}
	if a := w.ask(http.MethodGet, "/console/", "", nobody); a.header.Get("Location") != "../console" {
		t.Errorf("sent to %q, which behind a stage would be another place", a.header.Get("Location"))
	}
	if a := w.ask(http.MethodPost, "/console", "x", nobody); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET, HEAD" {
		t.Errorf("posted to the page: %d", a.status)
	}
}

// TestPolicy: the policy lets nothing run that is not ours, and the page needs nothing that
// it does not let.
func TestPolicy(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/console", "/console/app.js", "/console/api/session", "/console/api/none", "/console/none"} {
		h := w.ask(http.MethodGet, path, "").header
		directives := map[string]string{}
		for part := range strings.SplitSeq(h.Get("Content-Security-Policy"), ";") {
			name, value, _ := strings.Cut(strings.TrimSpace(part), " ")
			directives[name] = value
		}
		for name, want := range map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "connect-src": "'self'", "img-src": "'self'", "base-uri": "'none'", "form-action": "'none'",
			"frame-ancestors": "'none'", "require-trusted-types-for": "'script'", "trusted-types": "'none'",
		} {
			if directives[name] != want {
				t.Errorf("%s: %s is %q, want %q", path, name, directives[name], want)
			}
		}
		if len(directives) != 10 || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "no-referrer" || h.Get("Set-Cookie") != "" {
			t.Errorf("%s: %v", path, h)
		}
	}
	files, err := filepath.Glob("static/*")
	w.ok(err)
	for _, path := range files {
		text, err := os.ReadFile(path)
		w.ok(err)
		code := regexp.MustCompile(`(?m)^\s*//.*$`).ReplaceAllString(strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""), "")
		for _, banned := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "setTimeout(\"", "style=", "onclick=\"", "javascript:", "document.cookie", "http://", "https://"} {
			if strings.Contains(code, banned) {
				t.Errorf("%s has %q: texts go in as texts, styles and code come from files, and nothing from elsewhere", path, banned)
			}
		}
	}
}
