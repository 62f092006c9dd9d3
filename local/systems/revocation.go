package systems

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
)

// revocation is the answer to a revocation, the same for each repeat of its
// key. The id depends on the grant and on how often it was revoked, not on the
// key or the order of requests: the same review gets the same ids again.
type revocation struct {
	ID      string `json:"revocation"`
	Applied string `json:"applied"` // the grant, as the counters name it

	grant grantName
}

// tally counts what happened to one grant.
type tally struct {
	Applied int `json:"applied"`
	Repeats int `json:"repeats"`
}

func (s *Server) postRevocation(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Account string `json:"account"`
		Role    string `json:"role"`
	}
	key, bad := readKey(r.Header.Get("Idempotency-Key"), "the header Idempotency-Key")
	if bad == nil {
		bad = decodeBody(w, r, &body)
	}
	if bad != nil {
		bad.write(w)
		return
	}
	grant := grantName{r.PathValue("system"), body.Account, body.Role}
	parts := []struct{ name, value string }{{"system", grant.system}, {"account", grant.account}, {"role", grant.role}}
	for _, part := range parts {
		if part.value == "" || len(part.value) > maxNameBytes {
			refuse(http.StatusBadRequest, "bad-revocation", "%s must have 1 to %d bytes", part.name, maxNameBytes).write(w)
			return
		}
	}
	s.perform(w, opRevoke, grant.system, "revoke "+grant.String(), func() answer { return s.revoke(key, grant) })
}

// revoke applies a revocation, or finds the one that its key names.
func (s *Server) revoke(key string, grant grantName) answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if earlier, ok := s.byKey[key]; ok {
		if earlier.grant != grant {
			s.totals.Conflicts++
			return refuse(http.StatusConflict, "key-conflict", "the Idempotency-Key %q names the revocation of %s, not of %s",
				key, earlier.grant, grant)
		}
		s.tallies[grant].Repeats++
		s.totals.Repeats++
		return answer{http.StatusOK, earlier}
	}
	if len(s.byKey) >= maxRevocations {
		return refuse(http.StatusInsufficientStorage, "full", "%d revocations are remembered, and no more fit", maxRevocations)
	}
	count, ok := s.tallies[grant]
	if !ok {
		count = &tally{}
		s.tallies[grant] = count
	}
	count.Applied++
	s.totals.Applied++
	digest := sha256.Sum256([]byte(grant.String()))
	done := revocation{
		ID:      fmt.Sprintf("rev-%s-%d", hex.EncodeToString(digest[:6]), count.Applied),
		Applied: grant.String(),
		grant:   grant,
	}
	s.byKey[key] = done
	return answer{http.StatusOK, done}
}

func (s *Server) findRevocation(w http.ResponseWriter, r *http.Request) {
	key, bad := readKey(r.URL.Query().Get("key"), "the query parameter key")
	if bad != nil {
		bad.write(w)
		return
	}
	s.mu.Lock()
	found, ok := s.byKey[key]
	s.mu.Unlock()
	if system := r.PathValue("system"); !ok || found.grant.system != system {
		refuse(http.StatusNotFound, "unknown-revocation", "the system %q has no revocation with the key %q", system, key).write(w)
		return
	}
	answer{http.StatusOK, found}.write(w)
}

// readKey checks an idempotency key; where says from where it came.
func readKey(key, where string) (string, *answer) {
	if key == "" || len(key) > maxKeyBytes {
		bad := refuse(http.StatusBadRequest, "bad-key", "%s must have 1 to %d bytes", where, maxKeyBytes)
		return "", &bad
	}
	return key, nil
}
