package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// function is a compiled function, and the part of Lambda's Runtime API that it asks for
// work: one invocation at a time.
type function struct {
	process *driver.Process
	next    chan invocation
	answers chan outcome
	server  *http.Server
}

type invocation struct {
	id      string
	payload []byte
	until   time.Time
}

type outcome struct {
	body   []byte
	failed bool
}

// invokeTime is how long an invocation may take.
const invokeTime = 60 * time.Second

// startFunction starts a function's binary. What it prints is its log, and its metrics.
func (s *story) startFunction(ctx context.Context, name string, env ...string) (*function, error) {
	listener, err := driver.Listen(ctx)
	if err != nil {
		return nil, err
	}
	f := &function{next: make(chan invocation), answers: make(chan outcome, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", f.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{what}", f.serveAnswer)
	mux.HandleFunc("POST /2018-06-01/runtime/init/error", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(io.LimitReader(r.Body, maxAnswerBytes))
		f.answers <- outcome{text, true}
		w.WriteHeader(http.StatusAccepted)
	})
	f.server = &http.Server{Handler: mux, ReadHeaderTimeout: requestTime}
	go func() { _ = f.server.Serve(listener) }() // until it is closed
	env = append(env, "AWS_LAMBDA_RUNTIME_API="+listener.Addr().String(), "AWS_LAMBDA_FUNCTION_NAME="+name, "AWS_LAMBDA_LOG_FORMAT=JSON", "PATH="+os.Getenv("PATH"))
	cmd := exec.Command(filepath.Join(s.dir, name)) //nolint:noctx // its end is its own business
	cmd.Env = env
	f.process, err = driver.StartCommand(s.dir, "function-"+name, cmd)
	return f, err
}

func (f *function) serveNext(w http.ResponseWriter, r *http.Request) {
	select {
	case v := <-f.next:
		h := w.Header()
		h.Set("Lambda-Runtime-Aws-Request-Id", v.id)
		h.Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(v.until.UnixMilli(), 10))
		h.Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:000000000000:function:alarms")
		_, _ = w.Write(v.payload)
	case <-r.Context().Done():
	}
}

func (f *function) serveAnswer(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(io.LimitReader(r.Body, maxAnswerBytes))
	w.WriteHeader(http.StatusAccepted)
	f.answers <- outcome{text, err != nil || r.PathValue("what") != "response"}
}

// invoke has the function handle a payload.
func (f *function) invoke(ctx context.Context, payload any) ([]byte, error) {
	text, err := json.Marshal(payload)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, invokeTime)
	defer cancel()
	v := invocation{id: strconv.FormatInt(time.Now().UnixNano(), 36), payload: text, until: time.Now().Add(invokeTime)}
	select {
	case f.next <- v:
	case out := <-f.answers:
		return nil, fmt.Errorf("it cannot begin: %s", out.body)
	case <-f.process.Exited:
		return nil, f.process.Alive()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case out := <-f.answers:
		if out.failed {
			return nil, fmt.Errorf("it failed: %s", out.body)
		}
		return out.body, nil
	case <-f.process.Exited:
		return nil, f.process.Alive()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (f *function) end() error {
	if f == nil {
		return nil
	}
	return errors.Join(driver.End(f.process), f.server.Close())
}

// front is API Gateway in front of the API's function, with a buffered integration.
func front(f *function) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, maxAnswerBytes))
		headers := map[string][]string{"Host": {r.Host}, "X-Forwarded-Proto": {"http"}}
		maps.Copy(headers, r.Header)
		answer := struct {
			StatusCode        int
			MultiValueHeaders map[string][]string
			Body              string
		}{}
		var text []byte
		if err == nil {
			text, err = f.invoke(r.Context(), object{
				"resource": "/{proxy+}", "path": r.URL.Path, "httpMethod": r.Method, "multiValueHeaders": headers, "body": string(body),
				"multiValueQueryStringParameters": r.URL.Query(), "requestContext": object{"path": r.URL.Path, "domainName": r.Host},
			})
		}
		if err == nil {
			err = json.NewDecoder(bytes.NewReader(text)).Decode(&answer)
		}
		if err != nil || answer.StatusCode == 0 {
			http.Error(w, fmt.Sprint("the function: ", err), http.StatusBadGateway)
			return
		}
		maps.Copy(w.Header(), answer.MultiValueHeaders)
		w.WriteHeader(answer.StatusCode)
		_, _ = io.WriteString(w, answer.Body)
	})
}
