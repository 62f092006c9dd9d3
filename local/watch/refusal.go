package watch

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Refusal is an answer that says no. A2A's HTTP+JSON binding writes it as a
// google.rpc.Status (§11.6).
type Refusal struct {
	Status  int    // HTTP's
	Reason  string // A2A's name of the error, such as TASK_NOT_FOUND; may be empty
	Message string // may be empty
}

// Error implements error.
func (r *Refusal) Error() string {
	if r.Message == "" {
		return fmt.Sprintf("the server answered %d %s", r.Status, http.StatusText(r.Status))
	}
	return fmt.Sprintf("the server answered %d: %s", r.Status, printable(r.Message))
}

// passing says whether the same request may be answered otherwise later.
func (r *Refusal) passing() bool {
	switch r.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return r.Status >= http.StatusInternalServerError
}

// final says whether an error makes further attempts pointless.
func final(err error) bool {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return !r.passing()
	}
	return errors.Is(err, errForeign) || errors.Is(err, errRequest)
}

var (
	// errForeign is an answer that no A2A 1.0 server gives.
	errForeign = errors.New("the answer is not A2A 1.0")
	// errRequest is a request that cannot be made.
	errRequest = errors.New("there is no such request")
)

func readRefusal(resp *http.Response) *Refusal {
	r := &Refusal{Status: resp.StatusCode}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if err != nil {
		return r
	}
	var problem struct {
		Error struct {
			Message string `json:"message"`
			Details []struct {
				Reason string `json:"reason"`
			} `json:"details"`
		} `json:"error"`
	}
	if json.Unmarshal(body, &problem) != nil {
		return r
	}
	r.Message = problem.Error.Message
	for _, d := range problem.Error.Details {
		if d.Reason != "" {
			r.Reason = d.Reason
			break
		}
	}
	return r
}
