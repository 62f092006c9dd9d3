package blobs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// API is what the store needs of *s3.Client. The client's own retries are left
// on: every request here may be made twice.
type API interface {
	PutObject(ctx context.Context, in *s3.PutObjectInput, opts ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(ctx context.Context, in *s3.GetObjectInput, opts ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	ListObjectsV2(ctx context.Context, in *s3.ListObjectsV2Input, opts ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
	DeleteObjects(ctx context.Context, in *s3.DeleteObjectsInput, opts ...func(*s3.Options)) (*s3.DeleteObjectsOutput, error)
}

var _ API = (*s3.Client)(nil)

// ErrCorrupt means that an object is not what was put.
var ErrCorrupt = errors.New("the blob is damaged")

// Blobs is a blob store in a bucket, which exists.
type Blobs struct {
	client API
	bucket string
}

var _ ledger.Blobs = (*Blobs)(nil)

// New is the store in a bucket.
func New(client API, bucket string) *Blobs { return &Blobs{client: client, bucket: bucket} }

// Put implements ledger.Blobs.
func (b *Blobs) Put(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest, content []byte) error {
	if actual := lifecycle.DigestBytes(content); actual != digest {
		return fmt.Errorf("a blob was to be stored under %q, its bytes have the digest %s", digest, actual)
	}
	k, err := keyOf(ref, digest)
	if err != nil {
		return err
	}
	_, err = b.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &b.bucket, Key: &k, Body: bytes.NewReader(content), ContentLength: aws.Int64(int64(len(content))),
	})
	return failed(ctx, err)
}

// Get implements ledger.Blobs. Bytes that are not what their digest says are
// never given out: the error then matches ErrCorrupt.
func (b *Blobs) Get(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest) ([]byte, error) {
	k, err := keyOf(ref, digest)
	if err != nil {
		return nil, err
	}
	out, err := b.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &b.bucket, Key: &k})
	if _, absent := errors.AsType[*types.NoSuchKey](err); absent {
		return nil, fmt.Errorf("blob %s of task %s: %w", digest, ref, ledger.ErrNotFound)
	}
	if err != nil {
		return nil, failed(ctx, err)
	}
	content, err := io.ReadAll(out.Body)
	if err = errors.Join(err, out.Body.Close()); err != nil {
		return nil, failed(ctx, err)
	}
	if actual := lifecycle.DigestBytes(content); actual != digest {
		return nil, fmt.Errorf("%w: blob %s of task %s has bytes with the digest %s", ErrCorrupt, digest, ref, actual)
	}
	return content, nil
}

// DeleteAll implements ledger.Blobs. Whatever is left when it fails, the next
// call removes.
func (b *Blobs) DeleteAll(ctx context.Context, ref lifecycle.Ref) error {
	prefix := prefixOf(ref)
	in := &s3.ListObjectsV2Input{Bucket: &b.bucket, Prefix: &prefix}
	for {
		page, err := b.client.ListObjectsV2(ctx, in) // at most 1,000, which is what DeleteObjects takes
		if err != nil {
			return failed(ctx, err)
		}
		if err := b.remove(ctx, page.Contents); err != nil {
			return err
		}
		if in.ContinuationToken = page.NextContinuationToken; in.ContinuationToken == nil {
			return nil
		}
	}
}

func (b *Blobs) remove(ctx context.Context, objects []types.Object) error {
	if len(objects) == 0 {
		return nil
	}
	ids := make([]types.ObjectIdentifier, len(objects))
	for i, o := range objects {
		ids[i] = types.ObjectIdentifier{Key: o.Key}
	}
	out, err := b.client.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &b.bucket, Delete: &types.Delete{Objects: ids, Quiet: aws.Bool(true)}})
	if err != nil {
		return failed(ctx, err)
	}
	if len(out.Errors) > 0 {
		first := out.Errors[0]
		return fmt.Errorf("%w: %d blobs were not removed, the first with %s: %s", ledger.ErrUnavailable, len(out.Errors), aws.ToString(first.Code), aws.ToString(first.Message))
	}
	return nil
}

// failed marks what may be tried again. A request that the bucket refused (no
// permission, no such bucket) stays refused; nothing of the content is in the
// error.
func failed(ctx context.Context, err error) error {
	switch api, answered := errors.AsType[smithy.APIError](err); {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	case answered && refused(api, err):
		return err
	default:
		return fmt.Errorf("%w: %w", ledger.ErrUnavailable, err)
	}
}

func refused(api smithy.APIError, err error) bool {
	answer, is := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err)
	if !is {
		return api.ErrorFault() == smithy.FaultClient
	}
	code := answer.HTTPStatusCode()
	return code < http.StatusInternalServerError && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}
