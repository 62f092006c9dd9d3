package gateway

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// maxBufferedBytes is how much a function may return at once, with room for the
// headers and for what base64 and JSON add (Lambda quotas: 6 MB).
const maxBufferedBytes = 4 << 20

// BufferedFunction is what lambda.Start takes.
type BufferedFunction func(context.Context, events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error)

// Buffered is [Handler] for an integration that does not stream: an answer leaves
// when the handler has ended. A stream must end by itself within API Gateway's 29
// seconds.
func Buffered(h http.Handler, o Options) BufferedFunction {
	streamed := Handler(h, o)
	return func(ctx context.Context, e events.APIGatewayProxyRequest) (events.APIGatewayProxyResponse, error) {
		r, err := streamed(ctx, e)
		if err != nil {
			return events.APIGatewayProxyResponse{}, err
		}
		defer func() { _ = r.Close() }()
		content, err := io.ReadAll(io.LimitReader(r.Body, maxBufferedBytes+1))
		if err != nil || len(content) > maxBufferedBytes {
			return events.APIGatewayProxyResponse{
				StatusCode: http.StatusInternalServerError, Headers: map[string]string{"Content-Type": "text/plain; charset=utf-8"},
				Body: "The answer is too large for this API, or could not be completed.\n",
			}, nil
		}
		out := events.APIGatewayProxyResponse{StatusCode: r.StatusCode, MultiValueHeaders: r.MultiValueHeaders, Body: string(content)}
		if !utf8.Valid(content) {
			out.Body, out.IsBase64Encoded = base64.StdEncoding.EncodeToString(content), true
		}
		return out, nil
	}
}
