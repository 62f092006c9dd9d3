package api

import (
	"regexp"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// supportedVersion is 1.0 with any patch number, which must not matter (A2A §3.6).
var supportedVersion = regexp.MustCompile(`^1\.0(\.[0-9]{1,9})?$`)

// version checks the A2A-Version of a request, a header or a query parameter
// (§3.6.1). An empty one means 0.3 (§3.6.2), which is not spoken here.
func (c *call) version() error {
	v := strings.TrimSpace(c.r.Header.Get("A2a-Version"))
	if v == "" && c.r.URL.RawQuery != "" {
		for name, values := range c.r.URL.Query() {
			if strings.EqualFold(name, "A2A-Version") {
				v = strings.TrimSpace(values[0])
			}
		}
	}
	if v == "1.0" || supportedVersion.MatchString(v) {
		return nil
	}
	if v == "" {
		return refuse(a2a.ErrVersionNotSupported, "The request names no A2A version, which means 0.3. This agent speaks 1.0: send the header A2A-Version: 1.0.")
	}
	return refuse(a2a.ErrVersionNotSupported, "The request's A2A version is not supported. This agent speaks 1.0: send the header A2A-Version: 1.0.")
}
