package systems

import (
	"maps"
	"net/http"
)

// totals count over all systems: arrivals, outcomes, and requests met by a rule.
type totals struct {
	Fetches   int `json:"fetches"`
	Revokes   int `json:"revokes"`
	Applied   int `json:"applied"`
	Repeats   int `json:"repeats"`
	Conflicts int `json:"conflicts"`
	Faults    int `json:"faults"`
}

// counters is the answer to GET /counters, taken at one instant.
type counters struct {
	Fetches     map[string]int   `json:"fetches"`
	Revocations map[string]tally `json:"revocations"`
	Totals      totals           `json:"totals"`
	Held        []string         `json:"held"`
}

func (s *Server) getCounters(w http.ResponseWriter, _ *http.Request) {
	answer{http.StatusOK, s.count()}.write(w)
}

func (s *Server) count() counters {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := counters{
		Fetches:     maps.Clone(s.fetches),
		Revocations: make(map[string]tally, len(s.tallies)),
		Totals:      s.totals,
		Held:        []string{},
	}
	for grant, count := range s.tallies {
		c.Revocations[grant.String()] = *count
	}
	for _, h := range s.held {
		c.Held = append(c.Held, h.name)
	}
	return c
}
