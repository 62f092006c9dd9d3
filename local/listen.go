package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// listen opens an address. When that fails, often because another process has it, the
// error says what to do about it.
func listen(ctx context.Context, what, addr, advice string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; %s", what, err, advice)
	}
	return listener, nil
}

// background serves until stop is called, and says what goes wrong.
func background(server *http.Server, listener net.Listener, what string, out io.Writer) (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(out, what, err)
		}
	}()
	return func() {
		if err := server.Close(); err != nil {
			fmt.Fprintln(out, what, err)
		}
		<-ended
	}
}
