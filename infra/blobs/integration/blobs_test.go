// The blob store on a server that speaks S3's protocol.
//
// Real: the server. Every test has a bucket of its own. Start a server with
// infra/emulator/start.sh and say where it is: HOLDFAST_S3_ENDPOINT=http://127.0.0.1:4566.
package integration_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/holdfast-a2a/holdfast/infra/blobs"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/ledger/ledgertest"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

const endpointVariable = "HOLDFAST_S3_ENDPOINT"

var endpoint = os.Getenv(endpointVariable)

func TestMain(m *testing.M) {
	if endpoint == "" {
		fmt.Fprintln(os.Stderr, endpointVariable+" is not set: these tests need an S3-compatible server. Start one with infra/emulator/start.sh, which prints the line to set it.")
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var client = s3.New(s3.Options{
	Region: "us-east-1", BaseEndpoint: aws.String(endpoint), UsePathStyle: true,
	Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "test", SecretAccessKey: "test"}, nil
	}),
})

// bucket makes a bucket; blobs of several tests never meet.
func bucket(t *testing.T) string {
	t.Helper()
	name := "blobs-" + a2a.NewContextID()
	if _, err := client.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestBlobs is the conformance suite.
func TestBlobs(t *testing.T) {
	ledgertest.RunBlobs(t, func(t *testing.T) ledger.Blobs {
		t.Helper()
		return blobs.New(client, bucket(t))
	})
}

// TestDeleteMany: more than one page goes.
func TestDeleteMany(t *testing.T) {
	const many = 1_050
	name := bucket(t)
	b := blobs.New(client, name)
	ref := lifecycle.Ref{Tenant: "tenant", Task: a2a.NewTaskID()}
	for i := range many {
		content := fmt.Append(nil, i)
		if err := b.Put(t.Context(), ref, lifecycle.DigestBytes(content), content); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.DeleteAll(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	left, err := client.ListObjectsV2(t.Context(), &s3.ListObjectsV2Input{Bucket: &name})
	if err != nil || len(left.Contents) > 0 {
		t.Errorf("%d blobs are left (%v)", len(left.Contents), err)
	}
}
