package integration_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// secrets are what was planted, by the place where it arrived, and everything that came
// back to callers.
type secrets struct {
	t       *testing.T
	planted map[string]string
	said    bytes.Buffer
}

func (s *secrets) in(place string) string {
	secret := "planted" + strings.ReplaceAll(a2a.NewContextID(), "-", "")
	s.planted[fmt.Sprintf("%s (%d)", place, len(s.planted))] = secret
	return secret
}

func (s *secrets) absent(where string, content []byte) {
	s.t.Helper()
	for place, secret := range s.planted {
		if i := bytes.Index(content, []byte(secret)); i >= 0 {
			s.t.Errorf("%s has what was planted in: %s\n… %q …", where, place, content[max(0, i-80):min(len(content), i+80)])
		}
	}
}

// ask makes a request and keeps what comes back.
func (s *secrets) ask(want int, method, url, body string, headers ...string) []byte {
	s.t.Helper()
	a, err := call(s.t.Context(), method, url, body, headers...)
	if err != nil || a.status != want {
		s.t.Fatalf("%s %s: %s, %v, want %d", method, url, a, err, want)
	}
	s.said.Write(a.body)
	return a.body
}

// issuer gives out receipts and publishes its key.
type issuer struct {
	*secrets
	key ed25519.PrivateKey
	url string
}

func newIssuer(s *secrets) issuer {
	s.t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	keys := fmt.Sprintf(`{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k-1","x":%q}]}`, base64.RawURLEncoding.EncodeToString(public))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, keys) }))
	s.t.Cleanup(server.Close)
	return issuer{s, private, server.URL + "/keys"}
}

// give signs a receipt; each of its parts is a secret, and so is one of its claims.
func (i issuer) give(task a2a.TaskID, action, jti string) string {
	i.t.Helper()
	now := time.Now().Unix()
	payload, err := json.Marshal(map[string]any{
		"iss": "approvals", "aud": "here", "iat": now, "exp": now + 300, "jti": jti, "note": i.in("receipt's claims"),
		lifecycle.ExtensionURI: map[string]any{"tenant": tenant, "task": task, "challenge": 1, "action": action},
	})
	if err != nil {
		i.t.Fatal(err)
	}
	e := base64.RawURLEncoding.EncodeToString
	content := e([]byte(`{"alg":"EdDSA","kid":"k-1","typ":"holdfast-receipt+jwt"}`)) + "." + e(payload)
	signature := e(ed25519.Sign(i.key, []byte(content)))
	i.planted["receipt of "+jti], i.planted["signature of "+jti] = e(payload), signature
	return content + "." + signature
}

