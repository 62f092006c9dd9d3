package systems

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// The two kinds of request that a rule can meet.
const (
	opFetch  = "fetch"
	opRevoke = "revoke"
)

// What a rule does to a request that it meets.
const (
	doError      = "error"
	doDrop       = "drop"
	doActAndDrop = "act-and-drop"
	doDelay      = "delay"
	doHold       = "hold"
)

// rule is one fault to be played, as the package comment describes it.
type rule struct {
	Op     string `json:"op"`
	System string `json:"system"`
	Nth    int    `json:"nth"`
	Times  int    `json:"times"`
	Do     string `json:"do"`
	Millis int    `json:"millis"`
}

// validate says what is wrong with a rule.
func (r rule) validate() error {
	kinds := []string{doError, doDrop, doActAndDrop, doDelay, doHold}
	switch {
	case r.Op != opFetch && r.Op != opRevoke:
		return fmt.Errorf("op is %q; it must be %q or %q", r.Op, opFetch, opRevoke)
	case r.System == "":
		return errors.New(`system is missing; "*" stands for all`)
	case len(r.System) > maxNameBytes:
		return fmt.Errorf("system is longer than %d bytes", maxNameBytes)
	case r.Nth < 0:
		return fmt.Errorf("nth is %d; the first request is 1, and 0 stands for every one", r.Nth)
	case r.Times < 0:
		return fmt.Errorf("times is %d; it must not be negative", r.Times)
	case !slices.Contains(kinds, r.Do):
		return fmt.Errorf("do is %q; it must be one of %q", r.Do, kinds)
	case r.Do == doDelay && (r.Millis < 1 || int64(r.Millis) > maxDelay.Milliseconds()):
		return fmt.Errorf("millis is %d; a delay takes 1 to %d", r.Millis, maxDelay.Milliseconds())
	case r.Do != doDelay && r.Millis != 0:
		return fmt.Errorf("millis goes with %q only", doDelay)
	}
	return nil
}

// fault is a rule in force. The server's mutex guards it.
type fault struct {
	rule
	seen int // requests that fitted op and system
}

// meets counts a request that fits and reports whether the rule acts on it.
func (f *fault) meets(op, system string) bool {
	if f.Op != op || f.System != "*" && f.System != system {
		return false
	}
	f.seen++
	first, times := f.Nth, f.Times
	if first == 0 {
		first = 1
		if times == 0 {
			return true
		}
	}
	return f.seen >= first && f.seen-first < max(times, 1)
}

// arrive counts a request and returns the rule that acts on it; its Do is
// empty when none does.
func (s *Server) arrive(op, system string) rule {
	s.mu.Lock()
	defer s.mu.Unlock()
	if op == opFetch {
		s.fetches[system]++
		s.totals.Fetches++
	} else {
		s.totals.Revokes++
	}
	var acting rule
	for _, f := range s.faults {
		if f.meets(op, system) && acting.Do == "" {
			acting = f.rule
		}
	}
	if acting.Do != "" {
		s.totals.Faults++
	}
	return acting
}

// perform counts a well-formed request, plays the fault that meets it, does
// what was asked and answers.
func (s *Server) perform(w http.ResponseWriter, op, system, name string, act func() answer) {
	met := s.arrive(op, system)
	switch met.Do {
	case doError:
		refuse(http.StatusServiceUnavailable, "fault", "%s: told to fail; nothing was done", name).write(w)
		return
	case doDrop:
		dropConnection()
	case doDelay:
		<-time.NewTimer(time.Duration(met.Millis) * time.Millisecond).C
	case doHold:
		if !s.hold(name) {
			refuse(http.StatusServiceUnavailable, "too-many-held", "%s: %d requests are held already", name, maxHeld).write(w)
			return
		}
	}
	reply := act()
	if met.Do == doActAndDrop {
		dropConnection()
	}
	reply.write(w)
}

// dropConnection ends the request without an answer. Panicking with
// ErrAbortHandler is how net/http wants to be told; it is not logged, and it
// works for every version of HTTP.
func dropConnection() { panic(http.ErrAbortHandler) }

func (s *Server) addFaults(w http.ResponseWriter, r *http.Request) {
	var rules []rule
	if bad := decodeBody(w, r, &rules); bad != nil {
		bad.write(w)
		return
	}
	if rules == nil {
		refuse(http.StatusBadRequest, "bad-rule", "the body must be a list of rules").write(w)
		return
	}
	added := make([]*fault, len(rules))
	for i, rule := range rules {
		if err := rule.validate(); err != nil {
			refuse(http.StatusBadRequest, "bad-rule", "rule %d: %v", i+1, err).write(w)
			return
		}
		added[i] = &fault{rule: rule}
	}
	s.mu.Lock()
	fits := len(s.faults)+len(added) <= maxRules
	if fits {
		s.faults = append(s.faults, added...)
	}
	n := len(s.faults)
	s.mu.Unlock()
	if !fits {
		refuse(http.StatusBadRequest, "too-many-rules", "%d rules are in force and %d more were sent; the limit is %d",
			n, len(added), maxRules).write(w)
		return
	}
	answer{http.StatusOK, map[string]int{"rules": n}}.write(w)
}

func (s *Server) clearFaults(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	s.faults = nil
	s.mu.Unlock()
	answer{http.StatusOK, map[string]int{"rules": 0}}.write(w)
}
