package api

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
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
	signed, tag, err := c.signedCard(nil)
	if err != nil {
		c.refuse(err)
		return
	}
	h := c.w.Header()
	h.Set("Cache-Control", "public, max-age="+strconv.Itoa(int(cardMaxAge/time.Second)))
	h.Set("ETag", tag)
	h.Set("Last-Modified", c.begunAt.UTC().Format(http.TimeFormat))
	for known := range strings.SplitSeq(c.r.Header.Get("If-None-Match"), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			c.w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	c.beside = true // it is application/json on both bindings
	c.answer(signed, nil)
}

// extendedCard answers with what only those see who have shown who they are
// (§3.1.11).
func (c *call) extendedCard(request) {
	if len(c.agent.ExtendedSkills) == 0 {
		c.refuse(refuse(a2a.ErrUnsupportedOperation, "This agent has no extended agent card."))
		return
	}
	signed, _, err := c.signedCard(c.agent.ExtendedSkills)
	if err == nil {
		c.w.Header().Set("Cache-Control", "private, no-store")
	}
	c.answer(signed, err)
}

// serveKeySet answers with the public key of card signatures.
func (c *call) serveKeySet(address) {
	set, err := c.Keys.KeySet(c.r.Context())
	if err != nil {
		c.refuse(err)
		return
	}
	c.w.Header().Set("Cache-Control", "public, max-age="+strconv.Itoa(int(cardMaxAge/time.Second)))
	c.answer(json.RawMessage(set), nil)
}

// signedCard is a card with its signature (§8.4), and its tag. What is signed is the
// canonical form of what is sent, less the signature: fields that have their default
// are not there in either. Where the key cannot be had just now the card goes without:
// agents are found also while their tables are away.
func (c *call) signedCard(more []a2a.AgentSkill) (card, string, error) {
	out := c.card(more)
	canonical, err := lifecycle.Canonical(out)
	if err != nil {
		return out, "", err
	}
	keySet := strings.TrimSuffix(c.BaseURL(c.r), "/") + "/.well-known/jwks.json"
	if out.Signatures, err = c.Keys.SignCard(c.r.Context(), canonical, keySet); err != nil {
		out.Signatures = nil
		c.Logger.LogAttrs(c.r.Context(), slog.LevelWarn, "the card is not signed", slog.Any("error", err))
	}
	// A card that is signed with another key is another card: the old key goes one day.
	tagged := canonical
	for _, s := range out.Signatures {
		tagged = append(tagged, s.Protected...)
	}
	return out, `"` + string(lifecycle.DigestBytes(tagged)[:principalChars]) + `"`, nil
}

// card says what the agent is and what of A2A this door speaks; what it does not
// announce is refused (§3.3.4).
func (c *call) card(more []a2a.AgentSkill) card {
	base := c.base()
	skills := slices.Concat(c.agent.Skills, more)
	if len(c.agent.Skills) == 0 { // a required array has at least one item (§5.7)
		skills = append([]a2a.AgentSkill{{ID: c.agent.Name, Name: c.agent.Name, Description: c.agent.Description}}, more...)
	}
	for i, s := range skills {
		if len(s.Tags) == 0 { // so have a skill's tags
			skills[i].Tags = []string{c.agent.Name}
		}
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
		SecuritySchemes: schemes,
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, PushNotifications: c.Push != nil, ExtendedAgentCard: len(c.agent.ExtendedSkills) > 0, Extensions: c.extensions(),
		},
		DefaultInputModes:  modesOr(c.agent.InputModes),
		DefaultOutputModes: modesOr(c.agent.OutputModes),
		Skills:             skills,
	}}
}

// announce is our extension's entry in the card (§4.6.1).
func (c *call) announce() a2a.AgentExtension {
	seconds, judged := func(d time.Duration) int64 { return int64(d / time.Second) }, c.agent.Policy
	keys := []string{"the Idempotency-Key header", "metadata submissionKey"}
	if c.agent.KeyedByMessageID {
		keys = append(keys, "messageId")
	}
	after := map[string]int64{
		"completed": seconds(judged.Retention), "failed": seconds(judged.RetentionOf(lifecycle.Failed)),
		"canceled": seconds(judged.RetentionOf(lifecycle.Canceled)), "rejected": seconds(judged.RetentionOf(lifecycle.Rejected)),
	}
	params := map[string]any{
		"policy":                judged.Version,
		"retentionSeconds":      seconds(judged.Retention),
		"retentionSecondsAfter": after,
		"longestLifeSeconds":    seconds(judged.Life),
		"longestPauseSeconds":   seconds(judged.LongestPause()),
		"blockingWaitSeconds":   seconds(c.WaitBudget),
		"streamLimitSeconds":    seconds(c.StreamLimit),
		"maxRequestBytes":       c.MaxRequestBytes,
		"restart":               "Tasks survive the death of the process and of every connection. A step that was under way runs again; what was committed does not.",
		"submissionKeys":        keys,
		"submissionKeyRule":     "The same key with the same message gives the same task; with another message it is a conflict. A key is remembered for as long as its task, and at least " + strconv.FormatInt(seconds(lifecycle.DefaultKeyNote)/86400, 10) + " days more; when its task has expired it gives no other one (SUBMISSION_KEY_EXPIRED).",
		"authorizations":        c.receiptTerms(),
		"cursors":               "Every update has its sequence as SSE id. Send the last one as Last-Event-ID, or as metadata after, to get exactly what is missing. Updates marked replay are contained in the task that precedes them. Metadata artifacts names chunks (artifact and number) behind which an artifact's updates are missing.",
	}
	if t := judged.Terms; t != nil {
		params["policyDigest"] = t.Digest
		if t.Seconds.Exported > 0 {
			after["acknowledgedExport"] = t.Seconds.Exported
		}
	}
	return a2a.AgentExtension{
		URI:         lifecycle.ExtensionURI,
		Description: "Durable tasks: sequences and digests on every task and update, resumable streams, submission keys, named pauses.",
		Params:      params,
	}
}
