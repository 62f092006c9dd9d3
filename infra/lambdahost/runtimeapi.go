package lambdahost

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Headers of the Runtime API.
const (
	headerRequestID  = "Lambda-Runtime-Aws-Request-Id"
	headerDeadline   = "Lambda-Runtime-Deadline-Ms"
	headerARN        = "Lambda-Runtime-Invoked-Function-Arn"
	headerTrace      = "Lambda-Runtime-Trace-Id"
	headerMode       = "Lambda-Runtime-Function-Response-Mode"
	headerErrorType  = "Lambda-Runtime-Function-Error-Type"
	headerErrorBody  = "Lambda-Runtime-Function-Error-Body"
	typeIntegration  = "application/vnd.awslambda.http-integration-response"
	modeStreaming    = "streaming"
	maxFailureBytes  = 64 << 10
	streamBlockBytes = 32 << 10
)

// errTooMuch ends an answer that is larger than Lambda takes.
var errTooMuch = &FunctionError{Type: "Function.ResponseSizeTooLarge", Message: "Response payload size exceeded maximum allowed payload size"}

// runtimeAPI is what a process reaches at AWS_LAMBDA_RUNTIME_API.
func (p *process) runtimeAPI() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/response", p.serveResponse)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/error", p.serveError)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", p.serveInitError)
	return mux
}

// serveNext completes what the process did last and waits for something to do.
func (p *process) serveNext(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	first, last, failed := !p.asked, p.current, p.failed
	p.asked = true
	if !first {
		p.current = nil
	}
	p.mu.Unlock()
	if first {
		p.function.initialised(p.function.config.Now().Sub(p.startAt))
	} else {
		p.function.ready(p)
		if last != nil {
			last.end(failed)
		}
	}
	select {
	case v := <-p.next:
		h := w.Header()
		h.Set(headerRequestID, v.id)
		h.Set(headerDeadline, strconv.FormatInt(v.deadlineAt.UnixMilli(), 10))
		h.Set(headerARN, "arn:aws:lambda:us-east-1:000000000000:function:"+p.function.config.Name)
		h.Set(headerTrace, "Root=1-00000000-000000000000000000000000;Sampled=0")
		h.Set("Content-Type", "application/json")
		_, _ = w.Write(v.payload)
	case <-r.Context().Done():
	}
}

// serveResponse passes an answer on as it comes.
func (p *process) serveResponse(w http.ResponseWriter, r *http.Request) {
	v := p.answer(r.PathValue("id"))
	if v == nil {
		refuse(w)
		return
	}
	defer p.passing.Done()
	limit := maxPayloadBytes
	if r.Header.Get("Content-Type") == typeIntegration || r.Header.Get(headerMode) == modeStreaming {
		limit = maxStreamBytes
	}
	select {
	case v.begun <- v.from:
	default: // it was answered already
		refuse(w)
		return
	}
	err := pass(v.to, r.Body, limit)
	switch kind := r.Trailer.Get(headerErrorType); {
	case errors.Is(err, errTooMuch):
		p.report(errTooMuch)
		http.Error(w, `{"errorType":"RequestEntityTooLarge"}`, http.StatusRequestEntityTooLarge)
		return
	case err != nil: // the process died
		return
	case kind != "":
		p.report(failure(kind, base64.NewDecoder(base64.StdEncoding, strings.NewReader(r.Trailer.Get(headerErrorBody)))))
	}
	accept(w)
}

// pass copies every piece when it comes. When nobody reads any more, the rest is
// taken and dropped: a function is not told that its caller has gone.
func pass(to io.Writer, from io.Reader, limit int) error {
	block := make([]byte, streamBlockBytes)
	for taken := 0; ; {
		n, err := from.Read(block)
		if taken += n; taken > limit {
			return errTooMuch
		}
		if n > 0 {
			if _, gone := to.Write(block[:n]); gone != nil {
				to = io.Discard
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// serveError takes the error of an invocation.
func (p *process) serveError(w http.ResponseWriter, r *http.Request) {
	if p.working(r.PathValue("id")) == nil {
		refuse(w)
		return
	}
	p.report(failure("Unhandled", io.LimitReader(r.Body, maxFailureBytes)))
	accept(w)
}

// serveInitError takes the reason for which a process cannot begin.
func (p *process) serveInitError(w http.ResponseWriter, r *http.Request) {
	p.because(failure("Runtime.InitError", io.LimitReader(r.Body, maxFailureBytes)))
	accept(w)
}

func failure(kind string, body io.Reader) *FunctionError {
	e := &FunctionError{Type: kind}
	if err := json.NewDecoder(body).Decode(e); err != nil || e.Type == "" {
		e.Type = kind
	}
	return e
}

func accept(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"OK"}`)
}

func refuse(w http.ResponseWriter) {
	http.Error(w, `{"errorType":"InvalidRequestID","errorMessage":"Invalid request ID"}`, http.StatusBadRequest)
}
