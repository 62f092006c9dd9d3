package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// cardMaxAge is how long a card may be cached (A2A §8.6.1). It changes with a
// deploy only, and a client that notices a minute late loses nothing.
const cardMaxAge = 5 * time.Minute

// serveCard answers with the agent's card (§8.2), or that it has not changed.
func (c *call) serveCard(address) {
	b, err := json.Marshal(c.card())
	if err != nil {
		c.refuse(err)
		return
	}
	tag := `"` + string(lifecycle.DigestBytes(b)[:principalChars]) + `"`
	h := c.w.Header()
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(cardMaxAge/time.Second)))
	h.Set("ETag", tag)
	for known := range strings.SplitSeq(c.r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			c.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(len(b)))
	_, _ = c.w.Write(b)
}

// card says what the agent is and what of A2A this door speaks; what it does not
// announce is refused (§3.3.4).
func (c *call) card() card {
	base := c.base()
	modes := func(list []string) []string {
		if len(list) == 0 {
			return []string{"text/plain"}
		}
		return list
	}
	skills := make([]a2a.AgentSkill, 0, len(c.agent.Skills))
	for _, s := range c.agent.Skills {
		if s.Tags == nil {
			s.Tags = []string{}
		}
		skills = append(skills, s)
	}
	if len(skills) == 0 { // a required array has at least one item (§5.7)
		skills = append(skills, a2a.AgentSkill{ID: c.agent.Name, Name: c.agent.Name, Description: c.agent.Description, Tags: []string{}})
	}
	schemes, requirements := security(c.Callers.Schemes())
	return card{SecurityRequirements: requirements, AgentCard: &a2a.AgentCard{
		Name:        c.agent.Name,
		Description: c.agent.Description,
		Version:     strconv.Itoa(c.agent.Version),
		SupportedInterfaces: []*a2a.AgentInterface{
			a2a.NewAgentInterface(base+"/rpc", a2a.TransportProtocolJSONRPC),
			a2a.NewAgentInterface(base, a2a.TransportProtocolHTTPJSON),
		},
		SecuritySchemes:    schemes,
		Capabilities:       a2a.AgentCapabilities{Streaming: true, Extensions: []a2a.AgentExtension{c.announce()}},
		DefaultInputModes:  modes(c.agent.InputModes),
		DefaultOutputModes: modes(c.agent.OutputModes),
		Skills:             skills,
	}}
}

// announce is our extension's entry in the card (§4.6.1).
func (c *call) announce() a2a.AgentExtension {
	seconds := func(d time.Duration) int64 { return int64(d / time.Second) }
	keys := []string{"the Idempotency-Key header", "metadata submissionKey"}
	if c.agent.KeyedByMessageID {
		keys = append(keys, "messageId")
	}
	return a2a.AgentExtension{
		URI:         lifecycle.ExtensionURI,
		Description: "Durable tasks: sequences and digests on every task and update, resumable streams, submission keys, named pauses.",
		Params: map[string]any{
			"policy":              c.Policy.Version,
			"retentionSeconds":    seconds(c.Policy.Retention),
			"longestLifeSeconds":  seconds(c.Policy.Life),
			"longestPauseSeconds": seconds(lifecycle.MaxPause),
			"blockingWaitSeconds": seconds(c.WaitBudget),
			"streamLimitSeconds":  seconds(c.StreamLimit),
			"maxRequestBytes":     c.MaxRequestBytes,
			"restart":             "Tasks survive the death of the process and of every connection. A step that was under way runs again; what was committed does not.",
			"submissionKeys":      keys,
			"submissionKeyRule":   "The same key with the same message gives the same task; with another message it is a conflict. A key is remembered for as long as its task, and at least " + strconv.FormatInt(seconds(lifecycle.DefaultKeyNote)/86400, 10) + " days more.",
			"cursors":             "Every update has its sequence as SSE id. Send the last one as Last-Event-ID, or as metadata after, to get exactly what is missing. Updates marked replay are contained in the task that precedes them.",
		},
	}
}
