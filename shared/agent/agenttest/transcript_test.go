package agenttest

import "testing"

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"abc", "abc", true},
		{"abc", "abcd", false},
		{"…", "", true},
		{"…", "anything\nat all", true},
		{"Booked …", "Booked R1", true},
		{"Booked …", "Booked", false},
		{"…R1", "Booked R1", true},
		{"a…a", "a", false}, // the ends do not overlap
		{"a…a", "aa", true},
		{"a…b…c", "a-b-c", true},
		{"a…b…c", "a-c-b", false},
		{"…b…b…", "a b c", false},
		{"…b…b…", "a b b", true},
	} {
		if got := matches(c.pattern, c.text); got != c.want {
			t.Errorf("matches(%q, %q) = %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}
