package ledgertest

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// blobTest is a test of a blob store.
type blobTest struct {
	name string
	run  func(b *blobBench)
}

// blobBench is a blob store in a test.
type blobBench struct {
	*testing.T
	blobs ledger.Blobs
	ctx   context.Context //nolint:containedctx // the test's own
	ref   lifecycle.Ref
}

var blobTests = []blobTest{
	{"bytes are read back", blobReadBack},
	{"the same bytes again change nothing", blobAgain},
	{"bytes under another digest are refused (I6)", blobWrongDigest},
	{"an unknown blob is not found", blobUnknown},
	{"a task's blobs are its own (I10)", blobIsolation},
	{"removing a task's blobs leaves the others", blobDelete},
}

// RunBlobs is the conformance suite of blob stores.
func RunBlobs(t *testing.T, open func(t *testing.T) ledger.Blobs) {
	t.Helper()
	for _, test := range blobTests {
		t.Run(test.name, func(t *testing.T) {
			ref := lifecycle.Ref{Tenant: "tenant-" + a2a.NewContextID(), Task: a2a.NewTaskID()}
			test.run(&blobBench{T: t, blobs: open(t), ctx: t.Context(), ref: ref})
		})
	}
}

func (b *blobBench) put(ref lifecycle.Ref, content []byte) lifecycle.Digest {
	b.Helper()
	digest := lifecycle.DigestBytes(content)
	if err := b.blobs.Put(b.ctx, ref, digest, content); err != nil {
		b.Fatal(err)
	}
	return digest
}

func (b *blobBench) wantContent(ref lifecycle.Ref, digest lifecycle.Digest, want []byte) {
	b.Helper()
	got, err := b.blobs.Get(b.ctx, ref, digest)
	if err != nil {
		b.Fatalf("blob %s of %q: %v", digest, ref, err)
	}
	if !bytes.Equal(got, want) {
		b.Fatalf("blob %s of %q has %d bytes that are not the %d that were put", digest, ref, len(got), len(want))
	}
}

func (b *blobBench) wantNone(ref lifecycle.Ref, digest lifecycle.Digest) {
	b.Helper()
	if _, err := b.blobs.Get(b.ctx, ref, digest); !isNotFound(err) {
		b.Fatalf("blob %s of %q: error %v, want ErrNotFound", digest, ref, err)
	}
}

func blobReadBack(b *blobBench) {
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<17) // 2 MiB
	for _, content := range [][]byte{{}, []byte("x"), []byte("é\x00\xff\r\n"), large} {
		b.wantContent(b.ref, b.put(b.ref, content), content)
	}
}

func blobAgain(b *blobBench) {
	content := []byte("content")
	digest := b.put(b.ref, content)
	b.put(b.ref, content)
	content[0] = 'x'
	b.wantContent(b.ref, digest, []byte("content"))
	got, err := b.blobs.Get(b.ctx, b.ref, digest)
	if err != nil {
		b.Fatal(err)
	}
	got[0] = 'y'
	b.wantContent(b.ref, digest, []byte("content"))
}

// blobWrongDigest: a store refuses at Put or at Get; it never hands out bytes
// that are not what the digest says.
func blobWrongDigest(b *blobBench) {
	digest := lifecycle.DigestBytes([]byte("promised"))
	put := b.blobs.Put(b.ctx, b.ref, digest, []byte("different"))
	content, get := b.blobs.Get(b.ctx, b.ref, digest)
	if put == nil && get == nil {
		b.Fatalf("%q was handed out under the digest of other bytes", content)
	}
}

func blobUnknown(b *blobBench) {
	unknown := lifecycle.DigestBytes([]byte("never put"))
	b.wantNone(b.ref, unknown)
	b.put(b.ref, []byte("content"))
	b.wantNone(b.ref, unknown)
	if err := b.blobs.DeleteAll(b.ctx, lifecycle.Ref{Tenant: b.ref.Tenant, Task: a2a.NewTaskID()}); err != nil {
		b.Fatalf("removing the blobs of a task without: %v", err)
	}
}

func blobIsolation(b *blobBench) {
	content := []byte("content")
	digest := b.put(b.ref, content)
	named := slices.DeleteFunc(lookalikes(b.ref), func(ref lifecycle.Ref) bool { return ref.Tenant == "" || ref.Task == "" })
	for _, other := range named {
		b.wantNone(other, digest)
	}
	for _, other := range named {
		b.put(other, content)
		if err := b.blobs.DeleteAll(b.ctx, other); err != nil {
			b.Fatal(err)
		}
		b.wantNone(other, digest)
		b.wantContent(b.ref, digest, content)
	}
}

func blobDelete(b *blobBench) {
	first, second := b.put(b.ref, []byte("one")), b.put(b.ref, []byte("two"))
	longer := lifecycle.Ref{Tenant: b.ref.Tenant, Task: b.ref.Task + "0"} // the same prefix
	other := b.put(longer, []byte("one"))
	for range 2 {
		if err := b.blobs.DeleteAll(b.ctx, b.ref); err != nil {
			b.Fatal(err)
		}
		b.wantNone(b.ref, first)
		b.wantNone(b.ref, second)
	}
	b.wantContent(longer, other, []byte("one"))
}
