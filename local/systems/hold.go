package systems

import "net/http"

// held is a request that waits to be released.
type held struct {
	name     string
	released chan struct{}
}

// hold waits until the request is released, also when its client is gone by
// then. It reports false, at once, when too many are held already.
func (s *Server) hold(name string) bool {
	h := &held{name: name, released: make(chan struct{})}
	s.mu.Lock()
	full := len(s.held) >= maxHeld
	if !full {
		s.held = append(s.held, h)
	}
	s.mu.Unlock()
	if full {
		return false
	}
	<-h.released
	return true
}

// Release lets all held requests go on and returns how many there were. A
// server that shuts down in an orderly way needs it first, since a held request
// ends no other way.
func (s *Server) Release() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.held)
	for _, h := range s.held {
		close(h.released)
	}
	s.held = nil
	return n
}

func (s *Server) release(w http.ResponseWriter, _ *http.Request) {
	answer{http.StatusOK, map[string]int{"released": s.Release()}}.write(w)
}
