package lifecycle_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

// Submission keys are stored by such a digest: in another form, a message that is sent
// again after an upgrade would begin a second task.
func TestDigestOf(t *testing.T) {
	for _, c := range []struct {
		texts []string
		want  lifecycle.Digest
	}{
		{[]string{"ab", "c", ""}, "d9949763c3b622e6bcb4bad0a19ca6a5df4ee85f9ea89e8fd01ea9aaa93b4fa6"},
		{[]string{"a", "bc", ""}, "968075ea29a676e8626a06386ae0a3e88812a116621b1cc0e0d6752c784e6280"},
	} {
		if got := lifecycle.DigestOf("label", c.texts...); got != c.want || !got.Valid() {
			t.Errorf("%q has the digest %s, want %s", c.texts, got, c.want)
		}
	}
	for _, wrong := range []lifecycle.Digest{"", "ab", lifecycle.DigestOf("a")[1:] + "A", lifecycle.DigestOf("a")[1:] + "g"} {
		if wrong.Valid() {
			t.Errorf("%q passes for a digest", wrong)
		}
	}
}
