package lambdahost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

const (
	maxBodyBytes    = 10 << 20 // API Gateway, "Amazon API Gateway quotas": payload size
	maxPreludeBytes = 16 << 10 // the delimiter is in the first 16 KB
)

// delimiter stands between the metadata of a streamed answer and its body.
var delimiter = make([]byte, 8)

// Front stands for a REST API with ANY / and ANY /{proxy+} on one function, with
// response streaming.
type Front struct {
	Function *Function
	// Now and Timeout give an invocation its deadline.
	Now     func() time.Time
	Timeout time.Duration
	// Stage is in front of every path, as in the API's default address. Empty: a
	// custom domain.
	Stage string
	// BasePath is the custom domain's base path mapping, "" or without slashes.
	BasePath string
	// Binary is the API's binaryMediaTypes */*: every body comes as base64. Without
	// it, those do that are no text.
	Binary bool
}

// ServeHTTP implements http.Handler.
func (f *Front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		say(w, http.StatusRequestEntityTooLarge, "Request Too Long")
		return
	}
	e, found := f.event(r, body)
	if !found {
		say(w, http.StatusForbidden, "Missing Authentication Token")
		return
	}
	payload, err := json.Marshal(e)
	if err != nil {
		say(w, http.StatusInternalServerError, "Internal server error")
		return
	}
	answer, err := f.Function.Invoke(r.Context(), payload, f.Now().Add(f.Timeout))
	if errors.Is(err, ErrTooLarge) {
		say(w, http.StatusRequestEntityTooLarge, "Request Too Long")
		return
	}
	if err != nil {
		say(w, http.StatusBadGateway, "Internal server error")
		return
	}
	defer func() { _ = answer.Close() }()
	// A caller that goes away ends the copying, not the function.
	defer context.AfterFunc(r.Context(), func() { _ = answer.Close() })()
	relay(w, answer)
}

// relay streams an answer, and cuts the connection when it cannot be completed.
func relay(w http.ResponseWriter, answer io.Reader) {
	head, rest, err := prelude(answer)
	if err != nil {
		say(w, http.StatusBadGateway, "Internal server error")
		return
	}
	h := w.Header()
	for name, v := range head.Headers {
		h.Set(name, v)
	}
	for name, values := range head.MultiValueHeaders {
		h[http.CanonicalHeaderKey(name)] = values
	}
	for _, cookie := range head.Cookies {
		h.Add("Set-Cookie", cookie)
	}
	w.WriteHeader(head.StatusCode)
	out := http.NewResponseController(w)
	block := make([]byte, streamBlockBytes)
	for {
		err := out.Flush()
		n, failed := 0, err
		if err == nil {
			n, failed = rest.Read(block)
		}
		if _, err := w.Write(block[:n]); err != nil {
			return
		}
		if errors.Is(failed, io.EOF) {
			return
		}
		if failed != nil {
			if conn, _, err := out.Hijack(); err == nil {
				_ = conn.Close()
			}
			return
		}
	}
}

// metadata is what stands before the delimiter.
type metadata struct {
	StatusCode        int                 `json:"statusCode"`
	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
	Cookies           []string            `json:"cookies"`
}

// prelude reads up to the delimiter.
func prelude(answer io.Reader) (head metadata, rest io.Reader, err error) {
	var seen []byte
	block := make([]byte, 4<<10)
	for {
		n, err := answer.Read(block)
		seen = append(seen, block[:n]...)
		if text, body, ok := bytes.Cut(seen, delimiter); ok && len(text)+len(delimiter) <= maxPreludeBytes {
			err := json.Unmarshal(text, &head)
			if err == nil && (head.StatusCode < 100 || head.StatusCode > 599) {
				err = errors.New("no status code")
			}
			return head, io.MultiReader(bytes.NewReader(body), answer), err
		}
		if err == nil && len(seen) > maxPreludeBytes {
			err = errors.New("no delimiter in the first 16 KB")
		}
		if err != nil {
			return head, nil, err
		}
	}
}

// event is the request as a proxy integration sends it.
func (f *Front) event(r *http.Request, body []byte) (events.APIGatewayProxyRequest, bool) {
	full := r.URL.EscapedPath()
	path, mapped := full, full
	for _, prefix := range []string{f.Stage, f.BasePath} {
		if prefix == "" {
			continue
		}
		rest, ok := strings.CutPrefix(path, "/"+prefix)
		if !ok || rest != "" && rest[0] != '/' {
			return events.APIGatewayProxyRequest{}, false
		}
		path = rest
		if prefix == f.Stage {
			mapped = rest // an event's path holds a base path, and never the stage
		}
	}
	e := events.APIGatewayProxyRequest{
		Resource: "/", Path: cmp.Or(mapped, "/"), HTTPMethod: r.Method, Body: string(body),
		Headers: map[string]string{}, MultiValueHeaders: map[string][]string{},
	}
	if proxy := strings.Trim(path, "/"); proxy != "" {
		e.Resource, e.PathParameters = "/{proxy+}", map[string]string{"proxy": proxy}
	}
	if f.Binary || !utf8.Valid(body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	f.address(&e, r)
	e.RequestContext = events.APIGatewayProxyRequestContext{
		Stage: f.Stage, DomainName: r.Host, Protocol: r.Proto, HTTPMethod: r.Method, Path: cmp.Or(full, "/"), ResourcePath: e.Resource,
		Identity: events.APIGatewayRequestIdentity{SourceIP: e.Headers["X-Forwarded-For"], UserAgent: r.UserAgent()},
	}
	return e, true
}

// address fills in headers and query.
func (f *Front) address(e *events.APIGatewayProxyRequest, r *http.Request) {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		ip = r.RemoteAddr
	}
	header := r.Header.Clone()
	header.Set("Host", r.Host)
	header.Set("X-Forwarded-For", ip)
	header.Set("X-Forwarded-Proto", "http")
	for name, values := range header {
		e.MultiValueHeaders[name], e.Headers[name] = values, values[len(values)-1]
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || len(query) == 0 {
		return
	}
	e.MultiValueQueryStringParameters, e.QueryStringParameters = query, map[string]string{}
	for name, values := range query {
		e.QueryStringParameters[name] = values[len(values)-1]
	}
}

// say answers in API Gateway's own words.
func say(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, `{"message":"`+message+"\"}\n")
}