// A task that waits for authorization goes on with a receipt, out of band and in band,
// and of all the secrets that came with its requests none is in a table, a large part,
// an answer, or what a function printed (I9, I12). A callback token is in the table that
// is not streamed, where whoever answers takes it from, and nowhere else.
func TestNoSecretIsKept(t *testing.T) {
	t.Parallel()
	planted := &secrets{t: t, planted: map[string]string{"API key": apiKey}}
	approvals := newIssuer(planted)
	s := newStack(t, plan{build: trial, env: []string{
		"HOLDFAST_WEBHOOK_NETWORKS=127.0.0.0/8",
		fmt.Sprintf(`HOLDFAST_RECEIPT_ISSUERS=[{"issuer":"approvals","jwksUrl":%q,"audience":"here"}]`, approvals.url),
	}})
	s.feedOften()
	hook := newHook(t, true)
	begin := func(id string) lifecycle.Ref {
		body := fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":[{"text":"authorize"}]},"configuration":{"returnImmediately":true,
			"taskPushNotificationConfig":{"url":%q,"token":%q,"authentication":{"scheme":"Bearer","credentials":%q}}}}`, id, hook.url, planted.in("push token"), planted.in("push authentication"))
		var sent struct{ Task a2a.Task }
		if err := json.Unmarshal(planted.ask(200, http.MethodPost, s.url+"/message:send", body, "Cookie", planted.in("header: Cookie")), &sent); err != nil {
			t.Fatal(err)
		}
		return refTo(sent.Task.ID)
	}
	outOfBand, inBand := begin("out"), begin("in")
	tokens := &secrets{t: t, planted: map[string]string{}}
	for _, ref := range []lifecycle.Ref{outOfBand, inBand} {
		s.parked(ref, 1)
		tokens.planted["callback token of "+string(ref.Task)] = s.token(ref, 1).Value
	}

	path := s.url + "/tasks/" + string(outOfBand.Task) + "/authorizations"
	good := approvals.give(outOfBand.Task, "act", "receipt-1")
	for _, bad := range []string{good + "AA", approvals.give(outOfBand.Task, "another", "bad"), approvals.give(inBand.Task, "act", "foreign"), planted.in("receipt that is none")} {
		planted.ask(400, http.MethodPost, path, fmt.Sprintf(`{"receipt":%q}`, bad))
	}
	planted.ask(401, http.MethodPost, path, fmt.Sprintf(`{"receipt":%q}`, good), "Authorization", "Bearer "+planted.in("header: bearer"))
	planted.ask(404, http.MethodGet, s.url+"/nothing?access_token="+planted.in("query"), "")
	planted.ask(400, http.MethodPost, s.url+"/message:send", fmt.Sprintf(`{"message":{"role":%q}}`, planted.in("body")))
	planted.ask(200, http.MethodPost, path+"?receipt="+planted.in("query"), fmt.Sprintf(`{"receipt":%q}`, good))
	planted.ask(200, http.MethodPost, s.url+"/message:send", fmt.Sprintf(`{"message":{"messageId":"m-2","role":"ROLE_USER","taskId":%q,"parts":[{"text":%q}],"metadata":{%q:{"authorization":%q}}},"configuration":{"returnImmediately":true}}`,
		inBand.Task, "a large answer "+strings.Repeat("x", 64<<10), lifecycle.ExtensionURI, approvals.give(inBand.Task, "act", "receipt-2")))
	for _, ref := range []lifecycle.Ref{outOfBand, inBand} {
		until(t, "the authorized task has ended", func() (bool, string) {
			h, err := s.ledger.Head(t.Context(), ref)
			return err == nil && h.State == lifecycle.Completed, fmt.Sprint(h.State, err)
		})
		if _, err := verify(t.Context(), s.auth, ref); err != nil {
			t.Error(err)
		}
		for _, more := range []string{"", "/ledger?limit=1000", "/export", "/pushNotificationConfigs"} {
			planted.ask(200, http.MethodGet, s.url+"/tasks/"+string(ref.Task)+more, "")
		}
	}
	until(t, "the receiver that is down was tried", func() (bool, string) {
		n, _ := hook.seen()
		return n > 0, fmt.Sprintf("%d tries", n)
	})

	tasks, private, parts := s.rows(s.tables.Tasks), s.rows(s.tables.Private), s.parts()
	for where, content := range map[string][]byte{"the tasks table": tasks, "the private table": private, "the bucket": parts, "an answer": planted.said.Bytes(), "a log": s.printed()} {
		planted.absent(where, content)
		if where != "the private table" {
			tokens.absent(where, content)
		}
	}
	for _, token := range tokens.planted {
		if !bytes.Contains(private, []byte(token)) {
			t.Error("the private table lacks a callback token: this test searches the wrong place")
		}
	}
	if !bytes.Contains(tasks, []byte("receipt-1")) || !bytes.Contains(tasks, []byte("receipt-2")) || !bytes.Contains(parts, []byte("a large answer")) || len(s.printed()) == 0 {
		t.Error("the tables lack the receipts' jti, the bucket the large part, or nothing was printed: this test searches the wrong place")
	}
}

// rows is everything in a table.
func (s *stack) rows(table string) []byte {
	s.Helper()
	var all bytes.Buffer
	pages := dynamodb.NewScanPaginator(tableClient, &dynamodb.ScanInput{TableName: &table})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, item := range page.Items {
			for _, name := range slices.Sorted(maps.Keys(item)) {
				fmt.Fprintf(&all, "%s=", name)
				write(&all, item[name])
			}
		}
	}
	return all.Bytes()
}

// write shows the bytes of an attribute as they are.
func write(to *bytes.Buffer, v types.AttributeValue) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		to.WriteString(v.Value)
	case *types.AttributeValueMemberB:
		to.Write(v.Value)
	case *types.AttributeValueMemberM:
		for name, member := range v.Value {
			to.WriteString(name)
			write(to, member)
		}
	case *types.AttributeValueMemberL:
		for _, member := range v.Value {
			write(to, member)
		}
	default:
		fmt.Fprint(to, v)
	}
	to.WriteByte('\n')
}

// parts is everything in the bucket.
func (s *stack) parts() []byte {
	s.Helper()
	var all bytes.Buffer
	pages := s3.NewListObjectsV2Paginator(bucketClient, &s3.ListObjectsV2Input{Bucket: &s.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, o := range page.Contents {
			if err := s.part(&all, *o.Key); err != nil {
				s.Fatal(err)
			}
		}
	}
	return all.Bytes()
}

func (s *stack) part(to io.Writer, key string) error {
	object, err := bucketClient.GetObject(context.Background(), &s3.GetObjectInput{Bucket: &s.bucket, Key: &key})
	if err != nil {
		return err
	}
	_, err = io.Copy(to, object.Body)
	return errors.Join(err, object.Body.Close())
}

// printed is what all functions have printed.
func (s *stack) printed() []byte {
	s.logs.mu.Lock()
	defer s.logs.mu.Unlock()
	var all []byte
	for _, text := range s.logs.text {
		all = append(all, text.Bytes()...)
	}
	return all
}
