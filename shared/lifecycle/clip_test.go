package lifecycle_test

import (
	"testing"

	"github.com/holdfast-a2a/holdfast/shared/lifecycle"
)

func TestClip(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 3, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc"},
		{"añb", 2, "a"}, // ñ is two bytes
		{"añb", 3, "añ"},
		{"日本", 5, "日"},
		{"a\xffb", 3, "ab"},
	} {
		if got := lifecycle.Clip(c.text, c.most); got != c.want {
			t.Errorf("%q cut to %d bytes is %q, want %q", c.text, c.most, got, c.want)
		}
	}
}
