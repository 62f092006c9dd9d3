package main

import (
	"context"
	"fmt"
	"net"
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
