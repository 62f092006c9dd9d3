package gateway

import (
	"net/url"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// split cuts the address into what the caller must put in front (the stage of a
// default address, the base path of a custom domain) and the path that the API's
// routes are about.
//
// The event's path never holds the stage but does hold a base path; the request
// context's path holds either (API Gateway, "Set up Lambda proxy integrations in API
// Gateway"). What a greedy path parameter matched is free of both.
func split(e events.APIGatewayProxyRequest) (base, path string) {
	whole := rooted(e.Path)
	if match, ok := matched(e); ok {
		if i := tail(whole, match); i >= 0 {
			base, whole = whole[:i], whole[i:]
		}
	}
	if full := e.RequestContext.Path; full != "" {
		if i := tail(full, whole); i >= 0 {
			base = full[:i]
		}
	}
	return base, rooted(whole)
}

// matched is the path as the API's resource sees it.
func matched(e events.APIGatewayProxyRequest) (string, bool) {
	if e.Resource == "/" {
		return "/", true
	}
	fixed, name, ok := strings.Cut(strings.TrimSuffix(e.Resource, "+}"), "{")
	value, known := e.PathParameters[name]
	return fixed + value, ok && known && strings.HasSuffix(e.Resource, "+}")
}

// tail finds where in a path the part begins that equals the match, whether either
// of the two is percent-encoded or not: AWS does not say. Without one it is -1.
func tail(path, match string) int {
	want := strings.TrimSuffix(plain(match), "/")
	for i := range len(path) + 1 {
		if i < len(path) && path[i] != '/' {
			continue
		}
		if rest := strings.TrimSuffix(path[i:], "/"); rest == want || plain(rest) == want {
			return i
		}
	}
	return -1
}

func plain(s string) string {
	if p, err := url.PathUnescape(s); err == nil {
		return p
	}
	return s
}

func rooted(path string) string {
	if strings.HasPrefix(path, "/") {
		return path
	}
	return "/" + path
}

// locate reads a path as the request line would have held it. One that is no valid
// encoding is taken literally.
func locate(path string) *url.URL {
	if p, err := url.PathUnescape(path); err == nil {
		return &url.URL{Path: p, RawPath: path}
	}
	return &url.URL{Path: path}
}
