package integration_test

import (
	"context"
	"errors"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/holdfast-a2a/holdfast/infra/dynamo"
)

// newTables makes the two tables of a stack and removes them when the test ends.
func newTables(t *testing.T) dynamo.Names {
	t.Helper()
	id := a2a.NewContextID()
	names := dynamo.Names{Tasks: "tasks-" + id, Private: "private-" + id}
	if err := dynamo.CreateTables(t.Context(), tableClient, names); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, name := range []string{names.Tasks, names.Private} {
			_, err := tableClient.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: &name})
			// The client asks again when an answer is lost.
			if _, gone := errors.AsType[*types.ResourceNotFoundException](err); err != nil && !gone {
				t.Errorf("removing table %s: %v", name, err)
			}
		}
	})
	return names
}

// newBucket makes a bucket and removes it, with all that is in it.
func newBucket(t *testing.T) string {
	t.Helper()
	name := "blobs-" + a2a.NewContextID()
	if _, err := bucketClient.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := removeBucket(context.Background(), name); err != nil {
			t.Errorf("removing bucket %s: %v", name, err)
		}
	})
	return name
}

func removeBucket(ctx context.Context, name string) error {
	pages := s3.NewListObjectsV2Paginator(bucketClient, &s3.ListObjectsV2Input{Bucket: &name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, object := range page.Contents {
			if _, err := bucketClient.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &name, Key: object.Key}); err != nil {
				return err
			}
		}
	}
	_, err := bucketClient.DeleteBucket(ctx, &s3.DeleteBucketInput{Bucket: &name})
	if _, gone := errors.AsType[*s3types.NoSuchBucket](err); gone {
		return nil
	}
	return err
}
