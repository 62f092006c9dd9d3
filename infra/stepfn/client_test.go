package stepfn_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/holdfast-a2a/holdfast/infra/stepfn"
	"github.com/holdfast-a2a/holdfast/shared/dispatch"
)

// server is the service's end of the wire: real requests of the real SDK, answered from a script. Its time is the bubble's, so what the retries
// wait is seen exactly; that the wait is random is not asserted, only that it has a bound.
type server struct {
	answers []string // the last one is repeated; a code, "200", or "" for a connection that breaks
	asked   int
}

func (s *server) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	answer := s.answers[min(s.asked, len(s.answers)-1)]
	s.asked++
	status, body := http.StatusBadRequest, `{"__type":"com.amazonaws.swf.service.v2.model#`+answer+`","message":"about `+token+`"}`
	switch answer {
	case "":
		return nil, io.ErrUnexpectedEOF
	case "200":
		status, body = http.StatusOK, "{}"
	case "InternalFailure":
		status = http.StatusInternalServerError
	}
	header := http.Header{"Content-Type": {"application/x-amz-json-1.0"}, "X-Amzn-Requestid": {"request-1"}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, r.Context().Err()
}

func (s *server) config() aws.Config {
	credentials := func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
	}
	return aws.Config{Region: "eu-west-1", HTTPClient: s, Credentials: aws.CredentialsProviderFunc(credentials)}
}

func TestClientRetries(t *testing.T) {
	for _, row := range []struct {
		name    string
		answers []string
		asked   int
		want    error // with failed
		failed  bool
	}{
		{name: "at once", answers: []string{"200"}, asked: 1},
		{name: "throttled three times", answers: []string{"ThrottlingException", "ThrottlingException", "ThrottlingException", "200"}, asked: 4},
		{name: "the key's throttling", answers: []string{"KmsThrottlingException", "200"}, asked: 2},
		{name: "a fault of the service", answers: []string{"InternalFailure", "200"}, asked: 2},
		{name: "an answer lost, and then the token is closed", answers: []string{"", "TaskTimedOut"}, asked: 2, failed: true, want: dispatch.ErrClosed},
		{name: "throttled for ever", answers: []string{"ThrottlingException"}, asked: 6, failed: true},
		{name: "closed", answers: []string{"TaskTimedOut"}, asked: 1, failed: true, want: dispatch.ErrClosed},
		{name: "unknown", answers: []string{"TaskDoesNotExist"}, asked: 1, failed: true, want: dispatch.ErrNoExecution},
		{name: "invalid", answers: []string{"InvalidToken"}, asked: 1, failed: true, want: dispatch.ErrNoExecution},
		{name: "refused", answers: []string{"AccessDeniedException"}, asked: 1, failed: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{answers: row.answers}
				client := stepfn.NewClient(s.config())
				began := time.Now()
				err := newExecutions(t, client).Resume(t.Context(), token)
				if (err != nil) != row.failed || row.want != nil && !errors.Is(err, row.want) {
					t.Errorf("Resume: %v, want %v", err, row.want)
				}
				if s.asked != row.asked {
					t.Errorf("asked %d times, want %d", s.asked, row.asked)
				}
				if took, most := time.Since(began), 2*time.Second*time.Duration(row.asked-1); took > most {
					t.Errorf("took %s, want at most %s", took, most)
				}
				wantNoToken(t, err)
				if row.failed && row.want == nil && !strings.Contains(err.Error(), "request-1") {
					t.Errorf("%v does not name the request", err)
				}
			})
		})
	}
}

func TestClientRetriesAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// The answer to the first try is lost; the second finds what it did.
		s := &server{answers: []string{"", "ThrottlingException", "ExecutionAlreadyExists"}}
		client := stepfn.NewClient(s.config())
		in := dispatch.Input{Tenant: "acme", Task: "t1", Generation: 1}
		if err := newExecutions(t, client).Start(t.Context(), in.Name(), in); err != nil || s.asked != 3 {
			t.Errorf("Start: %v after %d requests", err, s.asked)
		}
	})
}
