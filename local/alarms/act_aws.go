package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// operatorKey is shown to the API's function, which asks who is there.
const operatorKey = "an-operator-of-the-alarms-0123456789"

// cloud is the part of a deployment that its alarms are about: functions over tables.
type cloud struct {
	*server
	api, stream, sweep *function
	gateway            *http.Server
	// throttles is how many queries are still refused.
	throttles atomic.Int64
	proxy     *http.Server
}

func (c *cloud) end() error {
	var errs []error
	for _, f := range []*function{c.api, c.stream, c.sweep} {
		errs = append(errs, f.end())
	}
	for _, s := range []*http.Server{c.gateway, c.proxy} {
		if s != nil {
			errs = append(errs, s.Close())
		}
	}
	return errors.Join(errs...)
}

// tablesOn has a server make the tables, as a laptop does.
func (s *story) tablesOn(ctx context.Context, endpoint string) error {
	maker, err := newServer(ctx, s.dir, "tables", filepath.Join(s.dir, "holdfast"))
	if err == nil {
		err = maker.serve(ctx, "--dynamodb-endpoint", endpoint)
	}
	if err != nil {
		return err
	}
	return stop(maker.process)
}

// deploy starts the functions. The stream's reaches the tables through a proxy that can
// throttle.
func (s *story) deploy(ctx context.Context, endpoint string) (c *cloud, err error) {
	c = &cloud{server: &server{dir: s.dir, name: "cloud", key: operatorKey}}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.end())
		}
	}()
	throttling, err := c.throttling(ctx, endpoint)
	if err != nil {
		return c, err
	}
	env := func(endpoint string, more ...string) []string {
		return append([]string{
			"AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local", "AWS_ENDPOINT_URL=" + endpoint,
			"HOLDFAST_TASKS_TABLE=holdfast-tasks", "HOLDFAST_PRIVATE_TABLE=holdfast-private", "HOLDFAST_BLOBS_BUCKET=none",
			"HOLDFAST_STATE_MACHINE=arn:aws:states:us-east-1:000000000000:stateMachine:task:live",
			"HOLDFAST_DELIVERY_MACHINE=arn:aws:states:us-east-1:000000000000:stateMachine:delivery:live",
			"HOLDFAST_DEPLOYMENT=alarms", "HOLDFAST_HEALTH_WINDOW=" + window,
		}, more...)
	}
	keys := fmt.Sprintf(`[{"tenant":"acme","name":"operator","sha256":"%x","scopes":["operator:read"]}]`, sha256.Sum256([]byte(operatorKey)))
	var failed [3]error
	c.api, failed[0] = s.startFunction(ctx, "api", env(endpoint, "HOLDFAST_STREAMING=false", "HOLDFAST_AUTH=keys", "HOLDFAST_API_KEYS="+keys)...)
	c.stream, failed[1] = s.startFunction(ctx, "stream", env(throttling)...)
	c.sweep, failed[2] = s.startFunction(ctx, "sweep", env(endpoint)...)
	if err := errors.Join(failed[:]...); err != nil {
		return c, err
	}
	c.metrics = []string{c.api.process.Output, c.stream.process.Output, c.sweep.process.Output}
	listener, err := driver.Listen(ctx)
	if err != nil {
		return c, err
	}
	c.addr, c.gateway = listener.Addr().String(), &http.Server{Handler: front(c.api), ReadHeaderTimeout: requestTime}
	go func() { _ = c.gateway.Serve(listener) }() // until it is closed
	return c, nil
}

// throttling is a proxy that refuses queries while it is told to; its address.
func (c *cloud) throttling(ctx context.Context, endpoint string) (string, error) {
	target, err := url.Parse(endpoint)
	if err != nil {
		return "", err
	}
	listener, err := driver.Listen(ctx)
	if err != nil {
		return "", err
	}
	forward := httputil.NewSingleHostReverseProxy(target) //nolint:gosec // G704: whoever runs this names the server
	c.proxy = &http.Server{ReadHeaderTimeout: requestTime, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") && c.throttles.Add(-1) >= 0 {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"slow down"}`)
			return
		}
		forward.ServeHTTP(w, r)
	})}
	go func() { _ = c.proxy.Serve(listener) }() // until it is closed
	return "http://" + listener.Addr().String(), nil
}

