package api_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §3.3.2: a part of a media type that neither the agent nor a skill takes is refused,
// and so is a caller who takes nothing that the agent gives. Nothing is written.
func TestMediaTypesAreNegotiated(t *testing.T) {
	modes := func(w *world) {
		a := &w.config.Agents[1]
		a.Validate = nil
		a.InputModes, a.OutputModes = []string{"text/plain", "text/csv"}, []string{"application/json"}
		a.Skills = []a2a.AgentSkill{
			{ID: "draw", Name: "Draw", InputModes: []string{"image/*"}, OutputModes: []string{"image/png"}},
		}
	}
	both(t, []func(*world){modes}, func(w *world, c client) {
		t := w.t
		c = c.at("keyed")
		send := func(id, media string, accepted ...string) answer {
			part := object{"text": "x"}
			if media != "" {
				part["mediaType"] = media
			}
			m := object{"messageId": id, "role": "ROLE_USER", "parts": []any{part}}
			return c.call("SendMessage", object{"message": m, "configuration": object{"returnImmediately": true, "acceptedOutputModes": accepted}})
		}
		fine := 0
		for i, tt := range []struct {
			media    string
			accepted []string
			field    string
		}{
			{"", nil, ""},
			{"text/csv", nil, ""},
			{"Text/CSV; charset=utf-8", nil, ""},
			{"image/webp", nil, ""},
			{"text/html", nil, "message.parts[0].mediaType"},
			{"imagery/webp", nil, "message.parts[0].mediaType"},
			{"not a type", nil, "message.parts[0].mediaType"},
			{"text/plain", []string{"application/json"}, ""},
			{"text/plain", []string{"video/mp4", "image/*"}, ""},
			{"text/plain", []string{"*/*"}, ""},
			{"text/plain", []string{"text/plain"}, "configuration.acceptedOutputModes"},
		} {
			a := send("m-"+string(rune('a'+i)), tt.media, tt.accepted...)
			switch {
			case tt.field == "":
				fine++
				if a.err != nil {
					t.Errorf("%q, %q: %s", tt.media, tt.accepted, a.raw)
				}
			case a.err == nil || a.err.reason != "CONTENT_TYPE_NOT_SUPPORTED" || !slices.Equal(a.err.fields, []string{tt.field}):
				t.Errorf("%q, %q: %s", tt.media, tt.accepted, a.raw)
			}
		}
		if n := w.count(); n != fine {
			t.Errorf("%d tasks, want %d", n, fine)
		}
	})
}

// §3.3.4, §4.6.3: what the agent requires must be named by every request, what is not
// known is ignored, and the answer says what is used.
func TestExtensionsAreNegotiated(t *testing.T) {
	const required, optional = "https://e.example/must/v1", "https://e.example/may/v1"
	extended := func(w *world) {
		w.config.Agents[0].Extensions = []a2a.AgentExtension{{URI: optional}, {URI: required, Required: true}}
	}
	both(t, []func(*world){extended}, func(w *world, c client) {
		t := w.t
		for operation, params := range map[string]object{
			"SendMessage": {"message": message("m-1", "x")}, "SendStreamingMessage": {"message": message("m-1", "x")},
			"GetTask": {"id": "none"}, "ListTasks": {},
		} {
			for _, named := range []string{"", optional, "https://e.example/must/v2", lifecycle.ExtensionURI} {
				a := c.with("A2A-Extensions", named).call(operation, params)
				if a.err == nil || a.err.reason != "EXTENSION_SUPPORT_REQUIRED" || !strings.Contains(a.err.message, required) {
					t.Errorf("%s with %q: %s", operation, named, a.raw)
				}
			}
		}
		if n := w.count(); n != 0 {
			t.Errorf("%d tasks were written", n)
		}
		a := c.with("A2A-Extensions", "https://e.example/other, "+required+" ,"+lifecycle.ExtensionURI).call("SendMessage", immediately(message("m-1", "x")))
		if a.err != nil || a.header.Get("A2A-Extensions") != lifecycle.ExtensionURI+","+required {
			t.Errorf("used %q: %s", a.header.Get("A2A-Extensions"), a.raw)
		}
		// Another agent of this door requires none.
		if a := c.at("keyed").call("SendMessage", immediately(message("m-2", "x"))); a.err != nil || a.header.Get("A2A-Extensions") != "" {
			t.Errorf("%q: %s", a.header.Get("A2A-Extensions"), a.raw)
		}
	})
}
