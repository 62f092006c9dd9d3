package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/holdfast-a2a/holdfast/local/driver"
)

// The systems have done what the relay keeps back, and only those revocations that it
// was told of are kept back.
func TestRelay(t *testing.T) {
	var arrived atomic.Int64
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write([]byte(r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Idempotency-Key")))
	}))
	defer behind.Close()
	c := driver.NewClient(1)
	r := &relay{to: systems{c, behind.URL}, keeps: map[int]bool{}, kept: make(chan string, 1)}
	between := httptest.NewServer(r)
	defer between.Close()
	r.keepBack([]int{2})
	ask := func(ctx context.Context, method, path, key string) (*http.Response, error) {
		return c.Open(ctx, method, between.URL+path, nil, map[string]string{"Idempotency-Key": key})
	}
	for _, one := range []struct{ method, path, key string }{
		{http.MethodPost, "/systems/a/revocations", "k1"}, {http.MethodGet, "/systems/a/grants?x=1", ""}, {http.MethodGet, "/systems/a/revocations", "k1"},
	} {
		resp, err := ask(t.Context(), one.method, one.path, one.key)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusAccepted {
			t.Errorf("%v: %s", one, resp.Status)
		}
		_ = resp.Body.Close()
	}
	ctx, gone := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		resp, err := ask(ctx, http.MethodPost, "/systems/a/revocations", "k2")
		if err == nil {
			_ = resp.Body.Close()
		}
		failed <- err
	}()
	key, err := r.keeping(t.Context())
	if err != nil || key != "k2" || arrived.Load() != 4 {
		t.Errorf("%q was kept back after %d arrivals, %v", key, arrived.Load(), err)
	}
	gone()
	if err := <-failed; err == nil {
		t.Error("an answer that is kept back arrived")
	}
}
