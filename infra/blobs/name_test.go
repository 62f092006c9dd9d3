package blobs

import (
	"context"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/holdfast-a2a/holdfast/shared/ledger"
	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// FuzzNames: no two tasks share a prefix, nor does one's prefix begin another's.
func FuzzNames(f *testing.F) {
	f.Add("a/b", "c", "a", "b/c")
	f.Add("", "a", "a", "")
	f.Add("_", "a", "", "a")
	f.Add("a_2fb", "c", "a/b", "c")
	f.Add("é", "\xff", "e\u0301", "..")
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		first, second := prefixOf(refOf(a, b)), prefixOf(refOf(c, d))
		if same := a == c && b == d; strings.HasPrefix(first, second) != same || strings.HasPrefix(second, first) != same {
			t.Errorf("%q %q and %q %q have the prefixes %q and %q", a, b, c, d, first, second)
		}
		if strings.Count(first, "/") != 2 || strings.HasPrefix(first, "/") || strings.Contains(first, "//") {
			t.Errorf("%q %q has the prefix %q", a, b, first)
		}
	})
}

// refOf names a task by any text.
func refOf(tenant, task string) lifecycle.Ref {
	ref := lifecycle.Ref{Tenant: tenant}
	reflect.ValueOf(&ref.Task).Elem().SetString(task)
	return ref
}

func TestKeys(t *testing.T) {
	ref := lifecycle.Ref{Tenant: strings.Repeat("\xff", lifecycle.MaxIDBytes), Task: "0195a4b2-1111-7abc-8def-000000000042"}
	digest := lifecycle.DigestBytes(nil)
	if k, err := keyOf(ref, digest); err != nil || !strings.HasSuffix(k, "/"+string(digest)) {
		t.Errorf("%q (%v)", k, err)
	}
	ref.Tenant += ref.Tenant + ref.Tenant
	if _, err := keyOf(ref, digest); err == nil {
		t.Error("a key that S3 does not take was accepted")
	}
	for _, bad := range []lifecycle.Digest{"", "..", "../" + digest, digest[:63], lifecycle.Digest(strings.ToUpper(string(digest)))} {
		if k, err := keyOf(lifecycle.Ref{Tenant: "t", Task: "1"}, bad); err == nil {
			t.Errorf("%q was taken for a digest: %q", bad, k)
		}
	}
}

// TestFailed: what the bucket refuses stays refused; everything else may be tried
// again.
func TestFailed(t *testing.T) {
	answered := func(status int) error {
		return &smithy.OperationError{Err: &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: &smithy.GenericAPIError{Code: "Any"},
		}}}
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	for name, c := range map[string]struct {
		ctx         context.Context //nolint:containedctx // the case's own
		err         error
		unavailable bool
	}{
		"no permission": {t.Context(), answered(403), false}, "slow down": {t.Context(), answered(503), true}, "too many": {t.Context(), answered(429), true},
		"a broken connection": {t.Context(), &smithyhttp.RequestSendError{Err: errors.New("reset")}, true}, "the caller is gone": {gone, answered(503), false},
	} {
		if got := failed(c.ctx, c.err); errors.Is(got, ledger.ErrUnavailable) != c.unavailable || !errors.Is(got, c.err) && c.ctx.Err() == nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	if failed(t.Context(), nil) != nil {
		t.Error("success is no fault")
	}
	if err := failed(gone, answered(503)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the caller's end", err)
	}
}
