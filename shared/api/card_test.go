package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/api"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// §4.4.1, §8.2: the card announces what is there, under addresses that work.
func TestCard(t *testing.T) {
	skilled := func(w *world) {
		w.config.Agents[1].Skills = []a2a.AgentSkill{{ID: "s", Name: "Skill", Description: "Does it."}}
		w.config.Agents[1].InputModes = []string{"text/csv"}
	}
	w := newWorld(t, skilled)
	c := w.client(t, false)
	for agent, base := range map[string]string{"first": "", "keyed": "/keyed"} {
		a := c.send(c.raw(t.Context(), "GET", base+"/.well-known/agent-card.json", ""))
		var card a2a.AgentCard
		if err := json.Unmarshal(a.raw, &card); err != nil || a.header.Get("Content-Type") != "application/json" {
			t.Fatalf("%s: %v", a.raw, err)
		}
		if card.Name != agent || card.Version == "" || card.Description == "" || !card.Capabilities.Streaming || card.Capabilities.PushNotifications || card.Capabilities.ExtendedAgentCard {
			t.Errorf("card %s", a.raw)
		}
		if len(card.DefaultInputModes) == 0 || len(card.DefaultOutputModes) == 0 || len(card.Skills) != 1 || card.Skills[0].Tags == nil {
			t.Errorf("card %s", a.raw)
		}
		if strings.Contains(string(a.raw), "null") {
			t.Errorf("null in %s", a.raw)
		}
		want := []a2a.AgentInterface{
			{URL: w.server.URL + base + "/rpc", ProtocolBinding: "JSONRPC", ProtocolVersion: "1.0"},
			{URL: w.server.URL + base, ProtocolBinding: "HTTP+JSON", ProtocolVersion: "1.0"},
		}
		for i, iface := range card.SupportedInterfaces {
			if *iface != want[i] {
				t.Errorf("interface %+v, want %+v", *iface, want[i])
			}
		}
		ext := card.Capabilities.Extensions
		if len(ext) != 1 || ext[0].URI != lifecycle.ExtensionURI || ext[0].Required || ext[0].Params["retentionSeconds"] != 2592000.0 {
			t.Errorf("extensions %+v", ext)
		}
		keys, _ := ext[0].Params["submissionKeys"].([]any)
		if (len(keys) == 3) != (agent == "keyed") {
			t.Errorf("%s: submissionKeys %v", agent, keys)
		}
	}
}

// §8.6: cards are cached, and asked for conditionally.
func TestCardCaching(t *testing.T) {
	w := newWorld(t)
	c := w.client(t, false)
	card := func(none string) answer {
		return c.send(c.with("If-None-Match", none).raw(t.Context(), "GET", "/.well-known/agent-card.json", ""))
	}
	first := card("")
	tag := first.header.Get("ETag")
	if len(tag) < 10 || first.header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("ETag %q, Cache-Control %q", tag, first.header.Get("Cache-Control"))
	}
	for none, want := range map[string]int{tag: 304, "W/" + tag: 304, `"x", ` + tag: 304, "*": 304, `"x"`: 200} {
		if a := card(none); a.status != want || (want == 304) != (len(a.raw) == 0) || a.header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d", none, a.status)
		}
	}
	if a := c.send(c.raw(t.Context(), http.MethodHead, "/.well-known/agent-card.json", "")); a.status != 200 || a.header.Get("ETag") != tag {
		t.Errorf("HEAD: %d", a.status)
	}
}

// The base address is the configuration's, in the card and in blob addresses.
func TestBaseURL(t *testing.T) {
	behind := func(w *world) {
		w.config.BaseURL = func(*http.Request) string { return "https://agents.example.com/stage/" }
	}
	w := newWorld(t, behind)
	c := w.client(t, false)
	a := c.send(c.raw(t.Context(), "GET", "/keyed/.well-known/agent-card.json", ""))
	if got := text(a.result, "supportedInterfaces.0.url"); got != "https://agents.example.com/stage/keyed/rpc" {
		t.Errorf("url %s", got)
	}
	id := c.submit(message("m-1", strings.Repeat("large ", 10_000)))
	if got := text(c.ok("GetTask", object{"id": id}), "history.0.parts.0.url"); !strings.HasPrefix(got, "https://agents.example.com/stage/tasks/"+id+"/blobs/") {
		t.Errorf("url %s", got)
	}
}

// A door that could not work is not made.
func TestConfigIsChecked(t *testing.T) {
	for what, change := range map[string]func(*world){
		"no authority":       func(w *world) { w.config.Authority = nil },
		"no authentication":  func(w *world) { w.config.Callers = nil },
		"no clock":           func(w *world) { w.config.Now = nil },
		"no agents":          func(w *world) { w.config.Agents = nil },
		"a name that routes": func(w *world) { w.config.Agents[0].Name = "tasks" },
		"a name with colon":  func(w *world) { w.config.Agents[0].Name = "message:send" },
		"a hidden name":      func(w *world) { w.config.Agents[0].Name = ".well-known" },
		"two of a name":      func(w *world) { w.config.Agents[0].Name = "keyed" },
		"no first step":      func(w *world) { w.config.Agents[0].FirstStep = "" },
		"no version":         func(w *world) { w.config.Agents[0].Version = 0 },
	} {
		if h, err := api.New(prepare(t, change).config); err == nil || h != nil || !strings.HasPrefix(err.Error(), "api: ") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
