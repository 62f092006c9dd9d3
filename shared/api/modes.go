package api

import (
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// textPlain is what agents take and give that say nothing of it.
const textPlain = "text/plain"

// modesOr are an agent's media types.
func modesOr(list []string) []string {
	if len(list) == 0 {
		return []string{textPlain}
	}
	return list
}

// modes are the media types that the agent or any of its skills takes, and gives: which
// skill a message is for, only the agent knows.
func (a *Agent) modes() (takes, gives []string) {
	takes, gives = slices.Clone(modesOr(a.InputModes)), slices.Clone(modesOr(a.OutputModes))
	for _, s := range a.Skills {
		takes, gives = append(takes, s.InputModes...), append(gives, s.OutputModes...)
	}
	return takes, gives
}

// fits checks a request's media types (A2A §3.3.2, ContentTypeNotSupported): those
// that its parts name, and those that it accepts. A part that names none is what its
// kind is.
func (c *call) fits(m *a2a.Message, accepted []string) error {
	takes, gives := c.agent.modes()
	for i, p := range m.Parts {
		if p.MediaType != "" && !slices.ContainsFunc(takes, func(t string) bool { return matches(t, p.MediaType) }) {
			r := refuse(a2a.ErrUnsupportedContentType, "message.parts[%d].mediaType: the agent takes %s.", i, strings.Join(takes, ", "))
			r.fields = []violation{{"message.parts[" + strconv.Itoa(i) + "].mediaType", "is not one of the agent's input modes"}}
			return r
		}
	}
	if len(accepted) > 0 && !slices.ContainsFunc(accepted, func(a string) bool {
		return slices.ContainsFunc(gives, func(g string) bool { return matches(a, g) || matches(g, a) })
	}) {
		r := refuse(a2a.ErrUnsupportedContentType, "configuration.acceptedOutputModes: the agent gives %s.", strings.Join(gives, ", "))
		r.fields = []violation{{"configuration.acceptedOutputModes", "has none of the agent's output modes"}}
		return r
	}
	return nil
}

// matches says whether a media type is in a range (RFC 9110, 12.5.1); parameters do
// not count.
func matches(pattern, media string) bool {
	p, m := essence(pattern), essence(media)
	if p == m || p == "*/*" {
		return true
	}
	kind, all := strings.CutSuffix(p, "/*")
	return all && strings.HasPrefix(m, kind+"/")
}

func essence(media string) string {
	if parsed, _, err := mime.ParseMediaType(media); err == nil {
		return parsed
	}
	return strings.ToLower(strings.TrimSpace(media))
}
