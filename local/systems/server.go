package systems

import (
	"fmt"
	"net/http"
	"sync"
)

// Server answers for all systems of one file. It is an http.Handler, safe for
// concurrent use.
type Server struct {
	mux     *http.ServeMux
	systems []*system
	byName  map[string]*system

	mu      sync.Mutex // guards what follows
	faults  []*fault
	held    []*held
	byKey   map[string]revocation // by Idempotency-Key
	fetches map[string]int        // by system
	tallies map[grantName]*tally
	totals  totals
}

// New makes a server for the systems of a CSV file. A missing column, a grant
// that stands there twice and a system with two owners are errors that name the
// line.
func New(csv []byte) (*Server, error) {
	list, err := parseInventory(csv)
	if err != nil {
		return nil, fmt.Errorf("systems: grants file: %w", err)
	}
	s := &Server{
		mux:     http.NewServeMux(),
		systems: list,
		byName:  make(map[string]*system, len(list)),
		byKey:   map[string]revocation{},
		fetches: map[string]int{},
		tallies: map[grantName]*tally{},
	}
	for _, sys := range list {
		s.byName[sys.Name] = sys
	}
	s.mux.HandleFunc("GET /systems", s.listSystems)
	s.mux.HandleFunc("GET /systems/{system}/grants", s.fetchGrants)
	s.mux.HandleFunc("POST /systems/{system}/revocations", s.postRevocation)
	s.mux.HandleFunc("GET /systems/{system}/revocations", s.findRevocation)
	s.mux.HandleFunc("GET /counters", s.getCounters)
	s.mux.HandleFunc("POST /faults", s.addFaults)
	s.mux.HandleFunc("DELETE /faults", s.clearFaults)
	s.mux.HandleFunc("POST /release", s.release)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(http.StatusNotFound, "unknown-resource", "there is no %s %.200s", r.Method, r.URL.Path).write(w)
	})
	return s, nil
}

// ServeHTTP answers one request. It panics with http.ErrAbortHandler where a
// fault drops the connection; net/http's server turns that into a broken
// connection, and whoever calls ServeHTTP without one must do the same.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.mux.ServeHTTP(w, r) }

func (s *Server) listSystems(w http.ResponseWriter, _ *http.Request) {
	type row struct {
		Name   string `json:"name"`
		Owner  string `json:"owner"`
		Grants int    `json:"grants"`
	}
	rows := make([]row, len(s.systems))
	for i, sys := range s.systems {
		rows[i] = row{sys.Name, sys.Owner, len(sys.Grants)}
	}
	answer{http.StatusOK, map[string][]row{"systems": rows}}.write(w)
}

func (s *Server) fetchGrants(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("system")
	sys, ok := s.byName[name]
	if !ok {
		refuse(http.StatusNotFound, "unknown-system", "there is no system %.200q", name).write(w)
		return
	}
	s.perform(w, opFetch, name, "fetch "+name, func() answer { return answer{http.StatusOK, sys} })
}
