package integration_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"net/netip"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/holdfast-a2a/holdfast/infra/blobs"
	"github.com/holdfast-a2a/holdfast/local/node"
	"github.com/holdfast-a2a/holdfast/shared/auth"
	"github.com/holdfast-a2a/holdfast/shared/catalog"
	"github.com/holdfast-a2a/holdfast/shared/catalog/hello"
	"github.com/holdfast-a2a/holdfast/shared/keyring"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
	"github.com/holdfast-a2a/holdfast/shared/webhook"
)

// past does some work on the stack's tables and bucket as a deployment would have done
// it a while ago: the product in this process, its clock behind by as much. Its agent
// minds no deadline, which is over when it is set.
func (s *stack) past(ago time.Duration, work func(url string)) {
	s.Helper()
	sum := sha256.Sum256([]byte(apiKey))
	keys, err := auth.NewKeys([]auth.KeyEntry{{Tenant: tenant, Name: "tests", SHA256: hex.EncodeToString(sum[:])}}, time.Now)
	if err != nil {
		s.Fatal(err)
	}
	agents, err := catalog.New(hello.Agent)
	if err != nil {
		s.Fatal(err)
	}
	n, err := node.New(node.Config{
		Ledger: s.ledger, Blobs: blobs.New(bucketClient, s.bucket), Catalog: agents, HoldersGone: true, Timing: node.DefaultTiming(),
		Now: func() time.Time { return time.Now().Add(-ago) }, NewID: a2a.NewMessageID, Secret: a2a.NewMessageID, Rand: func() float64 { return 0.5 },
		Callers: auth.Credentials{Keys: keys}, Ring: keyring.New(s.ledger), Guard: webhook.Guard{AllowHTTP: true, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
		Logger: slog.New(slog.DiscardHandler),
	})
	if err == nil {
		err = n.Start()
	}
	if err != nil {
		s.Fatal(err)
	}
	server := httptest.NewServer(n.Handler)
	defer func() {
		server.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := n.Stop(ctx); err != nil {
			s.Error(err)
		}
	}()
	work(server.URL)
}

// whole is a task of a while ago with something of everything: a pause that was
// answered and its token, an effect, an artifact of two chunks, and a rejection.
func (s *stack) whole(ago time.Duration) (lifecycle.Ref, error) {
	ctx := s.Context()
	auth := &ledger.Authority{Ledger: s.ledger, Now: func() time.Time { return time.Now().Add(-ago) }, NewID: a2a.NewMessageID}
	h, err := newHolder(s.T, auth)
	must := func(next error) {
		if err == nil {
			err = next
		}
	}
	ref := h.task.Ref()
	must(h.report(ctx, lifecycle.Report{Verb: lifecycle.VerbPause, Next: "count", Message: says("May I?"), Pause: &lifecycle.PauseTerms{State: lifecycle.InputRequired}}))
	_, parked := s.ledger.Park(ctx, ref, 1, ledger.Token{Value: tokenPrefix, Generation: 1, EnteredAt: auth.Now()})
	must(parked)
	res, replied := auth.Do(ctx, h.task, lifecycle.Reply{Message: says("yes")}, lifecycle.Source{Producer: "client"}, ledger.Extra{})
	must(replied)
	must(h.grant(ctx, res.Task))
	_, begun := auth.BeginEffect(ctx, ref, lifecycle.EffectRequest{
		Visit: h.task.Visit, Name: "pay", Policy: lifecycle.PolicyRetry, RequestDigest: lifecycle.DigestBytes(nil), Holder: h.task.Holder, Fence: h.task.Fence, CallUntil: auth.Now().Add(time.Minute),
	})
	must(begun)
	for i, text := range []string{"one", "two"} {
		must(h.report(ctx, lifecycle.Report{Verb: lifecycle.VerbSubStep, Updates: []lifecycle.Update{{Chunk: &lifecycle.Chunk{
			Artifact: "report", Number: i, Last: i > 0, Part: a2a.NewTextPart(text), Bytes: int64(len(text)), Checksum: lifecycle.DigestBytes([]byte(text)),
		}}}}))
	}
	must(s.ledger.Reject(ctx, ref, ledger.Rejected{At: auth.Now(), Producer: "client", Reason: lifecycle.IllegalTransition}))
	must(h.report(ctx, lifecycle.Report{Verb: lifecycle.VerbComplete, Message: says("done")}))
	return ref, err
}

// noTask is the key of findings about the deployment: one for each invariant, and of no
// task.
const noTask = "T##"

// kept is all that is in the stack's tables, but for the key ring and what was met in
// the deployment as a whole, and in its bucket:
// items by their keys, and the sizes of objects, as text.
func (s *stack) kept() map[string]string {
	s.Helper()
	out := map[string]string{}
	for _, table := range []string{s.tables.Tasks, s.tables.Private} {
		in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: aws.Bool(true)}
		for in != nil {
			page, err := tableClient.Scan(s.Context(), in)
			if err != nil {
				s.Fatal(err)
			}
			for _, it := range page.Items {
				text, err := json.Marshal(it)
				if err != nil {
					s.Fatal(err)
				}
				if pk := textOf(it["pk"]); !strings.HasPrefix(pk, "S#") && pk != noTask {
					out[pk+" "+textOf(it["sk"])] = string(text)
				}
			}
			if in.ExclusiveStartKey = page.LastEvaluatedKey; in.ExclusiveStartKey == nil {
				in = nil
			}
		}
	}
	pages := s3.NewListObjectsV2Paginator(bucketClient, &s3.ListObjectsV2Input{Bucket: &s.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(s.Context())
		if err != nil {
			s.Fatal(err)
		}
		for _, object := range page.Contents {
			out["blob "+*object.Key] = fmt.Sprint(*object.Size)
		}
	}
	return out
}

func textOf(v types.AttributeValue) string {
	text, _ := v.(*types.AttributeValueMemberS)
	if text == nil {
		return ""
	}
	return text.Value
}
