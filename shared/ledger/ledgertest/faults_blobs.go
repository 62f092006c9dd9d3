package ledgertest

import (
	"context"

	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// faultyBlobs passes every call of a blob store through the faults.
type faultyBlobs struct {
	faults *Faults
	inner  ledger.Blobs
}

func (b *faultyBlobs) Put(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest, content []byte) error {
	return write(ctx, b.faults, Call{Method: "Put", Ref: ref}, func(ctx context.Context) error { return b.inner.Put(ctx, ref, digest, content) }, nil)
}

func (b *faultyBlobs) Get(ctx context.Context, ref lifecycle.Ref, digest lifecycle.Digest) ([]byte, error) {
	return read(ctx, b.faults, Call{Method: "Get", Ref: ref}, func(ctx context.Context) ([]byte, error) { return b.inner.Get(ctx, ref, digest) })
}

func (b *faultyBlobs) DeleteAll(ctx context.Context, ref lifecycle.Ref) error {
	return write(ctx, b.faults, Call{Method: "DeleteAll", Ref: ref}, func(ctx context.Context) error { return b.inner.DeleteAll(ctx, ref) }, nil)
}
