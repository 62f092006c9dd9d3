package systems

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// answer is a status and a body that will be sent as JSON.
type answer struct {
	status int
	body   any
}

func (a answer) write(w http.ResponseWriter) {
	body, err := json.Marshal(a.body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Connection", "close") // the package comment says why
	w.WriteHeader(a.status)
	_, _ = w.Write(append(body, '\n')) // a client that is gone needs no answer
}

// refuse makes an error answer: a code for machines, a sentence for people.
func refuse(status int, code, format string, args ...any) answer {
	type problem struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	return answer{status, map[string]problem{"error": {code, fmt.Sprintf(format, args...)}}}
}

// decodeBody reads one JSON value of known fields and nothing after it.
func decodeBody(w http.ResponseWriter, r *http.Request, into any) *answer {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if err == nil {
		if _, err = dec.Token(); errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = errors.New("more than one value")
		}
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		bad := refuse(http.StatusRequestEntityTooLarge, "too-large", "the body is larger than %d bytes", maxBodyBytes)
		return &bad
	}
	bad := refuse(http.StatusBadRequest, "bad-json", "the body is not the JSON that is expected here: %v", err)
	return &bad
}