// throttled refuses queries until the light is red: the first one is noted at once, and
// what was refused since then with the next one that is, ten seconds later.
func (c *cloud) throttled(ctx context.Context, deliver func() error) error {
	c.throttles.Store(throttledFrom)
	if err := deliver(); err != nil {
		return err
	}
	return until(ctx, "throttling is noted", func(ctx context.Context) (bool, error) {
		c.throttles.Store(1)
		if err := deliver(); err != nil {
			return false, err
		}
		l, err := c.light(ctx, "throttled")
		return err == nil && l.Light == "red", fmt.Errorf("it is %+v (%w)", l, err)
	})
}

// records are what a table's stream has brought once: a task's life, long ago.
func (s *story) records() (entries, poisoned []json.RawMessage, err error) {
	text, err := os.ReadFile(filepath.Join(s.root, "infra", "dynamo", "testdata", "batch.json"))
	if err != nil {
		return nil, nil, err
	}
	var batch struct {
		Records []json.RawMessage `json:"Records"` //nolint:tagliatelle // Lambda's name
	}
	if err := json.Unmarshal(text, &batch); err != nil {
		return nil, nil, err
	}
	for _, r := range batch.Records {
		var compact bytes.Buffer
		if err := json.Compact(&compact, r); err != nil {
			return nil, nil, err
		}
		if sort := []byte(`"sk":{"S":"e#`); bytes.Contains(compact.Bytes(), sort) && bytes.Contains(compact.Bytes(), []byte(`"INSERT"`)) {
			entries = append(entries, compact.Bytes())
			poisoned = append(poisoned, bytes.ReplaceAll(compact.Bytes(), sort, []byte(`"sk":{"S":"e#x`)))
		}
	}
	if len(entries) == 0 {
		return nil, nil, errors.New("the recorded batch has no entry")
	}
	return entries, poisoned, nil
}

// onAWS breaks what only a deployment has.
func (s *story) onAWS(ctx context.Context, endpoint string) (err error) {
	entries, poisoned, err := s.records()
	if err != nil {
		return err
	}
	if err := s.tablesOn(ctx, endpoint); err != nil {
		return err
	}
	c, err := s.deploy(ctx, endpoint)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.end()) }()
	mark := c.written()
	if _, err := c.sweep.invoke(ctx, object{}); err != nil {
		return fmt.Errorf("the sweep: %w", err)
	}
	if err := s.over(ctx, c.server, "the sweep's function has come to its end", "sweep-silent"); err != nil {
		return err
	}
	for _, name := range []string{"Sweeps", "TasksPastDue"} {
		if _, there := c.metric(mark, name, 0); !there {
			return fmt.Errorf("the sweep's function has not written %s", name)
		}
	}
	deliver := func(records ...json.RawMessage) error {
		_, err := c.stream.invoke(ctx, object{"Records": records})
		return err
	}
	if err := deliver(entries[0]); err != nil {
		return fmt.Errorf("an old record: %w", err)
	}
	if err := s.shows(ctx, c.server, trouble{id: "stream-behind", how: "the stream's function is given records that are months old", color: "red", mark: mark, least: 300}); err != nil {
		return err
	}
	if err := deliver(poisoned[0]); err != nil {
		return fmt.Errorf("a poisoned record: %w", err)
	}
	if err := s.shows(ctx, c.server, trouble{id: "unreadable-record", how: "the stream's function is given a record that is none", color: "red", mark: mark}); err != nil {
		return err
	}
	if err := c.throttled(ctx, func() error { return deliver(entries[0]) }); err != nil {
		return fmt.Errorf("a throttled table: %w", err)
	}
	if err := s.shows(ctx, c.server, trouble{id: "throttled", how: "DynamoDB refuses requests of the stream's function", color: "red", mark: mark}); err != nil {
		return err
	}
	return s.over(ctx, c.server, "the records are young, and "+window+" have passed", "stream-behind", "unreadable-record", "throttled")
}
