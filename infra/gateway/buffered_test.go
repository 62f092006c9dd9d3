package gateway_test

import (
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/holdfast-a2a/holdfast/infra/gateway"
)

// TestBuffered: the same handler behind an integration that does not stream.
func TestBuffered(t *testing.T) {
	for _, c := range []struct {
		name    string
		h       http.HandlerFunc
		status  int
		body    string
		encoded bool
	}{
		{"text", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Add("Vary", "a")
			w.Header().Add("Vary", "b")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, "hällo")
			_ = http.NewResponseController(w).Flush()
		}, http.StatusCreated, "hällo", false},
		{"bytes", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0}) }, http.StatusOK, "/wA=", true},
		{"nothing", func(http.ResponseWriter, *http.Request) {}, http.StatusOK, "", false},
		{"panic", func(http.ResponseWriter, *http.Request) { panic("x") }, http.StatusInternalServerError, "Internal Server Error\n", false},
		{"late panic", func(w http.ResponseWriter, _ *http.Request) {
			_ = http.NewResponseController(w).Flush()
			panic("x")
		}, http.StatusInternalServerError, "The answer is too large for this API, or could not be completed.\n", false},
		{"too large", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("x", 4<<20+1)) },
			http.StatusInternalServerError, "The answer is too large for this API, or could not be completed.\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := gateway.Buffered(c.h, gateway.Options{})(t.Context(), events.APIGatewayProxyRequest{HTTPMethod: http.MethodGet})
			if err != nil || got.StatusCode != c.status || got.Body != c.body || got.IsBase64Encoded != c.encoded {
				t.Errorf("got %d %.100q %v, %v", got.StatusCode, got.Body, got.IsBase64Encoded, err)
			}
			if c.name == "text" && !reflect.DeepEqual(got.MultiValueHeaders["Vary"], []string{"a", "b"}) {
				t.Errorf("headers %v", got.MultiValueHeaders)
			}
		})
	}
	if _, err := gateway.Buffered(nil, gateway.Options{})(t.Context(), events.APIGatewayProxyRequest{}); err == nil {
		t.Error("an event that is no request was served")
	}
}
