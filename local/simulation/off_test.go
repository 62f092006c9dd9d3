package simulation_test

import (
	"testing"
	"time"
)

// Time in which nothing ran excuses whoever should have looked, and no other time does:
// what ran before it and what runs after it add up.
func TestAgo(t *testing.T) {
	begun := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(minutes int) time.Time { return begun.Add(time.Duration(minutes) * time.Minute) }
	w := &world{off: []span{{at(40), at(100)}, {at(105), at(105)}, {at(110), at(400)}}}
	for _, c := range []struct {
		name      string
		now, want int
	}{
		{"as soon as it runs again", 400, 35},
		{"a little later", 403, 38},
		{"all of the run between, and nothing of the first", 405, 100},
		{"some of the run between", 407, 102},
		{"since it runs again", 415, 400},
		{"long after", 500, 485},
	} {
		if got := w.ago(15*time.Minute, at(c.now)); !got.Equal(at(c.want)) {
			t.Errorf("%s: %s, want %s", c.name, got.Sub(begun), at(c.want).Sub(begun))
		}
	}
}
