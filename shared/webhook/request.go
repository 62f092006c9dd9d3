package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
)

// Why an attempt failed. Classes and not messages: those of net/http contain the
// address, and an address may contain a secret (I9).
const (
	causeStatus     = "status"     // an answer that is no success
	causeRedirect   = "redirect"   // answered 3xx, which is not followed
	causeTimeout    = "timeout"    // no whole answer in time
	causeName       = "name"       // the host's name leads nowhere
	causeAddress    = "address"    // the guard refused it
	causeRefused    = "refused"    // nobody listens there
	causeTLS        = "tls"        // no trust in who answered
	causeConnection = "connection" // broken on the way, or not HTTP
	causeRequest    = "request"    // the configuration makes no request
	causeSecrets    = "secrets"    // they do not open
	causeUpdates    = "updates"    // the task's updates cannot be read

	causeInterrupted = "interrupted" // the sender died over it
)

// answer is what became of one request.
type answer struct {
	status     int
	cause      string        // empty: taken
	retryAfter time.Duration // of 429 and 503
}

// newRequest is the request for one update.
func (s *Sender) newRequest(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, secrets Secrets, u Update, now time.Time) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL, bytes.NewReader(u.Body))
	if err != nil {
		return nil, err
	}
	id := messageID(at, u.Seq)
	r.Header = http.Header{
		"Content-Type":      {"application/a2a+json"},
		"User-Agent":        {"Holdfast"},
		"Webhook-Id":        {id},
		"Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
		"Webhook-Signature": {s.Signer.Sign(id, now, u.Body)},
		"Holdfast-Sequence": {strconv.FormatUint(u.Seq, 10)},
	}
	if secrets.Token != "" {
		// A2A 1.0 names no header for it; the official SDKs write and read one of these.
		r.Header["A2A-Notification-Token"] = []string{secrets.Token}
		r.Header["X-A2A-Notification-Token"] = []string{secrets.Token}
	}
	if e.Scheme != "" && secrets.Credentials != "" {
		r.Header["Authorization"] = []string{e.Scheme + " " + secrets.Credentials}
	}
	return r, nil
}

// post makes one request and reads its answer, within the time.
func (s *Sender) post(ctx context.Context, at ledger.DueDelivery, e ledger.Endpoint, secrets Secrets, u Update, within time.Duration) answer {
	ctx, stop := context.WithTimeout(ctx, within)
	defer stop()
	now := s.Now()
	r, err := s.newRequest(ctx, at, e, secrets, u, now)
	if err != nil {
		return answer{cause: causeRequest}
	}
	resp, err := s.Client.Do(r)
	if err != nil {
		return answer{cause: causeOf(err)}
	}
	defer func() { _ = resp.Body.Close() }()
	// What it says is not kept; that it does not end changes nothing about the status. Who
	// wants to switch protocols has taken the connection over, and no context ends that.
	if resp.StatusCode != http.StatusSwitchingProtocols {
		_, _ = io.CopyN(io.Discard, resp.Body, maxAnswerBytes)
	}
	a := answer{status: resp.StatusCode}
	switch code := resp.StatusCode; {
	case code >= 200 && code < 300:
	case code >= 300 && code < 400:
		a.cause = causeRedirect
	default:
		a.cause = causeStatus
	}
	if a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable {
		a.retryAfter = retryAfter(resp.Header.Get("Retry-After"), now)
	}
	return a
}

// retryAfter reads RFC 9110, 10.2.3: seconds or a date. 0 for neither.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	n, err := strconv.ParseUint(value, 10, 31)
	switch {
	case err == nil:
		return time.Duration(n) * time.Second
	case errors.Is(err, strconv.ErrRange): // digits without end
		return maxWait
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

func causeOf(err error) string {
	timed, isTimed := errors.AsType[net.Error](err)
	_, name := errors.AsType[*net.DNSError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	_, certificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, alert := errors.AsType[tls.AlertError](err)
	switch {
	case errors.Is(err, ErrAddress):
		return causeAddress
	case errors.Is(err, context.DeadlineExceeded), isTimed && timed.Timeout():
		return causeTimeout
	case name:
		return causeName
	case errors.Is(err, syscall.ECONNREFUSED):
		return causeRefused
	case record, certificate, alert:
		return causeTLS
	}
	return causeConnection
}
