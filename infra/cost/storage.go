package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/holdfast-a2a/holdfast/infra/blobs"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// storage is two tables and a bucket, made for one run of this program.
type storage struct {
	client *dynamodb.Client
	names  dynamo.Names
	s3     *s3.Client
	bucket string
}

func newStorage(ctx context.Context, endpoint string) (*storage, error) {
	transport := &http.Transport{
		// The server closes a connection at its 1,000th request, answered or not: the request would be made, and counted, twice.
		DisableKeepAlives: true,
	}
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	c := aws.Config{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: dynamo.HTTPClient{Client: client},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "local", SecretAccessKey: "local"}, nil // such servers check none
		}),
	}
	id := a2a.NewContextID()
	s := &storage{
		client: dynamodb.NewFromConfig(c), names: dynamo.Names{Tasks: "cost-tasks-" + id, Private: "cost-private-" + id},
		s3: s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true }), bucket: "cost-" + id,
	}
	if err := dynamo.CreateTables(ctx, s.client, s.names); err != nil {
		return nil, fmt.Errorf("the tables at %s: %w (start a server with infra/emulator/start.sh)", endpoint, err)
	}
	if _, err := s.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &s.bucket}); err != nil {
		return nil, errors.Join(fmt.Errorf("the bucket at %s: %w", endpoint, err), s.remove(ctx))
	}
	return s, nil
}

// remove takes the tables away. The bucket goes with the server, which keeps its data in memory.
func (s *storage) remove(ctx context.Context) error {
	var failed error
	for _, name := range []string{s.names.Tasks, s.names.Private} {
		_, err := s.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name})
		failed = errors.Join(failed, err)
	}
	return failed
}

// ledger is the ledger as a client sees it; a nil meter counts nothing.
func (s *storage) ledger(meter *dynamo.Meter) *dynamo.Ledger {
	if meter == nil {
		return dynamo.New(s.client, s.names, dynamo.Options{})
	}
	return dynamo.New(meter, s.names, dynamo.Options{})
}

// objects counts the requests to the bucket.
type objects struct {
	blobs.API

	note func(w work)
}

// PutObject implements blobs.API.
func (o objects) PutObject(ctx context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	o.note(work{Puts: 1})
	return o.API.PutObject(ctx, in, opts...)
}

// GetObject implements blobs.API.
func (o objects) GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	o.note(work{Gets: 1})
	return o.API.GetObject(ctx, in, opts...)
}
